"""`Explanation`: what there is to say about the class of a node, and what each number means."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Vote:
    """What the towers of one power contribute to the class.

    Attributes:
        power: k, of Â^k; None for a model that mixes the powers inside its layers, whose single vote is all of them.
        contribution: its part of :attr:`Explanation.score`; the parts of all powers add up to it.
        weight: how much this power counts, the same at every node; None where towers have no weights (fc, fc2).
        opinion: the probability that this power, by itself, gives the class; None for fc and fc2.
    """

    power: int | None
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
    """The nodes at one distance: ``distance`` edges away on the shortest path; 0 is the explained node itself, None are
    nodes without a path to it, which only a module of one's own can look at.

    ``nodes`` counts those that reach the explained node, ``points`` is the sum over all of them, ``strongest`` the few
    with most points, for or against.
    """

    distance: int | None
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
