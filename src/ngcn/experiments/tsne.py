"""The t-SNE figure: the hidden layer of N-GCN's fully-connected classifier on Cora."""

from __future__ import annotations

from functools import partial

import numpy as np

from ngcn.experiments.cell import Cell, Outcome, Plan, setup
from ngcn.experiments.section import Figure, Part
from ngcn.experiments.store import Store
from ngcn.figures import COLORS, Drawing, panels
from ngcn.graph import load_dataset

TITLE = "The hidden layer"


def cells(plan: Plan) -> list[Cell]:
    if "cora" not in plan.datasets:
        return []
    return setup("cora", "ngcn", classifier="fc2", draws_map=True).cells(1)


def parts(store: Store, plan: Plan) -> list[Part]:
    alt = "Cora's nodes in two dimensions, coloured by class"
    return [
        "N-GCN on Cora with a classifier of two fully-connected layers: the output of the first one before ReLU, "
        "reduced to 50 dimensions by PCA, then to two by t-SNE. Each dot is a paper, coloured by its class.",
        *(Figure("tsne", alt, partial(_draw, outcome)) for outcome in store.outcomes(cells(plan))),
    ]


def _draw(outcome: Outcome) -> Drawing:
    graph = load_dataset("cora")
    x, y = np.array(outcome["map"]).T
    drawing, [[panel]] = panels(1, 1, width=7, height=5)
    panel.set_axis_off()
    panel.set_aspect("equal")
    for number, name in enumerate(graph.class_names):
        here, label = graph.labels == number, name.replace("_", " ")
        panel.scatter(x[here], y[here], s=5, color=COLORS[number], label=label, linewidths=0, rasterized=True)
    drawing.legend(frameon=False, fontsize=9, markerscale=3, loc="outside right center")
    return drawing
