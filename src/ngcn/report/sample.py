"""The nodes of the page: some of a large graph, and their order."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from ngcn.explain import Explainer, Neighbourhood
from ngcn.graph import UNKNOWN, Graph, StoredGraph
from ngcn.model import Model

SAMPLE = 2_000  # nodes of a large graph


def of_all(model: Model, graph: Graph) -> tuple[Explainer, Tensor]:
    """What explains nodes, and the outputs of all towers."""
    explainer = Explainer(model, graph)
    return explainer, explainer.network.towers(explainer.A_hat, explainer.X)


def of_sample(model: Model, graph: Graph, new: np.ndarray) -> tuple[Explainer, Tensor, np.ndarray]:
    """The same for some nodes of a large graph, and their numbers: half of them for validation or test, the others new
    ones or any, and those around them. The outputs are exact."""
    assert isinstance(graph, StoredGraph)
    random = np.random.default_rng(0)
    known = random.permutation(np.flatnonzero(graph.val | graph.test))[: SAMPLE // 2]
    others = random.permutation(np.flatnonzero(new))[: SAMPLE // 2]
    any_others = random.integers(graph.nodes, size=SAMPLE // 2 - len(others))
    around = Neighbourhood(model, graph, np.unique(np.concatenate([known, others, any_others])))
    return Explainer(model, around.graph, around.inputs), model.exact(graph).towers(around.nodes), around.nodes


def by_priority(
    graph: Graph, probabilities: np.ndarray, new: np.ndarray, uncertain: np.ndarray, explain: int
) -> np.ndarray:
    """All nodes by priority, new ones first: the least certain, some wrong predictions, then the others at random."""
    random = np.random.default_rng(0)
    if graph.multilabel:
        wrong = (graph.val | graph.test) & ((probabilities > 0.5) != (graph.labels > 0)).any(axis=1)
    else:
        wrong = ~graph.train & (graph.labels != UNKNOWN) & (probabilities.argmax(axis=1) != graph.labels)
    some = random.permutation(np.flatnonzero(wrong))[: explain // 2]
    orders = np.concatenate([uncertain, some, random.permutation(graph.nodes)])
    order = np.array(list(dict.fromkeys(orders.tolist())), dtype=np.int64)
    return order[np.argsort(~new[order], kind="stable")]
