"""`Explanation` and its parts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Vote:
    """The contribution of the towers of one power to a class; in a mixed network, of one kind and power.

    Attributes:
        towers: their name, such as Â^2 or SAGE P^1.
        power: k in Â^k; None for a model that mixes the powers inside its layers, which has a single vote.
        contribution: its part of :attr:`Explanation.score`, the sum over all votes: weight times opinion, scaled by
            what calibration does to the probability.
        weight: their weight, the same at every node; None if towers have no weights (fc, fc2).
        opinion: the probability of the class by these towers alone, before calibration; None for fc and fc2.
    """

    towers: str
    power: int | None
    contribution: float
    weight: float | None
    opinion: float | None


@dataclass(frozen=True)
class Neighbour:
    """The effect of the features of one node on the class of the explained node.

    Attributes:
        points: gradient times input. 0.02 means that the probability would be about 2 percentage points lower if all
            features of this node were 0.
        without: the exact probability with all features of this node set to 0; None if not computed.
        truth: its labels; None if unknown.
        predicted: its predicted classes, where its labels are unknown; else None.
    """

    id: Any
    points: float
    without: float | None = None
    truth: list[str] | None = None
    predicted: list[str] | None = None


@dataclass(frozen=True)
class Ring:
    """The nodes at one distance from the explained node.

    Attributes:
        distance: edges on the shortest path; None means no path, which only a layer of your own can use.
        nodes: the number of nodes at this distance that affect the explained node.
        points: the sum of their points.
        strongest: those with the largest absolute points.
    """

    distance: int | None
    nodes: int
    points: float
    strongest: list[Neighbour]


@dataclass(frozen=True)
class Feature:
    """The effect of one feature on the class.

    ``points`` and ``without`` are as in :class:`Neighbour`, for this feature set to 0 at every node. ``own`` is the
    part of the points that is due to the explained node itself. ``effect`` is the exact one, of which the points are an
    estimate: the probability less ``without``. In a graph without features, every node is a feature of its own, named
    by its id.
    """

    name: str
    points: float
    own: float
    without: float | None = None
    effect: float | None = None


@dataclass(frozen=True)
class Explanation:
    """The explanation of a class at a node, see :class:`Vote`, :class:`Ring` and :class:`Feature`.

    ``predicted`` are the predicted classes: the most probable one, or for multi-label all that are more probable than
    not, so that there may be none. ``identity`` says that the graph has no features, so that every node is one.

    ``score`` is the sum of the votes. ``score_is`` names it: the "probability" for attention, harmonic, linear and
    identity; for fc and fc2 the "lead", the logit minus the mean logit of all classes, or for multi-label the
    "log-odds". For fc2 the sum is exact too: it holds for the hidden units that are active at this node.
    """

    node: Any
    label: str
    probability: float
    probabilities: dict[str, float]
    predicted: list[str]
    truth: list[str] | None
    score: float
    score_is: Literal["probability", "lead", "log-odds"]
    votes: list[Vote]
    rings: list[Ring]
    features: list[Feature]
    identity: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
