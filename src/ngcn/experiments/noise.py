"""The figure on missing features: accuracy on Cora with words removed."""

from __future__ import annotations

from ngcn.experiments.cell import Cell, Plan, setup
from ngcn.experiments.section import NOT_RUN, Figure, Part, Runs, Table, draw_line
from ngcn.experiments.store import Store
from ngcn.figures import Drawing, panels
from ngcn.registry import title_of
from ngcn.text import percent

TITLE = "Missing features"
SEEDS = 10
TELLING = (0.0, 0.5, 0.9)  # the shares that decide the claims, and the only ones of a quick run
ROWS = ("ngcn", "nsage", "dcnn", "gcn", "sage")  # with their default settings: K = 6, r = 4, attention


def shares(plan: Plan) -> tuple[float, ...]:
    return TELLING if plan.quick else tuple(tenth / 10 for tenth in range(11))


def group(model: str, share: float, plan: Plan) -> list[Cell]:
    """The seed also draws the removed words, so that they are the same for all models."""
    return plan.cells(setup("cora", model, removed=share), SEEDS)


def cells(plan: Plan) -> list[Cell]:
    if "cora" not in plan.datasets:
        return []
    return [one for model in reversed(ROWS) for share in shares(plan) for one in group(model, share, plan)]


def parts(store: Store, plan: Plan) -> list[Part]:
    found = {model: {share: Runs.of(store, group(model, share, plan)) for share in shares(plan)} for model in ROWS}
    rows = [
        [title_of(model), *(f"{runs.test:.1f}" if runs else NOT_RUN for runs in line.values())]
        for model, line in found.items()
    ]
    shown: list[Part] = [
        f"Cora with a share of the words removed at random: test accuracy in %, mean over {SEEDS} seeds when complete "
        "(error bars: standard deviation). Each seed removes other words, the same for all models. Default settings "
        "(N-GCN and N-SAGE: K = 6, r = 4, attention). With 100 % removed all nodes are predicted alike; the figure "
        "omits this."
    ]
    if any(runs for line in found.values() for share, runs in line.items() if share):
        alt = "Test accuracy over the share of features removed, a line per model"
        shown.append(Figure("noise", alt, lambda: _draw(found)))
    return [*shown, Table("Cora with features removed", ["removed", *map(percent, shares(plan))], rows)]


def _draw(found: dict[str, dict[float, Runs]]) -> Drawing:
    drawing, [[panel]] = panels(1, 1, width=6.4, height=4)
    for number, (model, line) in enumerate(found.items()):
        # Without 100 %, where all models are alike: it would compress the rest of the scale
        points = [(100 * share, runs) for share, runs in line.items() if runs and share < 1]
        draw_line(panel, points, number, title_of(model))
    panel.set(xlim=(-3, 93), xlabel="features removed, %", ylabel="test accuracy, %", title="Cora")
    if panel.get_legend_handles_labels()[0]:
        panel.legend(frameon=False)
    return drawing
