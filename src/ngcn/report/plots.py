"""The figures of the page as SVG and PNG, for papers and slides."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from ngcn.figures import COLORS, MARKERS, Drawing, panels, save_figure
from ngcn.report.page import static

LEGEND = 14  # classes at most
Data = dict[str, Any]


def write_plots(data: Data, folder: Path) -> None:
    """Write map, towers, learning, confusion, calibration and missing: those that the page has, too."""
    drawn = {"map": _map(data), "towers": _towers(data)}
    if data["curves"]:
        drawn["learning"] = _learning(data)
    if data["quality"]:
        drawn["calibration"] = _calibration(data["quality"], data["multilabel"])
        if data["quality"]["confusion"]:
            drawn["confusion"] = _confusion(data["quality"]["confusion"], data["classes"])
    if data["missing"]:
        drawn["missing"] = _missing(data["missing"], data["graph"]["nodes"])
    for name, drawing in drawn.items():
        save_figure(drawing, folder, name)


def _map(data: Data) -> Drawing:
    drawing, [[panel]] = panels(1, 1, width=5.2, height=4.6)
    colors = class_colors()
    x, y = np.array(data["map"]["x"]), np.array(data["map"]["y"])
    classes = np.array(data["nodes"]["predicted"])[data["map"]["node"]]
    for c in np.unique(classes).tolist():
        how = {"color": colors[c % len(colors)], "marker": MARKERS[(c + c // len(colors)) % len(MARKERS)]}
        here = classes == c
        panel.scatter(x[here], y[here], s=8, alpha=0.7, linewidths=0, label=_short(data["classes"][c]), **how)
    panel.set(xticks=[], yticks=[], aspect="equal", title="predicted class")
    panel.spines[:].set_visible(False)
    handles, names = panel.get_legend_handles_labels()
    panel.legend(
        handles[:LEGEND], names[:LEGEND], frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5)
    )
    return drawing


def class_colors() -> list[str]:
    """The colours of the classes on the page, in light mode."""
    return list(dict(re.findall(r"(--c\d+): (#\w+);", static("page.css").partition("@media")[0])).values())


def _towers(data: Data) -> Drawing:
    scales = data["scales"]
    names = [
        "all powers" if power is None else f"Â^{power}" if isinstance(power, int) else power
        for power in scales["powers"]
    ]
    drawing, [[panel]] = panels(1, 1, width=5.2, height=max(1.6, 0.36 * len(names) + 0.8))
    bars = panel.barh(names, scales["value"], color=COLORS[0])
    panel.bar_label(bars, fmt="%.3f", padding=3, fontsize=8)
    panel.invert_yaxis()
    panel.set(xlabel="weight" if scales["weighted"] else "mean contribution")
    panel.grid(visible=False, axis="y")
    return drawing


def _learning(data: Data) -> Drawing:
    drawing, [[loss, score]] = panels(1, 2, width=4.2, height=3.2)
    for curve in data["curves"]:
        best = curve["seed"] == data["best_seed"]
        how = {"alpha": 1.0 if best else 0.3, "linewidth": 1.4 if best else 0.8}
        for panel, column, color, name in (
            (loss, "loss", COLORS[0], "training, with dropout"),
            (loss, "val_loss", COLORS[1], "validation"),
            (score, "val", COLORS[0], f"seed {curve['seed']}"),
        ):
            panel.plot(curve["step"], curve[column], color=color, label=name if best else None, **how)
        if best:
            for panel in (loss, score):
                panel.axvline(curve["best_step"], color="0.5", linestyle=":", label="best step")
    loss.set(xlabel="step", ylabel="loss", ylim=(0, None))
    score.set(xlabel="step", ylabel=f"validation {data['metric'].lower()}")
    for panel in (loss, score):
        panel.legend(frameon=False, fontsize=8)
    return drawing


def _calibration(quality: Data, multilabel: bool) -> Drawing:
    drawing, [[panel]] = panels(1, 1, width=4.2, height=3.8)
    panel.plot([0, 1], [0, 1], color="0.5", linestyle="--", label="perfect")
    for name, of, color in (
        ("before calibration", quality["before"], COLORS[1]),
        ("", quality["reliability"], COLORS[0]),
    ):
        if of:
            _, nodes, confidence, accuracy = np.array(of["bins"]).T
            name = f"{name or ('after' if quality['before'] else 'error')}: {100 * of['gap']:.1f} points"
            panel.plot(confidence, accuracy, color=color, label=name)
            panel.scatter(confidence, accuracy, s=10 + 90 * nodes / nodes.max(), color=color)
    confidence, accuracy = ("probability", "share of true labels") if multilabel else ("confidence", "accuracy")
    panel.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel=confidence, ylabel=accuracy)
    panel.legend(frameon=False, fontsize=8)
    return drawing


def _confusion(matrix: list[list[int]], classes: list[str]) -> Drawing:
    side = 1.6 + 0.42 * len(classes)
    drawing, [[panel]] = panels(1, 1, width=side + 1.0, height=side)
    counts = np.array(matrix)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for (row, column), number in np.ndenumerate(counts):
        if number:
            color = "white" if shares[row, column] > 0.5 else "black"
            panel.text(column, row, number, ha="center", va="center", fontsize=8, color=color)
    names = [_short(name) for name in classes]
    panel.set_xticks(range(len(names)), names, rotation=90, fontsize=8)
    panel.set_yticks(range(len(names)), names, fontsize=8)
    panel.set(xlabel="predicted", ylabel="true")
    panel.grid(visible=False)
    return drawing


def _missing(missing: Data, nodes: int) -> Drawing:
    names = [_short(name) for name, _ in missing["rows"]]
    drawing, [[panel]] = panels(1, 1, width=5.2, height=max(1.6, 0.36 * len(names) + 0.8))
    shares = [100 * number / nodes for _, number in missing["rows"]]
    panel.bar_label(panel.barh(range(len(names)), shares, color=COLORS[1]), fmt="%.0f", padding=3, fontsize=8)
    panel.set_yticks(range(len(names)), names)
    panel.invert_yaxis()
    panel.set(xlabel="missing values, % of the nodes")
    panel.grid(visible=False, axis="y")
    return drawing


def _short(name: str) -> str:
    """A name in a figure; $ would begin a formula."""
    return (name if len(name) <= 32 else f"{name[:31]}…").replace("$", r"\$")
