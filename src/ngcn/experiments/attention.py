"""The figure of the attention weights: how they change when features are removed."""

from __future__ import annotations

import numpy as np

from ngcn.experiments import noise
from ngcn.experiments.cell import Cell, Plan
from ngcn.experiments.section import Figure, Part, Table
from ngcn.experiments.store import Store
from ngcn.figures import Drawing, panels
from ngcn.text import percent

TITLE = "Attention over scales"


def cells(plan: Plan) -> list[Cell]:
    """The N-GCN cells of the figure on missing features."""
    return [one for one in noise.cells(plan) if one.setup.config.model == "ngcn"]


def weights(store: Store, plan: Plan, share: float) -> list[list[float]]:
    """The weight of every power, for each finished seed with this share of the features removed."""
    return [outcome["scale_weights"] for outcome in store.outcomes(noise.group("ngcn", share, plan))]


def parts(store: Store, plan: Plan) -> list[Part]:
    seeds = {share: weights(store, plan, share) for share in noise.shares(plan)}
    found = {percent(share): np.mean(of_share, axis=0) for share, of_share in seeds.items() if of_share}
    text = (
        "The attention weights m of N-GCN (K = 6, r = 4) on Cora with features removed: the sum over the towers of a "
        "power, mean over seeds. Our loss has a penalty on unequal weights, which the paper's does not have. The "
        "weights therefore stay close to each other; what matters is the direction in which they change. With all "
        "features removed they keep their initial values."
    )
    if len(found) < 2:
        return [text]
    alt = "Attention weight of each power over the share of features removed"
    rows = [[share, *(f"{weight:.3f}" for weight in row)] for share, row in found.items()]
    header = ["removed", *(f"Â^{power}" for power in range(len(rows[0]) - 1))]
    return [text, Figure("attention", alt, lambda: _draw(found)), Table("Attention weights", header, rows)]


def _draw(found: dict[str, np.ndarray]) -> Drawing:
    drawing, [[panel]] = panels(1, 1, width=6.4, height=4)
    panel.grid(visible=False)
    table = np.array(list(found.values()))
    image = panel.imshow(table, cmap="cividis", aspect="auto")
    for (row, column), weight in np.ndenumerate(table):
        ink = "black" if weight > (table.min() + table.max()) / 2 else "white"
        panel.text(column, row, f"{weight:.3f}", ha="center", va="center", fontsize=8, color=ink)
    panel.set_xticks(range(table.shape[1]), [f"$\\hat{{A}}^{power}$" for power in range(table.shape[1])])
    panel.set_yticks(range(len(found)), list(found))
    panel.set(xlabel="power", ylabel="features removed")
    drawing.colorbar(image, label="attention weight")
    return drawing
