"""`Model`: a trained network with everything needed to use it. Training returns it, and a run folder stores it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as write_tensors
from torch import Tensor

from ngcn import checks
from ngcn.config import FILE_SETTINGS, STRUCTURE, Config
from ngcn.data.catalog import is_path
from ngcn.engine import Executor
from ngcn.errors import GraphError, ModelError, RunError
from ngcn.files import atomic, read_bytes, user_path, write_text
from ngcn.graph import Graph, load_for_model, need_graph
from ngcn.graph.stored import SPLITS, StoredGraph, in_memory, is_stored
from ngcn.large import Exact, inputs_of
from ngcn.large.products import Progress
from ngcn.model.batch import choose_batch, working_memory
from ngcn.model.card import Card
from ngcn.model.size import check_size
from ngcn.nn import Network, build_network
from ngcn.ops import Features, Operator, Operators
from ngcn.registry import CUSTOM, title_of
from ngcn.scoring import probabilities, scores
from ngcn.text import shown

TABLE = "graph_models.probabilities"  # the tensor that a baseline stores in place of weights
Forward = Callable[[Tensor | None], Tensor]  # nodes -> their logits; None for all nodes
LEAST = 1e-12  # probabilities below are raised to this, so that their logarithm is finite


class Model:
    """A trained network, and how to use it: feature preparation, normalisation of Â, names of classes and features.

    Args:
        network: the network.
        config: the settings it was trained with.
        card: what it knows about the graph it was trained on.

    Attributes:
        executor: computes the predictions of graphs on disk, such as ``Ray().connected(graph.folder)``; this process if
            None.

    Example:
        >>> from ngcn import Config, load_dataset, train
        >>> cora = load_dataset("cora")
        >>> model = train(cora, Config(model="gcn", steps=20)).model
        >>> model.predict_proba(cora).shape, len(model.predict(cora))
        ((2708, 7), 2708)
        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> model.save(folder)
        >>> bool((Model.load(folder).predict_proba(cora) == model.predict_proba(cora)).all())
        True
    """

    def __init__(self, network: Network, config: Config, card: Card) -> None:
        self.config, self.card = config, card
        self._network = network
        self.executor: Executor | None = None

    @classmethod
    def build(cls, card: Card, config: Config, network: Network | None = None) -> Model:
        """A model with fresh parameters, drawn from torch's default generator; or one around a network of your own."""
        features, classes = len(card.feature_names), len(card.class_names)
        if network is None:
            check_size(config, features, classes)
            network = build_network(
                config.model,
                features,
                classes,
                multilabel=card.multilabel,
                **{name: getattr(config, name) for name in STRUCTURE},
            )
        elif (network.features, network.classes) != (features, classes):
            raise ModelError(
                f"The network takes {network.features} features and {network.classes} classes, but {card.name!r} has "
                f"{features} and {classes}."
            )
        elif network.multilabel != card.multilabel:
            raise ModelError(f"The network must be made with multilabel={card.multilabel}, as {card.name!r} is.")
        return cls(network, config, card)

    @property
    def network(self) -> Network:
        """The network; an error for a baseline, which has none."""
        return self._network

    @property
    def class_names(self) -> tuple[str, ...]:
        return self.card.class_names

    @property
    def feature_names(self) -> tuple[str, ...]:
        return self.card.feature_names

    @property
    def multilabel(self) -> bool:
        return self.card.multilabel

    def inputs(self, graph: Graph, *, directed: bool = False) -> tuple[Operator | Operators, Features]:
        """Â and X of a graph, normalised and prepared as in training; ``directed`` keeps the direction of edges."""
        graph = in_memory(self._checked(graph))
        A_hat = self.network.operator(graph.adjacency, directed=directed)
        X = self.card.preparation(graph.features, graph.adjacency, directed=directed)
        return A_hat, Features(X)

    def _checked(self, graph: Graph) -> Graph:
        """The graph, if its features are those that the model was trained with."""
        return _with_names("features", self.feature_names, need_graph(graph), graph.feature_names)

    def forward(self, graph: Graph, *, directed: bool = False) -> Forward:
        """The function that maps nodes to logits on this graph; Â and X are computed once, here."""
        network = self.network.eval()
        if self.is_large(graph):
            exact = self.exact(graph)
            return lambda rows: torch.cat([network.combine(Z) for _, Z in exact.stream(_numbers(graph, rows))])
        A_hat, X = self.inputs(graph, directed=directed)
        return lambda rows: network(A_hat, X, rows)

    def is_large(self, graph: Graph) -> bool:
        """Whether this is a graph on disk that is computed in blocks: the model was trained so, or it is too large."""
        config = self.config if self.config.batch == "sampled" else replace(self.config, batch="auto")
        return isinstance(graph, StoredGraph) and choose_batch(graph, config, self._network).batch == "sampled"

    def exact(self, graph: Graph, on_progress: Progress | None = None) -> Exact:
        """What computes the outputs of all towers on a large graph, in bounded memory; see
        :class:`~ngcn.large.Exact`."""
        how: dict[str, Any] = {"memory": working_memory(self.config), "executor": self.executor}
        inputs = inputs_of(self.network, self._checked(graph), self.card.preparation, **how, on_progress=on_progress)
        return Exact(self.network, inputs, **how, scratch=graph.folder if isinstance(graph, StoredGraph) else None)

    @torch.no_grad()
    def logits(self, graph: Graph, rows: np.ndarray | None = None, *, directed: bool = False) -> Tensor:
        """The logits of the nodes ``rows``, or of all nodes: ``(rows, classes)``."""
        positions = _positions(need_graph(graph), rows)
        return self.forward(graph, directed=directed)(positions).cpu()

    def predict_proba(self, graph: Graph, rows: np.ndarray | None = None) -> np.ndarray:
        """The class probabilities, ``(rows, classes)``; for multi-label, that of each class by itself."""
        return probabilities(self.logits(graph, rows), self.multilabel).numpy()

    def predict(self, graph: Graph, rows: np.ndarray | None = None) -> np.ndarray:
        """The name of the most probable class of each node; for multi-label, a 0/1 matrix ``(rows, classes)``."""
        p = self.predict_proba(graph, rows)
        if self.multilabel:
            return (p > 0.5).astype(int)
        return np.array(self.class_names, dtype=object)[p.argmax(axis=1)]

    def predict_set(self, graph: Graph, rows: np.ndarray | None = None, *, coverage: float = 0.9) -> np.ndarray:
        """The classes that a node may have, ``(rows, classes)`` booleans: the true one is among them with probability
        ``coverage``, and the most probable one always is. See :class:`~ngcn.nn.calibration.Calibration`.

        This holds for nodes that are like the validation nodes. Few validation nodes make it less exact.
        """
        return self.sets_of(self.predict_proba(graph, rows), coverage)

    def sets_of(self, p: np.ndarray, coverage: float) -> np.ndarray:
        """The same, given the probabilities."""
        coverage = checks.open_share("coverage", coverage)
        calibration = self.network.calibration
        if not len(calibration.conformal):
            why = (
                "it is multi-label"
                if self.multilabel
                else "it was trained without enough validation nodes, or by the recipe paper or kipf"
            )
            raise ModelError(f"This model has no prediction sets: {why}.")
        return (p >= calibration.least_probability(coverage)) | (p == p.max(axis=1, keepdims=True))

    def new_nodes(self, graph: Graph) -> np.ndarray:
        """``(nodes,)`` mask of the nodes of a graph whose ids the graph trained on does not have.

        Example:
            >>> from dataclasses import replace
            >>> from ngcn import Config, load_dataset, train
            >>> cora = load_dataset("cora")
            >>> model = train(cora, Config(model="gcn", steps=5)).model
            >>> model.new_nodes(replace(cora, node_ids=cora.node_ids + 8)).sum()
            np.int64(8)
        """
        return self.card.new_nodes(need_graph(graph))

    @torch.no_grad()
    def disagreement(self, graph: Graph, rows: np.ndarray | None = None) -> np.ndarray | None:
        """The share of the towers, by weight, that predict another class than all of them together, ``(rows,)``; None
        for multi-label, and where towers have no weights."""
        network = self.network.eval()
        if not _can_disagree(network):
            return None
        positions = _positions(graph, rows)
        if self.is_large(graph):
            parts = [disagreement(network, Z) for _, Z in self.exact(graph).stream(_numbers(graph, positions))]
            return np.concatenate(parts)  # type: ignore[arg-type]  # none is None
        A_hat, X = self.inputs(graph)
        return disagreement(network, network.towers(A_hat, X, positions))

    @torch.no_grad()
    def evaluate(self, graph: Graph, *splits: str) -> dict[str, dict[str, float]]:
        """All scores by name on each of these splits: train, val or test. Empty for a split without nodes."""
        forward = self.forward(graph)
        _with_names("classes", self.class_names, graph, graph.class_names)
        found: dict[str, dict[str, float]] = {}
        for split in splits:
            checks.choice(SPLITS)("split", split)
            rows = getattr(graph, split).nonzero()[0]
            if not len(rows):
                found[split] = {}
                continue
            labels = torch.from_numpy(np.array(graph.labels[rows]))
            found[split] = scores(forward(torch.from_numpy(rows)).cpu(), labels)
        return found

    def scale_weights(self) -> dict[int | str | None, float] | None:
        """How much each power of Â counts, in a mixed network each kind of tower; None where they have no weights."""
        return self.network.scale_weights()

    def read_graph(self, graph: Any, *, edges: Any = None, feature_table: Any = None) -> Graph:
        """A graph to use the model on, read as the one it was trained on. Its labelled nodes are test nodes.

        Missing or unknown features raise an error, except for the values of one-hot columns and sparse features.

        Args:
            graph: the path of a folder or a file, a data frame of nodes, or a networkx graph.
            edges, feature_table: the other tables, of the same kind; see :meth:`Graph.from_pandas`.
        """
        options: dict[str, Any] = {"edges": edges, "feature_table": feature_table}
        is_file = isinstance(graph, str | Path)
        if not is_file or (is_path(str(graph)) and not is_stored(user_path(str(graph)))):  # which has been read already
            default = Config()
            given = {name: getattr(self.config, name) for name in FILE_SETTINGS}
            given = {name: v for name, v in given.items() if v != getattr(default, name)}
            options = {**self.card.read_with, **given, **options}
        found = load_for_model(graph, self.card.schema, **options)
        if found.multilabel != self.multilabel:
            several = "several labels" if found.multilabel else "one label"
            raise ModelError(f"{found.name} has {several} per node, unlike the graph that the model was trained on.")
        return found

    def state(self) -> dict[str, Tensor]:
        """The tensors to store; no empty ones, which old versions of safetensors cannot read."""
        stored = {name: value for name, value in self.network.state_dict().items() if value.numel()}
        return {name: value.detach().cpu().contiguous() for name, value in stored.items()}

    def write_weights(self, path: Path) -> str:
        """Write the tensors and return their checksum."""
        content = write_tensors(self.state())
        with atomic(path) as temporary:
            temporary.write_bytes(content)
        return sha256(content).hexdigest()

    @classmethod
    def read_weights(
        cls, path: Path, card: Card, config: Config, *, network: Network | None = None, checksum: str | None = None
    ) -> Model:
        """The model whose tensors are in a file.

        Args:
            network: the network, if it was not built by name.
            checksum: what :meth:`write_weights` returned; not compared if None.
        """
        try:
            content = read_bytes(path)
            if checksum is not None and sha256(content).hexdigest() != checksum:
                raise RunError(
                    f"{path} is damaged: its checksum is not that of the file that training wrote; train again."
                )
            tensors = read_tensors(content)
            if not all(value.is_floating_point() and value.isfinite().all() for value in tensors.values()):
                raise RuntimeError
            if TABLE in tensors:
                if tensors[TABLE].shape != (card.nodes, len(card.class_names)):
                    raise RuntimeError
                return FittedBaseline(tensors[TABLE], config, card)
            if config.is_baseline:
                raise RuntimeError
            if config.model == CUSTOM and network is None:
                raise ModelError(f"{path} holds the weights of a network of your own; pass that network as `network`.")
            model = cls.build(card, config, network)
            model.network.load_state_dict(model.network.calibration.complete(tensors))
            return model
        except OSError as error:
            raise RunError(f"The weights {path} cannot be read: {error.strerror}.") from None
        except (SafetensorError, RuntimeError, KeyError, TypeError):  # KeyError: a type that torch does not know
            what = "the given network" if config.model == CUSTOM else f"a {title_of(config.model)} with these settings"
            remedy = "pass the network that was trained" if config.model == CUSTOM else "train again"
            raise RunError(f"{path} is damaged, or does not belong to {what}; {remedy}.") from None

    def save(self, folder: Path | str) -> None:
        """Write the model to a folder: ``weights.safetensors``, ``graph.json`` and ``config.yaml``."""
        folder = checks.file_path("folder", folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.write_weights(folder / "weights.safetensors")
        self.card.save(folder / "graph.json")
        write_text(folder / "config.yaml", self.config.to_yaml())

    @classmethod
    def load(cls, folder: Path | str, *, network: Network | None = None) -> Model:
        """Read what :meth:`save` wrote. A network of your own is passed as ``network``; its parameters are replaced."""
        folder = checks.file_path("folder", folder)
        for name in ("config.yaml", "graph.json", "weights.safetensors"):
            if not (folder / name).exists():
                remedy = (
                    "; a run folder is opened with Run.open(folder).model()" if name == "weights.safetensors" else ""
                )
                raise RunError(f"{folder} holds no model: it has no {name}{remedy}.")
        card, config = Card.read(folder / "graph.json"), Config.of_run(folder / "config.yaml")
        return cls.read_weights(folder / "weights.safetensors", card, config, network=network)

    def __repr__(self) -> str:
        return f"Model({title_of(self.config.model, self.config.recipe)!r}, trained on {self.card.name!r})"


def need_model(value: Any) -> Model:
    """Raise an error for anything that is not a model."""
    if isinstance(value, Model):
        return value
    raise ModelError(f"A Model is needed, not a {type(value).__name__}; a run has one: Run.open(folder).model().")


def _with_names(kind: str, ours: Sequence[str], graph: Graph, theirs: Sequence[str]) -> Graph:
    """The graph, if these are the names that the model knows, or if one of both has numbers in place of names."""
    ours, theirs = tuple(ours), tuple(theirs)
    if ours == theirs or (len(ours) == len(theirs) and tuple(map(str, range(len(ours)))) in (ours, theirs)):
        return graph
    what = f"The graph {graph.name!r} has {len(theirs)} {kind}, but the model was trained with {len(ours)}"
    if len(ours) == len(theirs):
        where = next(i for i, name in enumerate(ours) if name != theirs[i])
        what = f"The {kind} of the graph {graph.name!r} are not those of the model"
        what += f": {theirs[where]!r} is where the model has {ours[where]!r}"
    raise GraphError(f"{what}; they must be the same, in the same order.")


def _positions(graph: Graph, rows: np.ndarray | None) -> Tensor | None:
    """The positions of nodes as a tensor."""
    if rows is None:
        return None
    given = np.asarray(rows)
    if given.ndim != 1 or given.dtype.kind not in "iu" or ((given < 0) | (given >= graph.nodes)).any():
        raise GraphError(
            f"rows must be positions of nodes from 0 to {graph.nodes - 1}, not {shown(rows)}; np.flatnonzero(mask) "
            "makes them from a mask."
        )
    return torch.from_numpy(given.astype(np.int64, copy=False))


def _can_disagree(network: Network) -> bool:
    m = network.classifier.weights()
    return m is not None and len(m) > 1 and not network.multilabel


@torch.no_grad()
def disagreement(network: Network, Z: Tensor) -> np.ndarray | None:
    """See :meth:`Model.disagreement`, given the outputs of all towers."""
    m = network.classifier.weights()
    if m is None or not _can_disagree(network):
        return None
    other = Z.argmax(dim=2) != network.combine(Z).argmax(dim=1)[:, None]
    found: np.ndarray = (other.to(m.dtype) @ m).numpy()
    return found


def _numbers(graph: Graph, rows: Tensor | None) -> np.ndarray:
    return np.arange(graph.nodes) if rows is None else rows.numpy()


class FittedBaseline(Model):
    """A baseline as a model: the class probabilities of the nodes that it was fitted on.

    Args:
        table: ``(nodes, classes)`` probabilities.
    """

    def __init__(self, table: Tensor, config: Config, card: Card) -> None:
        self.table, self.config, self.card = table, config, card

    def is_large(self, graph: Graph) -> bool:
        """A baseline is fitted in memory."""
        return False

    @property
    def network(self) -> Network:
        raise ModelError(
            f"{title_of(self.config.model)} is a baseline without a network, so it cannot be explained, exported or "
            "reported on; train a network, such as `model='ngcn'`."
        )

    def forward(self, graph: Graph, *, directed: bool = False) -> Forward:
        if need_graph(graph).fingerprint() != self.card.fingerprint:
            raise ModelError(
                f"{title_of(self.config.model)} can only predict the graph that it was fitted on, {self.card.name!r}, "
                f"and {graph.name!r} is another; fit it on that graph, or train a network."
            )
        P = self.table.clamp(min=LEAST)
        logits = P.log() - (1 - P).clamp(min=LEAST).log() if self.multilabel else P.log()
        return lambda rows: logits if rows is None else logits[rows]

    def scale_weights(self) -> None:
        """A baseline has no powers."""

    def disagreement(self, graph: Graph, rows: np.ndarray | None = None) -> None:
        """A baseline has no towers."""

    def state(self) -> dict[str, Tensor]:
        return {TABLE: self.table}
