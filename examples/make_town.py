"""Makes examples/town: who reads which newspaper, in a town where neighbours talk. Everything in it is made up.

python examples/make_town.py
"""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "town"
PAPERS = np.array(["Courier", "Herald", "Mirror"])
TRADES = np.array(["baker", "farmer", "nurse", "teacher"])
TOWNSFOLK, KNOWN = 300, 90

random = np.random.default_rng(7)
paper = random.integers(0, 3, TOWNSFOLK)
age = random.normal(45, 12, TOWNSFOLK) + 5 * (paper == 0)  # each feature says a little
income = np.exp(random.normal(10.2, 0.4, TOWNSFOLK) + 0.2 * (paper == 1))
trade = np.where(random.random(TOWNSFOLK) < 0.3, paper, random.integers(0, 4, TOWNSFOLK))
known = np.isin(np.arange(TOWNSFOLK), random.permutation(TOWNSFOLK)[:KNOWN])

lines = ["id,label,age,income,trade"]
for i in range(TOWNSFOLK):
    label = PAPERS[paper[i]] if known[i] else ""
    lines.append(f"P{i:03},{label},{age[i]:.0f},{income[i]:.2f},{TRADES[trade[i]]}")
FOLDER.mkdir(exist_ok=True)
(FOLDER / "nodes.csv").write_text("\n".join(lines) + "\n")

pairs = np.argwhere(np.triu(random.random((TOWNSFOLK, TOWNSFOLK)) < np.where(paper[:, None] == paper, 0.05, 0.005), 1))
lines = ["source,target,weight"] + [f"P{a:03},P{b:03},{random.integers(1, 4)}" for a, b in pairs]
(FOLDER / "edges.csv").write_text("\n".join(lines) + "\n")
