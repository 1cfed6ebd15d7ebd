"""The paper's tables and figures, a file each, drawn from one store of outcomes that can be filled bit by bit.

An experiment is a module: ``TITLE``, ``cells(plan)`` for what has to be trained, ``parts(store, plan)`` for what came
out of it. Several share cells; each is trained once.
"""

from collections.abc import Sequence
from types import ModuleType

from ngcn.experiments import attention, noise, sensitivity, table2, table3, table4, tsne
from ngcn.experiments.cell import Cell, Setup
from ngcn.experiments.grid import Plan
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
}


def cells_of(names: Sequence[str], plan: Plan) -> list[Cell]:
    """What the experiments have to train, each cell once."""
    every = [cell for name in names for cell in EXPERIMENTS[name].cells(plan)]
    return list({cell.key: cell for cell in every}.values())


def section_of(name: str, store: Store, plan: Plan) -> Section:
    """What an experiment has to show, from as much as the store has."""
    experiment = EXPERIMENTS[name]
    cells = experiment.cells(plan)
    return Section(experiment.TITLE, len(store.outcomes(cells)), len(cells), experiment.parts(store, plan))


__all__ = ["EXPERIMENTS", "Cell", "Plan", "Setup", "Store", "cells_of", "run", "section_of"]
