"""Why a node got its class: what each scale contributes, and which neighbours and features stand behind it."""

from ngcn.explain.explainer import Explainer, explain_node, find_node
from ngcn.explain.explanation import Explanation, Feature, Neighbour, Ring, Vote

__all__ = ["Explainer", "Explanation", "Feature", "Neighbour", "Ring", "Vote", "explain_node", "find_node"]
