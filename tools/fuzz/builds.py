"""Tables for `ngcn build`: any of the other families, in one file, in part files, or next to an unfinished build."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import numpy as np

from tools.fuzz import mutate
from tools.fuzz.arrays import any_array, parquet
from tools.fuzz.messy import nodes as messy_nodes

MEMORY = ("4GB", "10MB", "1", "1KB", "0", "-1", "x", "1e3", "9" * 30 + "T", "")


def build(draw: Random, folder: Path, fixtures: Path) -> list[str]:
    nodes, edges = fixtures / "tables/nodes.csv", fixtures / "tables/edges.csv"
    match draw.randrange(6):
        case 0:
            parquet(draw, folder, fixtures)
            nodes, edges = Path("nodes.parquet"), Path("edges.parquet")
        case 1:
            nodes = Path(messy_nodes(draw, folder, fixtures))
        case 2:
            pairs = np.stack(
                np.unravel_index(np.random.default_rng(draw.randrange(99)).integers(0, 3600, 150), (60, 60)), 1
            )
            np.save(folder / "edges.npy", any_array(draw, pairs) if draw.random() < 0.8 else pairs)
            if draw.random() < 0.3:
                (folder / "edges.npy").write_bytes(mutate.raw(draw, (folder / "edges.npy").read_bytes()))
            edges, text = Path("edges.npy"), nodes.read_text().replace("\nn", "\n")
            nodes = Path("nodes.csv")
            (folder / nodes).write_text(text)
        case 3:
            for part, first in (("1", 0), ("2", 75)):
                lines = edges.read_text().splitlines()
                content = "\n".join([lines[0], *lines[1:][first : first + 75]])
                (folder / "parts").mkdir(exist_ok=True)
                (folder / f"parts/{part}.csv").write_bytes(content.encode())
            part = draw.choice("12")
            (folder / f"parts/{part}.csv").write_bytes(mutate.table(draw, (folder / f"parts/{part}.csv").read_text()))
            edges = Path("parts")
        case _:
            changed = draw.choice(["nodes", "edges"])
            (folder / f"{changed}.csv").write_bytes(
                mutate.table(draw, (fixtures / f"tables/{changed}.csv").read_text())
            )
            nodes, edges = (Path("nodes.csv"), edges) if changed == "nodes" else (nodes, Path("edges.csv"))
    if draw.random() < 0.1:  # over a finished graph, or one of other files
        shutil.copytree(fixtures / "stored" / draw.choice(["dense", "sparse"]), folder / "big")
        if draw.random() < 0.5:
            (folder / "big/meta.json").unlink()
    odd = ["--memory", draw.choice(MEMORY)], ["--id", mutate.word(draw)], ["--source", "target"], ["--label", "x"]
    known = (
        ["--multilabel"],
        ["--one-hot", "label"],
        ["--ignore", "age"],
        ["--label", "age"],
        ["--half"],
        ["--unknown-nodes", "drop"],
    )
    more = draw.choice([[], [], [], *odd, *known])
    if draw.random() < 0.03:
        return ["build", str(edges), *clean(more), "--out", "big"]
    return [
        "build",
        str(edges),
        str(nodes),
        *clean(more),
        "--out",
        draw.choice(["big"] * 20 + ["a/b", "a/b", ".", "/dev/null"]),
    ]


def clean(arguments: list[str]) -> list[str]:
    return [each.replace("\x00", "") for each in arguments]
