"""The paper's tables and figures and a comparison of recipes, one file each, on one resumable store of results.

An experiment is a module with ``TITLE``, ``cells(plan)`` (the trainings) and ``parts(store, plan)`` (the results). A
cell that several experiments share is trained once.
"""

from collections.abc import Sequence
from types import ModuleType

from ngcn.experiments import attention, noise, recipes, sensitivity, table2, table3, table4, tsne
from ngcn.experiments.cell import Cell, Plan, Setup
from ngcn.experiments.runner import run
from ngcn.experiments.section import Section
from ngcn.experiments.store import Store

EXPERIMENTS: dict[str, ModuleType] = {
    "table2": table2,
    "table3": table3,
    "table4": table4,
    "sensitivity": sensitivity,
    "noise": noise,
    "attention": attention,
    "tsne": tsne,
    "recipes": recipes,
}


def cells_of(names: Sequence[str], plan: Plan) -> list[Cell]:
    """The cells of the experiments, without duplicates."""
    cells = [cell for name in names for cell in EXPERIMENTS[name].cells(plan)]
    return list({cell.key: cell for cell in cells}.values())


def section_of(name: str, store: Store, plan: Plan) -> Section:
    """The results of an experiment, from the cells in the store."""
    experiment = EXPERIMENTS[name]
    cells = experiment.cells(plan)
    return Section(experiment.TITLE, len(store.outcomes(cells)), len(cells), experiment.parts(store, plan))


__all__ = ["EXPERIMENTS", "Cell", "Plan", "Setup", "Store", "cells_of", "run", "section_of"]
