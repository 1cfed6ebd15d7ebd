"""Why a node got its class: what each scale contributes, and which neighbours and features stand behind it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from ngcn.graph import UNKNOWN, Graph, GraphError
from ngcn.nn import Network
from ngcn.ops import NONE, Dropout, Features, Operator, Reach

if TYPE_CHECKING:
    from pathlib import Path

    from ngcn.training import Run


@dataclass(frozen=True)
class Vote:
    """What the towers of one power contribute to the class.

    Attributes:
        power: k, of Â^k.
        contribution: its part of :attr:`Explanation.score`; the parts of all powers add up to it.
        weight: how much this power counts, the same at every node; None where towers have no weights (fc, fc2).
        opinion: the probability that this power, by itself, gives the class; None for fc and fc2.
    """

    power: int
    contribution: float
    weight: float | None
    opinion: float | None


@dataclass(frozen=True)
class Neighbour:
    """What the features of one node do for the class at the explained node.

    Attributes:
        id: the node, by the id of the user's own files.
        points: what its features add to the probability, to first order (gradient times input): 0.02 says that the
            probability would be about 2 percentage points lower if the features of this node were all 0.
        without: the probability with the features of this node set to 0, computed anew; None if not asked for.
    """

    id: Any
    points: float
    without: float | None = None


@dataclass(frozen=True)
class Ring:
    """The nodes at one distance: ``distance`` edges away on the shortest path; 0 is the explained node itself.

    ``nodes`` counts those that reach the explained node, ``points`` is the sum over all of them, ``strongest`` the few
    with most points, for or against.
    """

    distance: int
    nodes: int
    points: float
    strongest: list[Neighbour]


@dataclass(frozen=True)
class Feature:
    """What one feature does for the class, at the explained node and at all nodes around it.

    ``points`` and ``without`` are those of :class:`Neighbour`, for the feature being 0 at every node; ``own`` is the
    part of the points that the explained node's own value brings.
    """

    name: str
    points: float
    own: float
    without: float | None = None


@dataclass(frozen=True)
class Explanation:
    """Why a node got a class. See :class:`Vote`, :class:`Ring` and :class:`Feature` for what the numbers mean.

    ``score`` is what the votes add up to, and ``score_is`` says what that is: for attention, harmonic, linear and
    identity the "probability" itself; for fc and fc2 the class's "lead", its logit less the mean logit of all classes,
    or for multi-label its "log-odds". An fc2 is taken with the hidden units that are switched on at this node, so the
    sum is exact there too.
    """

    node: Any
    label: str
    probability: float
    probabilities: dict[str, float]
    truth: list[str] | None
    score: float
    score_is: Literal["probability", "lead", "log-odds"]
    votes: list[Vote]
    rings: list[Ring]
    features: list[Feature]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def explain_node(
    run: Run | Path | str, node: Any, *, label: str | None = None, graph: Graph | None = None
) -> Explanation:
    """Explain a node with the best seed of a finished run.

    Args:
        run: the run or its folder.
        node: the id of the node, as in the graph's files.
        label: the class to explain; the predicted one (for multi-label, the likeliest) if not given.
        graph: the graph of the run, where it is at hand already.

    Example:
        >>> from ngcn import Config, load_dataset, train
        >>> folder = getfixture("tmp_path") / "run"
        >>> result = train(load_dataset("cora"), Config(model="gcn", steps=20), folder=folder)
        >>> why = explain_node(folder, 1708)
        >>> why.node, why.rings[0].distance, [vote.power for vote in why.votes]
        (1708, 0, [1])
        >>> round(sum(vote.contribution for vote in why.votes) - why.probability, 6)
        0.0
    """
    from ngcn.training import Run

    explainer = Explainer.of(run if isinstance(run, Run) else Run.open(run), graph)
    return explainer.explain(find_node(explainer.graph, node), label)


class Explainer:
    """Explains the nodes of a graph, one after another.

    Args:
        network: a trained network.
        A_hat, X: its inputs.
        graph: whose ids and names the explanations use.
    """

    def __init__(self, network: Network, A_hat: Operator, X: Features, graph: Graph) -> None:
        self.network, self.A_hat, self.X, self.graph = network.eval(), A_hat, X, graph

    @classmethod
    def of(cls, run: Run, graph: Graph | None = None) -> Explainer:
        """For the best seed of a run."""
        from ngcn.data import load_dataset
        from ngcn.training.setup import build_inputs

        if graph is None:
            graph = load_dataset(run.config.dataset, split=run.config.split, seed=run.config.seed)
        return cls(run.network(graph, run.best_seed), *build_inputs(graph, run.config), graph)

    @property
    def score_is(self) -> Literal["probability", "lead", "log-odds"]:
        """What the votes add up to."""
        if self.network.classifier.mixes_classes:
            return "probability"
        return "log-odds" if self.graph.multilabel else "lead"

    def chances(self, logits: Tensor) -> Tensor:
        return logits.sigmoid() if self.graph.multilabel else logits.softmax(dim=-1)

    def explain(
        self, node: int, label: str | None = None, *, strongest: int = 3, features: int = 10, exact: bool = True
    ) -> Explanation:
        """Explain the node at this place in the graph.

        Args:
            node: its place, counted from 0; :func:`find_node` gives it for an id.
            label: the class; the likeliest if not given.
            strongest: how many nodes to name at each distance.
            features: how many features to name.
            exact: compute ``without`` for all that is named, each by a forward pass.
        """
        assert self.graph.class_names is not None and self.graph.node_ids is not None
        rows = torch.tensor([node])
        X = _Watched(self.X)
        with torch.enable_grad():
            Z = self.network.towers(self.A_hat, X, rows)
            chances = self.chances(self.network.classifier(Z))[0]
        c = int(chances.argmax()) if label is None else _find_class(self.graph, label)
        by_node, by_feature, own = X.points(chances[c], node)
        Z, chances = Z.detach(), chances.detach()
        distance = self._distances(node)

        def without(**left_out: int) -> float | None:
            if not exact:
                return None
            with torch.no_grad():
                logits = self.network(self.A_hat, _Watched(self.X, **left_out), rows)
            return float(self.chances(logits)[0, c])

        votes, rings = self._votes(Z, c), []
        reached = np.flatnonzero(by_node)
        for hops in np.unique(distance[reached]):
            ring = reached[distance[reached] == hops]
            named = [
                Neighbour(self.graph.node_ids[u].item(), float(by_node[u]), without(node=u))
                for u in _largest(by_node, strongest, ring)
            ]
            rings.append(Ring(int(hops), len(ring), float(by_node[ring].sum()), named))
        names = _feature_names(self.graph)
        return Explanation(
            node=self.graph.node_ids[node].item(),
            label=self.graph.class_names[c],
            probability=float(chances[c]),
            probabilities=dict(zip(self.graph.class_names, chances.tolist(), strict=True)),
            truth=_truth(self.graph, node),
            score=sum(vote.contribution for vote in votes),
            score_is=self.score_is,
            votes=votes,
            rings=rings,
            features=[
                Feature(names[j], float(by_feature[j]), float(own[j]), without(feature=int(j)))
                for j in _largest(by_feature, features, np.flatnonzero(by_feature))
            ],
        )

    def contributions(self, Z: Tensor, labels: Tensor) -> Tensor:
        """What each power contributes to the class ``labels[i]`` of row i: ``(rows, powers)``.

        Args:
            Z: the towers' outputs, ``(rows, towers, width)``.
        """
        by_tower = self._contributions(Z, labels)
        return torch.stack([by_tower[:, towers].sum(dim=1) for towers in self._towers().values()], dim=1)

    def _contributions(self, Z: Tensor, labels: Tensor) -> Tensor:
        """The same for each tower. Both ways are exact, since a mixture is a sum and fc, without bias, homogeneous."""
        classifier = self.network.classifier
        m = classifier.weights()
        if m is not None:
            return m * self.chances(Z).gather(2, labels[:, None, None].expand(-1, Z.shape[1], 1))[..., 0]
        with torch.enable_grad():
            Z = Z.detach().requires_grad_()
            logits = classifier(Z)
            score = logits.gather(1, labels[:, None])[:, 0]
            if not self.graph.multilabel:
                score = score - logits.mean(dim=1)
            slope = torch.autograd.grad(score.sum(), Z)[0]
        return (Z.detach() * slope).sum(dim=2)

    def _votes(self, Z: Tensor, c: int) -> list[Vote]:
        parts = self.contributions(Z, torch.tensor([c]))[0].tolist()
        m = self.network.scale_weights()
        if m is None:
            return [Vote(k, part, None, None) for k, part in zip(self._towers(), parts, strict=True)]
        return [Vote(k, part, m[k], part / m[k] if m[k] else 0.0) for k, part in zip(m, parts, strict=True)]

    def _towers(self) -> dict[int, list[int]]:
        """The places of the towers of each power."""
        powers = self.network.tower_powers
        return {k: [t for t, power in enumerate(powers) if power == k] for k in dict.fromkeys(powers)}

    def _distances(self, node: int) -> np.ndarray:
        from scipy.sparse.csgraph import dijkstra

        return dijkstra(self.A_hat.matrix, unweighted=True, indices=node)


class _Watched(Features):
    """X that remembers what was computed from it, and may leave out the features of a node, or a feature."""

    def __init__(self, X: Features, node: int | None = None, feature: int | None = None) -> None:
        self.__dict__.update(X.__dict__)
        self.node, self.feature = node, feature
        self.products: list[tuple[Tensor, Tensor, Tensor]] = []  # W, X W, and which of its rows are in reach
        self.inputs: list[Tensor] = []  # X itself, for graph models that take it dense

    def times(
        self, W: Tensor, powers: int, replicas: int, dropout: Dropout = NONE, reach: Reach | None = None
    ) -> Tensor:
        XW = super().times(W, powers, replicas, dropout, reach)
        if self.node is not None:
            XW = XW.index_fill(1, torch.tensor([self.node]), 0)
        if self.feature is not None:
            column = torch.from_numpy(self.matrix[:, [self.feature]].toarray())
            XW = XW - column * W[self.feature].reshape(powers, 1, -1)
        near = torch.ones(XW.shape[:2], dtype=torch.bool)
        if reach is not None:
            near = torch.from_numpy(reach.distance <= reach.limits[:, None])
        self.products.append((W, XW, near[:, :, None]))
        return XW

    def dense(self) -> Tensor:
        X = super().dense()
        if self.node is not None:
            X[self.node] = 0
        if self.feature is not None:
            X[:, self.feature] = 0
        self.inputs.append(X.requires_grad_(torch.is_grad_enabled()))
        return X

    def points(self, chance: Tensor, node: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Gradient times input: by node, by feature, and by feature for `node` alone.

        In X W the row of a node is linear in its features, so its gradient times the row itself is the sum of all that
        its features do; likewise a row of W sums up what a feature does at all nodes.
        """
        by_node, by_feature, own = torch.zeros(self.shape[0]), torch.zeros(self.shape[1]), torch.zeros(self.shape[1])
        x = torch.from_numpy(self.matrix[[node]].toarray()[0])
        tensors = [W for W, _, _ in self.products] + [XW for _, XW, _ in self.products] + self.inputs
        slopes = torch.autograd.grad(chance, tensors)
        count = len(self.products)
        for (W, XW, near), of_W, of_XW in zip(self.products, slopes, slopes[count:], strict=False):
            by_node += torch.where(near, XW.detach() * of_XW, 0).sum(dim=(0, 2))
            by_feature += (W.detach() * of_W).sum(dim=1)
            own += x * (W.detach() @ of_XW[:, node].flatten())
        for X, slope in zip(self.inputs, slopes[2 * count :], strict=True):
            by_node += (X.detach() * slope).sum(dim=1)
            by_feature += (X.detach() * slope).sum(dim=0)
            own += x * slope[node]
        return by_node.numpy(), by_feature.numpy(), own.numpy()


