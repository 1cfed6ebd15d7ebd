"""A table as companies keep it, from files to predictions: beside careful preparation with pandas, and LightGBM.

python -m benchmarks.messy [--seeds 5] [--folder company] [--nodes 1500]

The tables are separated by semicolons and have decimal commas: ids and postcodes with leading zeros, amounts with
thousands separators and currency signs, percentages, dates, times, yes and no in German, free text, umlauts, cells that
are empty or n/a, a column without values, a column of names. Edges are listed twice, in both directions, and their
columns are id_1 and id_2. The class of a firm is known for a third of them; its columns, its text and its partners each
say something about it. With --folder, the tables stay there: `ngcn train company --label Branche`.

ngcn gets the files and the name of the label column, nothing else. For LightGBM (`pip install lightgbm`), every column
is converted by hand, the text becomes TF-IDF, and it stops early on the same validation nodes; once with the columns of
a firm alone, and once with the means over its partners beside them. Every seed draws other tables and another split.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import accuracy_score

from ngcn import Config, Graph, load_dataset, train
from ngcn.text import plus_minus

TRADES = ("Bäckerei", "Maschinenbau", "Software", "Spedition")
CITIES = ("Köln", "Düsseldorf", "Zürich", "Łódź", "Aarhus", "Genève", "Wien", "Gdańsk")
WORDS = (
    ("Brötchen", "Torten", "Getreide", "Konditor", "frisch"),
    ("Fräsen", "Getriebe", "Werkzeug", "Montage", "Stahl"),
    ("Cloud", "Beratung", "Daten", "Anwendung", "Schnittstelle"),
    ("Lager", "Fracht", "Zoll", "Flotte", "Strecke"),
)
COMMON = ("wir", "bieten", "Qualität", "seit", "Jahren", "für", "Kunden", "in", "der", "Region", "und", "mehr")
MISSING = ("", "n/a", "-", "NA")
KNOWN, LOST, PARTNERS = 0.3, 0.15, 3  # shares of known labels and of lost cells; edges that a firm begins
OPTIONS = {"label": "Branche"}  # all that is said about the tables


def write(folder: Path, nodes: int, seed: int = 0) -> None:
    """Write nodes.csv and edges.csv."""
    random = np.random.default_rng(seed)
    trade = random.integers(0, len(TRADES), nodes)

    def lossy(cells: list[str], share: float = LOST) -> list[str]:
        return [str(random.choice(MISSING)) if random.random() < share else cell for cell in cells]

    def about(scale: float) -> np.ndarray:
        """A number that says a little about the trade."""
        return scale * (trade == random.integers(0, len(TRADES))) + random.normal(size=nodes)

    staff = np.exp(4 + 1.2 * about(0.9)).astype(int) + 1
    revenue = staff * np.exp(11 + 0.4 * about(0.8))
    founded = np.datetime64("1990-01-01") + (3000 * about(0.8)).astype(int)
    changed = np.datetime64("2024-01-01T00:00") + random.integers(0, 500_000, nodes)
    opens = np.clip(480 + 50 * about(1.0), 240, 700).astype(int)
    city = np.where(random.random(nodes) < 0.3, trade, random.integers(0, len(CITIES), nodes))
    texts = []
    for own in trade:
        special = WORDS[own if random.random() < 0.45 else random.integers(0, len(TRADES))]
        words = [*random.choice(COMMON, 5), *random.choice(special, 2)]
        texts.append(" ".join(random.permutation(words).tolist()))
    ids = [f"{number:07}" for number in random.permutation(10 * nodes)[:nodes]]
    table = pd.DataFrame(
        {
            "id": ids,
            "Firma": [f"{random.choice(CITIES)} {TRADES[random.integers(0, 4)]} {number}" for number in ids],
            "Branche": [TRADES[own] if random.random() < KNOWN else "" for own in trade],
            "Umsatz": lossy([f"{_grouped(value)} €" for value in revenue]),
            "Marge": lossy([f"{8 + 4 * value:.1f} %".replace(".", ",") for value in about(0.8)]),
            "Mitarbeiter": lossy([_grouped(value, 0) for value in staff]),
            "Gegründet": lossy([day.strftime("%d.%m.%Y") for day in founded.astype(object)]),
            "Geändert": [str(moment).replace("T", " ") for moment in changed],
            "Öffnet": lossy([f"{minutes // 60:02}:{minutes % 60:02}" for minutes in opens]),
            "Export": lossy(["ja" if value > 0 else "nein" for value in about(1.5) - 0.3]),
            "PLZ": [f"{1000 * place + random.integers(1, 9):05}" for place in city],
            "Stadt": lossy([CITIES[place] for place in city]),
            "Beschreibung": lossy(texts),
            "Notiz": [""] * nodes,
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "nodes.csv", sep=";", index=False, encoding="utf-8-sig")
    starts = np.repeat(np.arange(nodes), PARTNERS)
    ends = random.integers(0, nodes, len(starts))
    alike = random.random(len(starts)) < 0.5  # these have a partner of the same trade
    for own in range(len(TRADES)):
        place = alike & (trade[starts] == own)
        ends[place] = random.choice(np.flatnonzero(trade == own), place.sum())
    pairs = np.stack([starts, ends], axis=1)[starts != ends]
    pairs = np.concatenate([pairs, pairs[::4], pairs[::3, ::-1]])  # some twice, some in the other direction
    named = np.array(ids)[random.permutation(pairs)]
    pd.DataFrame(named, columns=["id_1", "id_2"]).to_csv(folder / "edges.csv", sep=";", index=False)


def _grouped(value: float, digits: int = 2) -> str:
    """1.234.567,89"""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


def by_hand(folder: Path) -> tuple[np.ndarray, list[str]]:
    """The columns as numbers, and the texts, as a careful person would convert them."""
    table = pd.read_csv(folder / "nodes.csv", sep=";", dtype=str, na_values=list(MISSING), encoding="utf-8-sig")

    def number(name: str, unit: str = "") -> pd.Series:
        plain = table[name].str.replace(unit, "").str.replace(".", "").str.replace(",", ".").str.strip()
        return plain.astype(float)

    opens = table["Öffnet"].str.split(":", expand=True).astype(float)
    columns = {
        "Umsatz": np.log(number("Umsatz", "€")),
        "Marge": number("Marge", "%"),
        "Mitarbeiter": np.log(number("Mitarbeiter")),
        "je Kopf": np.log(number("Umsatz", "€") / number("Mitarbeiter")),
        "Gegründet": (pd.to_datetime(table["Gegründet"], format="%d.%m.%Y") - pd.Timestamp("2000")).dt.days,
        "Geändert": (pd.to_datetime(table["Geändert"]) - pd.Timestamp("2000")).dt.total_seconds(),
        "Öffnet": 60 * opens[0] + opens[1],
        "Export": table["Export"].map({"ja": 1.0, "nein": 0.0}),
        **{f"Stadt={city}": (table["Stadt"] == city).astype(float) for city in CITIES},
        **{f"PLZ={area}": (table["PLZ"].str[:2] == area).astype(float) for area in table["PLZ"].str[:2].unique()},
    }
    return np.column_stack(list(columns.values())), table["Beschreibung"].fillna("").tolist()


def lightgbm(folder: Path, graph: Graph, neighbours: bool) -> float:
    """The test accuracy of LightGBM, with the means over neighbours beside the columns if asked for."""
    from lightgbm import LGBMClassifier, early_stopping

    numbers, texts = by_hand(folder)
    X = np.column_stack([numbers, TfidfVectorizer(min_df=2).fit_transform(texts).toarray()])
    if neighbours:
        A: Any = sp.csr_array((graph.adjacency + graph.adjacency.T) != 0).astype(float)
        known = ~np.isnan(X)
        with np.errstate(invalid="ignore"):
            X = np.column_stack([X, A @ np.nan_to_num(X) / (A @ known.astype(float))])
    model = LGBMClassifier(
        n_estimators=1000, learning_rate=0.03, num_leaves=15, min_child_samples=5, verbose=-1, n_jobs=1
    )
    sets = [(X[graph.val], graph.labels[graph.val])]
    model.fit(X[graph.train], graph.labels[graph.train], eval_set=sets, callbacks=[early_stopping(50, verbose=False)])
    return float(accuracy_score(graph.labels[graph.test], model.predict(X[graph.test])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=1500)
    parser.add_argument("--folder", type=Path, help="write the tables of seed 0 there, and train nothing")
    args = parser.parse_args()
    if args.folder:
        return write(args.folder, args.nodes)
    logging.disable()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    scores: dict[str, list[float]] = {}
    for seed in range(args.seeds):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "company"
            write(folder, args.nodes, seed)
            graph = load_dataset(f"{folder}/", seed=seed, **OPTIONS)
            start = time.process_time()
            row = {
                "ngcn": train(graph, Config(seed=seed)).test or 0.0,
                "LightGBM": lightgbm(folder, graph, neighbours=False),
                "LightGBM, means over neighbours": lightgbm(folder, graph, neighbours=True),
            }
        for name, score in row.items():
            scores.setdefault(name, []).append(100 * score)
        shown = ", ".join(f"{name} {100 * score:.1f}" for name, score in row.items())
        print(f"seed {seed}: {shown} ({time.process_time() - start:.0f} s)", flush=True)
    for name, found in scores.items():
        print(f"{name}: {plus_minus(found)}")
    return None


if __name__ == "__main__":
    main()
