"""Training one seed: set-up, loop and finish; recipes, batches, the selection of a step, checkpoints."""

from ngcn.training.batches import Batch
from ngcn.training.checkpoint import refit_checkpoint, steps_taken
from ngcn.training.loop import fit
from ngcn.training.recipe import Recipe
from ngcn.training.references import majority, reference_scores, warning_of
from ngcn.training.result import HISTORY, Result
from ngcn.training.sampled import prepare_products
from ngcn.training.selection import Selection, Step
from ngcn.training.setup import for_network

__all__ = [
    "HISTORY",
    "Batch",
    "Recipe",
    "Result",
    "Selection",
    "Step",
    "fit",
    "for_network",
    "majority",
    "prepare_products",
    "reference_scores",
    "refit_checkpoint",
    "steps_taken",
    "warning_of",
]
