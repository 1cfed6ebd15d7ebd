"""`Explainer`: from a trained network to the explanation of a node."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import Tensor

from ngcn.explain.explanation import Explanation, Feature, Neighbour, Ring, Vote
from ngcn.explain.watched import Watched
from ngcn.graph import Graph, GraphError
from ngcn.nn import Network
from ngcn.nn.polynomial import Polynomial
from ngcn.ops import Features, Operator

if TYPE_CHECKING:
    from pathlib import Path

    from ngcn.training import Run


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
        if run.config.is_baseline:
            from ngcn.training import RunError

            raise RunError(
                f"{run.folder} is a run of {run.config.model}, which has no towers to explain a node by; explanations "
                "are for networks, such as `--model ngcn`."
            )
        graph = run.graph() if graph is None else graph
        return cls(run.network(graph, run.best_seed), *run.inputs(graph), graph)

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
        ids, classes, names = self.graph.node_ids, self.graph.class_names, self.graph.feature_names
        assert ids is not None and classes is not None and names is not None
        rows = torch.tensor([node])
        X = Watched(self.X)
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
                logits = self.network(self.A_hat, Watched(self.X, **left_out), rows)
            return float(self.chances(logits)[0, c])

        votes, rings = self._votes(Z, c), []
        reached = np.flatnonzero(by_node)
        for hops in np.unique(distance[reached]):
            ring = reached[distance[reached] == hops]
            named = [
                Neighbour(ids[u].item(), float(by_node[u]), without(node=u)) for u in _largest(by_node, strongest, ring)
            ]
            rings.append(Ring(int(hops) if np.isfinite(hops) else None, len(ring), float(by_node[ring].sum()), named))
        return Explanation(
            node=ids[node].item(),
            label=classes[c],
            probability=float(chances[c]),
            probabilities=dict(zip(classes, chances.tolist(), strict=True)),
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
        m = self.network.classifier.weights()
        votes = []
        for (power, towers), part in zip(self._towers().items(), parts, strict=True):
            weight = None if m is None else float(m[towers].sum())
            votes.append(Vote(power, part, weight, None if weight is None else part / weight if weight else 0.0))
        return votes

    @property
    def powers(self) -> list[int | None]:
        """The powers that vote; None stands for all of them, where a model mixes them inside its layers."""
        return list(self._towers())

    def _towers(self) -> dict[int | None, list[int]]:
        """The places of the towers of each power."""
        if isinstance(self.network.graph_models, Polynomial):
            return {None: [0]}
        powers = self.network.tower_powers
        return {k: [t for t, power in enumerate(powers) if power == k] for k in dict.fromkeys(powers)}

    def _distances(self, node: int) -> np.ndarray:
        from scipy.sparse.csgraph import dijkstra

        return dijkstra(abs(self.A_hat.matrix), unweighted=True, indices=node)


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
    if text.removeprefix("-").isdecimal() and names == [str(i) for i in range(len(names))]:
        return f"they are numbered 0 to {len(names) - 1}."
    if near := get_close_matches(text, names, n=3):
        return f"did you mean {' or '.join(near)}?"
    some = ", ".join(names[:5])
    return f"there are {some}{', ...' if len(names) > 5 else '.'}"


def _truth(graph: Graph, node: int) -> list[str] | None:
    """The known classes of a node; None if they are unknown."""
    assert graph.class_names is not None
    if graph.unlabelled[node]:
        return None
    known = np.flatnonzero(graph.labels[node]) if graph.multilabel else [graph.labels[node]]
    return [graph.class_names[int(c)] for c in known]


def _largest(values: np.ndarray, most: int, among: np.ndarray) -> np.ndarray:
    """Those of `among` with the largest values, for or against, largest first."""
    return among[np.argsort(-abs(values[among]), kind="stable")[:most]]
