"""Options that say what is chosen: --metric, --balance, --refit, --mix, --split; and warnings about the result."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import Result

from ngcn import Run

Ngcn = Callable[..., Result]
QUICK = ("train", "cora", "--model", "gcn", "--steps", "12")


def write(folder: str, labels: np.ndarray, features: np.ndarray, edges: np.ndarray) -> None:
    """Two tables; ``edges`` are pairs of row numbers, from source to target."""
    ids = np.array([f"n{i}" for i in range(len(labels))])
    nodes = pd.DataFrame({"id": ids, "label": labels, **{f"x{j}": column for j, column in enumerate(features.T)}})
    Path(folder).mkdir()
    nodes.to_csv(f"{folder}/nodes.csv", index=False)
    pd.DataFrame({"source": ids[edges[:, 0]], "target": ids[edges[:, 1]]}).to_csv(f"{folder}/edges.csv", index=False)


def pairs(random: np.random.Generator, nodes: int) -> np.ndarray:
    """Two edges per node, between random nodes."""
    drawn = random.integers(0, nodes, (2 * nodes, 2))
    return drawn[drawn[:, 0] != drawn[:, 1]]


def history(run: str) -> list[float]:
    """The validation score of every step."""
    return [float(row["val"]) for row in csv.DictReader(Path(run, "seed-0/metrics.csv").read_text().splitlines())]


@pytest.mark.parametrize("metric", ["macro_f1", "roc_auc", "loss"])
def test_the_metric_selects_the_step_and_the_seed(ngcn: Ngcn, metric: str) -> None:
    answer = json.loads(ngcn(*QUICK, "--metric", metric, "--seeds", "2", "--out", "run", "--json").stdout)
    assert answer["metric"] == answer["config"]["metric"] == metric
    best = min if metric == "loss" else max
    steps = history("run")
    assert answer["runs"][0]["best_step"] == 1 + steps.index(best(steps))
    run = Run.open("run")
    assert run.best_seed == best(run.seeds, key=lambda seed: run.scores(seed)["val_scores"][metric])
    for seed, row in zip(run.seeds, answer["runs"], strict=True):
        assert (row["val"], row["test"]) == tuple(
            run.scores(seed)[f"{split}_scores"][metric] for split in ("val", "test")
        )
    shown = " ".join(ngcn("evaluate", "run").stdout.split())
    title, value = {"macro_f1": "Macro-F1", "roc_auc": "ROC-AUC", "loss": "Loss"}[metric], answer["runs"][0]["val"]
    assert f"│ 0 │ {title} │ {f'{value:.3f}' if metric == 'loss' else f'{100 * value:.2f} %'} │" in shown


def test_unknown_and_undefined_metrics(ngcn: Ngcn) -> None:
    wrong = ngcn(*QUICK, "--metric", "auc")
    assert wrong.exit_code == 2 and "metric must be one of accuracy, balanced_accuracy, macro_f1" in wrong.stderr
    random, labels = np.random.default_rng(0), np.array(["a", "b"] * 10)
    write("g", labels, random.normal(size=(20, 2)), pairs(random, 20))
    nodes = pd.read_csv("g/nodes.csv").assign(split=["train"] * 10 + ["val", "test"] * 5)  # all a are validation nodes
    nodes.to_csv("g/nodes.csv", index=False)
    result = ngcn("train", "g", "--metric", "roc_auc")
    assert result.exit_code == 2 and "roc_auc needs a class that some validation nodes have" in result.stderr
    assert "choose another --metric" in result.stderr or "choose another metric" in result.stderr


def test_balance_finds_more_of_a_rare_class(ngcn: Ngcn) -> None:
    random, rare = np.random.default_rng(0), np.arange(600) % 10 == 0
    features = random.normal(size=(600, 3)) + rare[:, None]
    write("g", np.where(rare, "rare", "usual"), features, pairs(random, 600))
    found = {}
    for how in ("--no-balance", "--balance"):
        assert ngcn("train", "g", how, "--steps", "60", "--out", f"run{how}").exit_code == 0
        assert ngcn("predict", f"run{how}", "--all", "--out", "x.csv").exit_code == 0
        found[how] = (
            Run.open(f"run{how}").scores(0)["test_scores"],
            pd.read_csv("x.csv")["prediction"].eq("rare").mean(),
        )
    (plain, few), (balanced, more) = found.values()
    assert balanced["balanced_accuracy"] > plain["balanced_accuracy"] + 0.1 and more > 2 * few
    assert balanced["accuracy"] < plain["accuracy"]  # the price


def test_balance_needs_one_label_per_node(ngcn: Ngcn) -> None:
    random = np.random.default_rng(0)
    write("g", np.array(["a|b", "b", "a", "|"] * 10), random.normal(size=(40, 2)), pairs(random, 40))
    result = ngcn("train", "g", "--multilabel", "--balance", "--steps", "2")
    assert result.exit_code == 2 and "balance needs one label per node, but these are multi-label." in result.stderr


def test_refit_trains_again_with_the_validation_nodes(ngcn: Ngcn) -> None:
    for out, more in (("once", ()), ("again", ("--refit",))):
        assert ngcn("train", "cora", "--steps", "15", *more, "--out", out).exit_code == 0
    once, again = Run.open("once"), Run.open("again")
    for name in ("val_scores", "best_step", "towers", "scale_weights"):  # the first training counts
        assert again.scores(0)[name] == once.scores(0)[name]
    graph = again.graph()
    first, second = once.model(), again.model()
    assert second.evaluate(graph, "val")["val"]["loss"] < 0.8 * first.evaluate(graph, "val")["val"]["loss"]
    assert again.scores(0)["test_scores"] != once.scores(0)["test_scores"]
    assert second.network.calibration.slope.tolist() == first.network.calibration.slope.tolist()
    assert not list(Path("again/seed-0").glob("*refit*")) and not list(Path("again/seed-0").glob("checkpoint*"))


def test_a_refitted_run_can_be_evaluated(ngcn: Ngcn) -> None:
    assert ngcn(*QUICK, "--refit", "--out", "run").exit_code == 0
    result = ngcn("evaluate", "run")
    assert result.exit_code == 0 and "The weights give the scores of run/result.json." in result.stdout


@pytest.mark.parametrize("recipe", ["paper", "kipf"])
def test_refit_needs_a_recipe_that_chooses(ngcn: Ngcn, recipe: str) -> None:
    result = ngcn(*QUICK, "--recipe", recipe, "--refit", "--out", "run")
    assert (
        result.exit_code == 2
        and "recipe that keeps the best step: independent, standard, consistency." in result.stderr
    )
    assert not Path("run/seed-0/checkpoint.safetensors").exists()  # said before training, not after it


@pytest.fixture
def one_way(ngcn: Ngcn) -> str:
    """Every node has one edge in and one edge out, and the class of the node that its edge comes from."""
    random = np.random.default_rng(0)
    ring = random.permutation(300)
    edges, own = np.stack([ring, np.roll(ring, -1)], axis=1), random.integers(0, 2, 300)
    labels = np.empty(300, dtype=object)
    labels[edges[:, 1]] = np.where(own[edges[:, 0]], "on", "off")
    write("g", labels, np.stack([own, random.normal(size=300)], axis=1), edges)
    return "g"


def test_mix_chooses_towers_on_the_directions_of_edges(ngcn: Ngcn, one_way: str) -> None:
    mixes = {"in": ["sage:in:1"], "out": ["sage:out:1"], "both": ["gcn:symmetric:0,1", "sage:in:1", "sage:out:1"]}
    answers = {}
    for name, mix in mixes.items():
        options = [option for part in mix for option in ("--mix", part)]
        result = ngcn("train", one_way, *options, "--steps", "100", "--out", name, "--json")
        assert result.exit_code == 0, result.output
        answers[name] = json.loads(result.stdout)
        assert answers[name]["config"]["mix"] == mix
    assert answers["in"]["test_mean"] > 0.95 and answers["out"]["test_mean"] < 0.8
    towers = {row["towers"]: row["weight"] for row in answers["both"]["towers"]}
    assert list(towers) == ["features", "GCN Â^1", "SAGE P_in^1", "SAGE P_out^1"]
    assert towers["SAGE P_in^1"] > 0.8 and answers["both"]["test_mean"] > 0.95
    assert ngcn("evaluate", "both").exit_code == 0
    assert "SAGE P_in^1" in ngcn("explain", "both", "--node", "n0").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--mix", "gat:symmetric:1"], "mix must be a list of MODEL:OPERATOR:POWERS, such as gcn:symmetric:0,1,2"),
        (["--mix", "sage:in:1", "--mix", "sage:in:1"], "mix must be a list of different parts"),
        (["--model", "ngcn", "--mix", "sage:in:1"], "mix is for the model mixed, and ngcn has towers of one kind."),
        (["--powers", "3"], "The powers of a mixed network are those of its parts; set them with --mix"),
        (
            ["--classifier", "fc"],
            "The recipe independent sets the weights of towers; its classifier must be attention.",
        ),
        (["--intermediate"], "The recipe independent has a loss for every tower already; leave"),
    ],
)
def test_what_does_not_fit_a_mixed_network(ngcn: Ngcn, options: list[str], message: str) -> None:
    result = ngcn("train", "cora", *options)
    assert result.exit_code == 2 and message in result.stderr.splitlines()[-1], result.output
    assert not Path("runs").exists() or not any(Path("runs").iterdir())


def test_one_of_several_splits_in_the_data(ngcn: Ngcn) -> None:
    random, labels = np.random.default_rng(0), np.arange(60) % 2
    masks = np.stack([np.roll(np.arange(60) < 20, 20 * i) for i in range(3)])
    arrays = {f"{name}_masks": np.roll(masks, i, axis=0) for i, name in enumerate(("train", "val", "test"))}
    features = random.normal(size=(60, 2)) + labels[:, None]
    np.savez("g.npz", edges=pairs(random, 60), node_features=features, node_labels=labels, **arrays)
    result = ngcn("train", "g.npz", "--model", "gcn", "--steps", "2", "--out", "first")
    assert result.exit_code == 0 and "g has 3 splits: the first, 0, is used; --split N uses another" in result.stderr
    assert ngcn("train", "g.npz", "--model", "gcn", "--steps", "2", "--split", "2", "--out", "last").exit_code == 0
    for run, split in (("first", 0), ("last", 2)):
        graph = Run.open(run).graph()
        for name, masks in arrays.items():
            np.testing.assert_array_equal(getattr(graph, name.removesuffix("_masks")), masks[split])
        assert ngcn("evaluate", run).exit_code == 0
    result = ngcn("train", "g.npz", "--split", "3")
    assert result.exit_code == 2 and "g has 3 splits, numbered 0 to 2, so there is no split 3" in result.stderr


def test_no_bias(ngcn: Ngcn) -> None:
    for out, more in (("with", ()), ("without", ("--no-bias",))):
        assert ngcn(*QUICK, *more, "--out", out).exit_code == 0
    names = {out: [name for name, _ in Run.open(out).model().network.named_parameters()] for out in ("with", "without")}
    assert any("bias" in name for name in names["with"]) and not any("bias" in name for name in names["without"])


NOTHING = "The model has learned nothing: its accuracy on the validation nodes"


def test_a_model_of_random_labels_says_that_it_has_learned_nothing(ngcn: Ngcn) -> None:
    random = np.random.default_rng(0)
    labels = random.choice(["usual", "rare"], 800, p=[0.8, 0.2])
    write("g", labels, random.normal(size=(800, 4)), pairs(random, 800))
    for more in ((), ("--json",)):
        result = ngcn("train", "g", "--out", f"run{len(more)}", *more)
        assert result.exit_code == 0 and NOTHING in result.stderr, result.stderr
        assert "more labels or --balance may help." in result.stderr


def test_a_class_of_80_percent_hides_what_a_model_has_learned(ngcn: Ngcn) -> None:
    random, rare = np.random.default_rng(0), np.arange(800) % 5 == 0
    features = random.normal(size=(800, 2)) + 0.3 * rare[:, None]
    write("g", np.where(rare, "rare", "usual"), features, pairs(random, 800))
    result = ngcn("train", "g")
    assert result.exit_code == 0 and NOTHING not in result.stderr
    assert (
        "The model hardly predicts more than one class: its accuracy on the validation nodes, 80.0 %" in result.stderr
    )
    assert "it ranks nodes well (ROC-AUC " in result.stderr
    assert "use its probabilities, or train with --metric roc_auc or --balance." in result.stderr


def test_a_model_that_is_worse_than_the_features_alone_says_so(ngcn: Ngcn) -> None:
    random, labels = np.random.default_rng(0), np.arange(400) % 2
    write("g", labels, random.normal(size=(400, 2)) + 3 * labels[:, None], pairs(random, 400))
    result = ngcn("train", "g", "--model", "gcn", "--powers", "4,")
    assert result.exit_code == 0 and "Logistic regression on the features alone does better" in result.stderr
    assert "The edges may mislead the model; --model mlp ignores them." in result.stderr
    assert "does better" not in ngcn("train", "g").stderr  # the default has a tower for the features


def test_a_model_that_is_worse_than_the_edges_alone_says_so(ngcn: Ngcn) -> None:
    """Neighbours are nearly always of the same class, and the features are noise."""
    random = np.random.default_rng(0)
    labels = random.integers(5, size=400)
    order = np.argsort(labels, kind="stable")
    near = np.stack([np.tile(order, 2), np.r_[np.roll(order, 1), np.roll(order, 2)]], axis=1)
    write("g", labels, random.normal(size=(400, 8)), near)
    result = ngcn("train", "g", "--model", "mlp")
    assert result.exit_code == 0 and "Label propagation, which sees the edges alone, does better" in result.stderr
    assert "The features may tell little about the labels; --model lp ignores them." in result.stderr
    assert "does better" not in ngcn("train", "g", "--model", "lp").stderr


def test_a_good_model_says_nothing(ngcn: Ngcn) -> None:
    result = ngcn("train", "cora", "--steps", "60")
    assert result.exit_code == 0 and result.stderr.count("\n") == 2  # facts about the graph
