"""Explanations of predictions: the contributions of powers of Â, neighbours and features."""

from ngcn.explain.explainer import Explainer, explain_node, find_node
from ngcn.explain.explanation import Explanation, Feature, Neighbour, Ring, Vote
from ngcn.explain.local import Neighbourhood

__all__ = ["Explainer", "Explanation", "Feature", "Neighbour", "Neighbourhood", "Ring", "Vote", "explain_node"]
__all__ += ["find_node"]
