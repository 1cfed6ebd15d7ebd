"""`explain_node` and `Explainer`: explain the prediction of a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from ngcn.errors import GraphError
from ngcn.explain.explanation import Explanation, Feature, Neighbour, Ring, Vote
from ngcn.explain.local import Neighbourhood
from ngcn.explain.watched import Watched
from ngcn.graph import Graph, StoredGraph, is_identity
from ngcn.model import Model
from ngcn.nn.network import group_title
from ngcn.ops import Features
from ngcn.runs import Run, model_and_graph
from ngcn.scoring import probabilities
from ngcn.text import did_you_mean

LISTED = 1 << 20  # ids of a graph on disk that are looked at together


def explain_node(
    run: Run | Model | Path | str, node: Any, *, label: str | None = None, graph: Graph | None = None
) -> Explanation:
    """Explain the prediction of a node.

    Args:
        run: a run or its folder, whose best seed is explained; or a model.
        node: the id of the node, as in the graph's files.
        label: the class to explain; the most probable one if None.
        graph: the graph; that of the run if None. Of a large graph on disk, the 20,000 nodes nearest to the node are
            taken into account.

    Example:
        >>> from ngcn import Config, load_dataset, train
        >>> import tempfile
        >>> folder = tempfile.mkdtemp() + "/run"
        >>> result = train(load_dataset("cora"), Config(model="gcn", steps=20), folder=folder)
        >>> why = explain_node(folder, 1708)
        >>> why.node, why.rings[0].distance, [vote.power for vote in why.votes]
        (1708, 0, [1])
        >>> round(sum(vote.contribution for vote in why.votes) - why.probability, 6)
        0.0
    """
    model, graph = model_and_graph(run, graph, network=True)
    position = find_node(graph, node)
    if not isinstance(graph, StoredGraph) or not model.is_large(graph):
        return Explainer(model, graph).explain(position, label)
    around = Neighbourhood(model, graph, np.array([position]))
    return Explainer(model, around.graph, around.inputs).explain(around.position(position), label)


class Explainer:
    """Explains nodes of a graph with the network of a model."""

    def __init__(self, model: Model, graph: Graph, inputs: tuple[Any, Features] | None = None) -> None:
        self.network, self.graph = model.network.eval(), graph
        self.A_hat: Any
        self.A_hat, self.X = inputs or model.inputs(graph)
        self.towers = self.network.groups()
        self.identity = is_identity(graph)

    @property
    def score_is(self) -> Literal["probability", "lead", "log-odds"]:
        """The quantity that the votes sum to."""
        if self.network.classifier.weights() is not None:
            return "probability"
        return "log-odds" if self.graph.multilabel else "lead"

    def probabilities(self, logits: Tensor) -> Tensor:
        return probabilities(logits, self.graph.multilabel)

    def explain(
        self,
        node: int,
        label: str | None = None,
        *,
        strongest: int = 3,
        features: int = 10,
        exact: bool | Literal["features"] = True,
    ) -> Explanation:
        """Explain a class, the most probable if None, of the node with this index; see :func:`find_node`.

        Args:
            strongest: the number of nodes to list at each distance.
            features: the number of features to list, those with most points; in the order of their exact effect.
            exact: compute ``without`` for each listed node and feature, or for features only, with one forward pass
                each.
        """
        ids, classes = self.graph.node_ids, self.graph.class_names
        names = list(map(str, ids.tolist())) if self.identity else self.graph.feature_names
        rows = torch.tensor([node])
        X = Watched(self.X)
        with torch.enable_grad():
            Z = self.network.towers(self.A_hat, X, rows)
            p = self.probabilities(self.network.combine(Z))[0]
        c = int(p.argmax()) if label is None else _find(self.graph, "class", label, list(classes))
        by_node, by_feature, own = X.points(p[c], node)
        p = p.detach()
        distance = dijkstra(abs(self.A_hat.matrix), unweighted=True, indices=node)

        @torch.no_grad()
        def without(**left_out: int) -> float:
            logits = self.network(self.A_hat, Watched(self.X, **left_out), rows)
            return float(self.probabilities(logits)[0, c])

        def feature(j: int) -> Feature:
            left = without(feature=j) if exact else None
            effect = None if left is None else float(p[c]) - left
            return Feature(names[j], float(by_feature[j]), float(own[j]), left, effect)

        votes, rings = self._votes(Z.detach(), c), []
        reached = np.flatnonzero(by_node)
        at_distance = {hops: reached[distance[reached] == hops] for hops in np.unique(distance[reached])}
        largest = {hops: _largest(by_node, strongest, ring) for hops, ring in at_distance.items()}
        predicted = self._predictions([u for of in largest.values() for u in of if self.graph.unlabelled[u]])
        for hops, ring in at_distance.items():
            named = [
                Neighbour(
                    ids[u].item(),
                    float(by_node[u]),
                    without(node=u) if exact is True else None,
                    _truth(self.graph, u),
                    predicted.get(u),
                )
                for u in largest[hops]
            ]
            rings.append(Ring(int(hops) if np.isfinite(hops) else None, len(ring), float(by_node[ring].sum()), named))
        listed = [feature(int(j)) for j in _largest(by_feature, features, np.flatnonzero(by_feature))]
        return Explanation(
            node=ids[node].item(),
            label=classes[c],
            probability=float(p[c]),
            probabilities=dict(zip(classes, p.tolist(), strict=True)),
            predicted=self._predicted(p),
            truth=_truth(self.graph, node),
            score=sum(vote.contribution for vote in votes),
            score_is=self.score_is,
            votes=votes,
            rings=rings,
            features=sorted(listed, key=lambda of: -abs(of.points if of.effect is None else of.effect)),
            identity=self.identity,
        )

    def _predicted(self, p: Tensor) -> list[str]:
        """The predicted classes, given the probability of each."""
        chosen = (p > 0.5).nonzero()[:, 0].tolist() if self.graph.multilabel else [int(p.argmax())]
        return [self.graph.class_names[c] for c in chosen]

    @torch.no_grad()
    def _predictions(self, nodes: list[int]) -> dict[int, list[str]]:
        """The predicted classes of some nodes."""
        if not nodes:
            return {}
        p = self.probabilities(self.network(self.A_hat, self.X, torch.tensor(np.array(nodes))))
        return {node: self._predicted(row) for node, row in zip(nodes, p, strict=True)}

    def contributions(self, Z: Tensor, labels: Tensor) -> Tensor:
        """The contribution of each power to the class ``labels[i]`` of row i, ``(rows, powers)``; Z are the tower
        outputs, ``(rows, towers, width)``."""
        if (by_tower := self._opinions(Z, labels)) is not None:
            p = self.probabilities(self.network.combine(Z)).gather(1, labels[:, None])
            by_tower = by_tower * (p / by_tower.sum(dim=1, keepdim=True))  # calibration moves all of them alike
        else:  # exact, because a classifier without biases is homogeneous, and its calibration has no offset
            with torch.enable_grad():
                Z = Z.detach().requires_grad_()
                logits = self.network.combine(Z)
                score = logits.gather(1, labels[:, None])[:, 0]
                if not self.graph.multilabel:
                    score = score - logits.mean(dim=1)
                slope = torch.autograd.grad(score.sum(), Z)[0]
            by_tower = (Z.detach() * slope).sum(dim=2)
        return torch.stack([by_tower[:, towers].sum(dim=1) for towers in self.towers.values()], dim=1)

    def _opinions(self, Z: Tensor, labels: Tensor) -> Tensor | None:
        """The weight of each tower times the probability that it gives to ``labels[i]``, ``(rows, towers)``; None if
        towers have no weights."""
        m = self.network.classifier.weights()
        if m is None:
            return None
        return m * self.probabilities(Z).gather(2, labels[:, None, None].expand(-1, Z.shape[1], 1))[..., 0]

    def _votes(self, Z: Tensor, c: int) -> list[Vote]:
        label, m = torch.tensor([c]), self.network.classifier.weights()
        opinions, parts = self._opinions(Z, label), self.contributions(Z, label)[0].tolist()
        votes = []
        for (group, towers), part in zip(self.towers.items(), parts, strict=True):
            weight = opinion = None
            if m is not None and opinions is not None:
                weight = float(m[towers].sum())
                opinion = float(opinions[0, towers].sum()) / weight if weight else 0.0
            votes.append(Vote(group_title(group), self.network.tower_powers[towers[0]], part, weight, opinion))
        return votes


def find_node(graph: Graph, node: Any) -> int:
    """The index of the node with this id."""
    ids = graph.node_ids
    if isinstance(ids, np.memmap) and len(ids) > LISTED:  # too many for a list
        number = str(node).removeprefix("-").isdecimal() and len(str(node)) < 19
        wanted = (int(str(node)) if number else None) if ids.dtype.kind == "i" else str(node)
        for start in range(0, len(ids) if wanted is not None else 0, LISTED):
            if len(at := np.flatnonzero(ids[start : start + LISTED] == wanted)):
                return start + int(at[0])
        raise GraphError(f"The graph {graph.name!r} has no node {str(node)!r}.")
    return _find(graph, "node", str(node), [str(name) for name in graph.node_ids.tolist()])


def _find(graph: Graph, what: str, name: str, names: list[str]) -> int:
    if name in names:
        return names.index(name)
    hint = did_you_mean(name, names, most=3) or f"there are {', '.join(names[:5])}{', ...' if len(names) > 5 else '.'}"
    if name.removeprefix("-").isdecimal() and names == [str(i) for i in range(len(names))]:
        hint = f"they are numbered 0 to {len(names) - 1}."
    raise GraphError(f"The graph {graph.name!r} has no {what} {name!r}; {hint}")


def _truth(graph: Graph, node: int) -> list[str] | None:
    if graph.unlabelled[node]:
        return None
    known = np.flatnonzero(graph.labels[node]) if graph.multilabel else [graph.labels[node]]
    return [graph.class_names[int(c)] for c in known]


def _largest(values: np.ndarray, most: int, among: np.ndarray) -> np.ndarray:
    """The indices in `among` with the largest absolute values, largest first."""
    return among[np.argsort(-abs(values[among]), kind="stable")[:most]]
