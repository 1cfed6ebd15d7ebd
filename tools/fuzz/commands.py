"""Command lines: options with odd values, in any combination."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tools.fuzz.fixtures import RUNS
from tools.fuzz.mutate import word

NUMBERS: tuple[str, ...] = (
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "100",
    "1000000000",
    "4611686018427387904",
    "9" * 30,
    "0.5",
    "1e9",
    "nan",
    "inf",
)
NUMBERS += ("-0.0", "1e-300", "1e308", "0x10", "", "99999", "60000")
MODELS = (
    "nmlp",
    "mixed",
    "ngcn",
    "nsage",
    "gcn",
    "sage",
    "dcnn",
    "mlp",
    "cheby",
    "walk-coefficients",
    "custom",
    "gcn-kipf",
)
BASELINES = ("lp", "label-spreading", "manireg", "semiemb", "ica", "planetoid", "sage-lstm", "sage-pool", "deepwalk")
SETTINGS: tuple[str, ...] = (
    "alpha",
    "class_mass",
    "ambient",
    "iterations",
    "soft",
    "statistic",
    "hidden",
    "batch",
    "first",
    "second",
)
SETTINGS += (
    "steps",
    "dimensions",
    "window",
    "walks",
    "length",
    "contexts",
    "pretraining",
    "dropout",
    "lr",
    "check",
    "x",
)
CHOICES: dict[str, tuple[str, ...]] = {
    "--powers": ("2", "1,2", "0", "0,0", "5,1,", "1000000000", "-1", "a", "[1]", "1e9", "0,9999", "9" * 5000),
    "--replicas": NUMBERS,
    "--hidden": NUMBERS,
    "--layers": NUMBERS,
    "--lr": NUMBERS,
    "--dropout": NUMBERS,
    "--l2": NUMBERS,
    "--patience": NUMBERS,
    "--seed": NUMBERS,
    "--seeds": ("0", "-1", "1", "2", "100000000", "9" * 30, "a"),
    "--threads": ("1", "0", "2", "1000000000", "9" * 30, "a"),
    "--classifier": ("attention", "free-attention", "fc", "fc2", "harmonic", "linear", "identity", "x"),
    "--recipe": ("standard", "independent", "paper", "kipf", "consistency", "self-consistency", "x"),
    "--batch": ("full", "sampled", "sampled", "x"),
    "--batch-size": NUMBERS,
    "--walks": NUMBERS,
    "--memory": ("4GB", "1KB", "0", "-1", "x", "nan", "9" * 40 + "G"),
    "--missing": ("propagate", "mean", "error", "x"),
    "--drop-nodes": NUMBERS,
    "--unknown-nodes": ("error", "drop", "drop", "x"),
    "--text": ("label", "age", "x"),
    "--log": ("csv", "tensorboard", "x"),
    "--workers": ("1", "0", "x"),
    "--metric": ("accuracy", "balanced_accuracy", "macro_f1", "micro_f1", "roc_auc", "average_precision", "loss", "x"),
    "--features": ("auto", "bag", "unit", "row", "standard", "none", "x"),
    "--split": ("given", "0", "1", "random:1", "random:5", "random:100", "random:" + "9" * 40, "-1", "x", "planetoid"),
    "--mix": (
        "gcn:symmetric:0,1",
        "sage:in:1",
        "gcn:out:2",
        "sage:walk:9999999999",
        "gcn:row:0,0",
        "x",
        "gcn:symmetric:",
    ),
    "--label": ("label", "age", "id", "split", "x"),
    "--one-hot": ("label", "age", "id", "x"),
    "--ignore": ("label", "age", "id", "split", "size", "x"),
    "--device": ("cpu", "cuda", "mps", "x"),
    "--config": ("absent.yaml", ".", "/dev/null", "/dev/zero"),
    "--feature-table": ("absent.csv", ".", "/dev/zero"),
}
FLAGS = ("--balance", "--refit", "--no-bias", "--bias", "--intermediate", "--multilabel", "--json", "--resume")


def commands(draw: Random, folder: Path, fixtures: Path) -> list[str]:
    kind = draw.choices(["train", "baseline", "use", "reproduce", "noise"], [10, 3, 6, 1, 2])[0]
    if kind == "train":
        return train(draw, fixtures)
    if kind == "baseline":
        model = draw.choice(BASELINES)
        given = [
            x
            for _ in range(draw.randrange(3))
            for x in ("--set", f"{draw.choice(SETTINGS)}={draw.choice((*NUMBERS[:-2], word(draw)))}")
        ]
        if model in ("sage-lstm", "sage-pool", "planetoid", "semiemb"):
            given = ["--set", "steps=20", *given]  # a long training is no hang
        if model == "planetoid":
            given = ["--set", "pretraining=5", "--set", "contexts=100", *given]
        return ["train", *tables(fixtures), "--model", model, *clean(given), "--out", "run"]
    if kind == "use":
        return clean(use(draw, fixtures))
    if kind == "reproduce":
        what = draw.choice(["table2", "all", "x", "tsne", "attention"])
        more = [draw.choice(["--seeds", "--jobs", "--datasets"]), draw.choice((*NUMBERS, "cora", ",", "x,y"))]
        return clean(["reproduce", what, "--dry-run", *more, "--results", draw.choice(["r", ".", "a/b"])])
    verbs = [
        "train",
        "evaluate",
        "predict",
        "explain",
        "report",
        "export",
        "reproduce",
        "datasets",
        "build",
        "inspect",
        "tune",
        "x",
        "",
    ]
    verb, words = draw.choice(verbs), ("--help", "--out", "-x", "cora")
    given = [draw.choice([word(draw), *words]) for _ in range(draw.randrange(4))]
    return clean([verb, *given, *(["--minutes", "0.01"] if verb == "tune" else [])])  # a long search is no hang


def tables(fixtures: Path, name: str = "nodes") -> list[str]:
    return ["--nodes", str(fixtures / f"tables/{name}.csv"), "--edges", str(fixtures / "tables/edges.csv")]


def train(draw: Random, fixtures: Path) -> list[str]:
    several = draw.random() < 0.2
    given = [*tables(fixtures, "several" if several else "nodes"), *(["--multilabel"] if several else [])]
    given += ["--model", draw.choice(MODELS)] if draw.random() < 0.8 else []
    given += ["--steps", draw.choice(["1", "2", "3", "12"]) if draw.random() < 0.95 else draw.choice(["0", "-1", "a"])]
    for option in draw.sample(sorted(CHOICES), draw.choice([0, 1, 1, 2, 3, 5])):
        value = draw.choice(CHOICES[option]) if draw.random() < 0.95 else word(draw)
        given += [option, value]
    for flag in FLAGS:
        given += [flag] if draw.random() < 0.08 else []
    return clean(["train", *given, "--out", draw.choice(["run", "run", "run", "a/b", ".", "é"])])


def use(draw: Random, fixtures: Path) -> list[str]:
    run = str(fixtures / "runs" / draw.choice([*RUNS, "stopped", "absent"]))
    verb = draw.choice(["predict", "predict", "evaluate", "explain", "export", "report"])
    more = {
        "predict": [draw.choice(["--coverage", "--threshold"]), draw.choice(NUMBERS)],
        "evaluate": draw.choice([[], [str(fixtures / "arrays/bare.npz")], ["cora"], tables(fixtures)[1:]]),
        "explain": [
            "--node",
            draw.choice(["n1", "1", "x", "", word(draw)]),
            *draw.choice([[], ["--class", draw.choice(["red", "x", word(draw)])]]),
        ],
        "export": ["--format", draw.choice(["torch", "torch", "onnx", "x"])],
        "report": ["--explain", draw.choice(["0", "1", "-1", "a"])],
    }[verb]
    more = more if verb != "predict" or draw.random() < 0.7 else []
    out = draw.choice(["p.csv", "p.tsv", "p.json", "p.parquet", "p.xml", "a/p.csv", ".", "/dev/full", "x.html"])
    outs = {
        "predict": ["--out", out, "--all"],
        "export": ["--out", draw.choice(["x", "/dev/null/x"])],
        "report": ["--out", draw.choice(["r.html", out])],
    }
    return [verb, run, *more, *outs.get(verb, [])]


def clean(arguments: list[str]) -> list[str]:
    """As a shell could pass them: no null bytes."""
    return [each.replace("\x00", "") for each in arguments]