def find_node(graph: Graph, node: Any) -> int:
    """The place of a node in the graph, by its id or the text of it."""
    assert graph.node_ids is not None
    names = [str(name) for name in graph.node_ids.tolist()]
    try:
        return names.index(str(node))
    except ValueError:
        raise GraphError(f"The graph {graph.name!r} has no node {str(node)!r}; {_hint(str(node), names)}") from None


def _find_class(graph: Graph, label: str) -> int:
    assert graph.class_names is not None
    names = list(graph.class_names)
    if label not in names:
        raise GraphError(f"The graph {graph.name!r} has no class {label!r}; {_hint(label, names)}")
    return names.index(label)


def _hint(text: str, names: list[str]) -> str:
    if near := get_close_matches(text, names, n=3):
        return f"did you mean {' or '.join(near)}?"
    some = ", ".join(names[:5])
    return f"there are {some}{', ...' if len(names) > 5 else '.'}"


def _truth(graph: Graph, node: int) -> list[str] | None:
    """The known classes of a node; None if they are unknown."""
    assert graph.class_names is not None
    if graph.multilabel:
        return [graph.class_names[c] for c in np.flatnonzero(graph.labels[node])]
    return None if graph.labels[node] == UNKNOWN else [graph.class_names[graph.labels[node]]]


def _feature_names(graph: Graph) -> list[str]:
    names: Iterable[str] | None = getattr(graph, "feature_names", None)
    return [f"feature {j}" for j in range(graph.features.shape[1])] if names is None else list(names)


def _largest(values: np.ndarray, most: int, among: np.ndarray) -> np.ndarray:
    """Those of `among` with the largest values, for or against, largest first."""
    return among[np.argsort(-abs(values[among]), kind="stable")[:most]]
