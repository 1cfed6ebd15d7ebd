"""The figures of a search."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ngcn.figures import COLORS, Drawing, panels, save_figure
from ngcn.text import METRICS
from ngcn.tuning.trials import Tuned


def write_figures(found: Tuned, importance: dict[str, float], folder: Path) -> None:
    """Write the history and, if it is known, the importance of settings, as SVG and PNG."""
    save_figure(_history(found), folder, "history")
    if importance:
        save_figure(_importance(importance), folder, "importance")


def _history(found: Tuned) -> Drawing:
    """The held-out score of every trial, and the best so far."""
    drawing, [[panel]] = panels(1, 1, width=6.4, height=3.6)
    complete = [trial for trial in found.trials if trial.state == "complete" and trial.score is not None]
    unit = 1 if found.metric == "loss" else 100
    numbers, scores = (
        [trial.number for trial in complete],
        np.array([unit * (trial.score or 0.0) for trial in complete]),
    )
    better = np.minimum if found.metric == "loss" else np.maximum
    panel.plot(numbers, scores, "o", color=COLORS[0], alpha=0.6, markersize=5, label="trial")
    panel.step(numbers, better.accumulate(scores), where="post", color=COLORS[1], label="best so far")
    if found.default:
        panel.axhline(unit * (found.default.score or 0.0), color=COLORS[2], linestyle="--", label="default")
    pruned = [trial.number for trial in found.trials if trial.state == "pruned"]
    panel.plot(pruned, [0.02] * len(pruned), "|", color="0.5", transform=panel.get_xaxis_transform(), label="pruned")
    panel.set(xlabel="trial", ylabel=f"held-out {METRICS[found.metric].lower()}{'' if unit == 1 else ', %'}")
    panel.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return drawing


def _importance(importance: dict[str, float]) -> Drawing:
    """The share of the variance of the score that is due to each setting."""
    names = sorted(importance, key=lambda name: importance[name])
    drawing, [[panel]] = panels(1, 1, width=5.2, height=max(2.0, 0.4 * len(names) + 0.8))
    bars = panel.barh(names, [100 * importance[name] for name in names], color=COLORS[0])
    panel.bar_label(bars, fmt="%.0f", padding=3, fontsize=8)
    panel.set(xlabel="importance: share of the variance of the score, %")
    panel.grid(visible=False, axis="y")
    return drawing
