"""Training one seed: the loop, recipes, batches, the selection of a step, checkpoints."""

from ngcn.training.batches import Batch
from ngcn.training.checkpoint import steps_taken
from ngcn.training.loop import fit, for_network
from ngcn.training.recipe import Recipe
from ngcn.training.result import HISTORY, Result
from ngcn.training.selection import Selection, Step

__all__ = ["HISTORY", "Batch", "Recipe", "Result", "Selection", "Step", "fit", "for_network", "steps_taken"]
