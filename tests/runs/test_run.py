import csv
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import ngcn
from ngcn import Config, Run, RunError, Step, train, train_seeds
from ngcn.files import atomic
from ngcn.graph import Graph, load_dataset
from ngcn.model import Card
from ngcn.runs import default_folder

SMALL = Config(model="ngcn", powers=2, replicas=1, hidden=4, steps=12)


def contents(folder: Path) -> dict[str, bytes]:
    """All files of a run but those that hold how long it took."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "result.json"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def stop_at(stop: int) -> object:
    def on_step(step: Step) -> None:
        if step.step == stop:
            raise KeyboardInterrupt

    return on_step


def test_layout_and_what_the_files_say(graph: Graph, tmp_path: Path) -> None:
    result = train(graph, SMALL, folder=tmp_path / "run")
    run = tmp_path / "run"
    files = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    seed = {f"seed-0/{name}" for name in ("weights.safetensors", "metrics.csv", "result.json")}
    assert files == {"config.yaml", "graph.json", "result.json", *seed}
    assert Config.from_file(run / "config.yaml") == replace(SMALL, dataset="crowds")
    rows = list(csv.DictReader((run / "seed-0" / "metrics.csv").read_text().splitlines()))
    assert [int(row["step"]) for row in rows] == list(range(1, 13))
    assert [float(row["val"]) for row in rows] == result.history["val"]
    summary = json.loads((run / "result.json").read_text())
    assert summary["runs"][0]["test"] == summary["test_mean"] == summary["test_at_best_val"] == result.test
    assert summary["test_std"] == 0 and len(summary["scale_weights"]) == 2


def test_what_comes_from_disk_is_what_was_trained(graph: Graph, tmp_path: Path) -> None:
    stored, fresh = train(graph, SMALL, folder=tmp_path / "run"), train(graph, SMALL)
    assert (stored.history, stored.val_scores, stored.stopped) == (fresh.history, fresh.val_scores, fresh.stopped)
    for one, other in zip(stored.model.network.parameters(), fresh.model.network.parameters(), strict=True):
        assert torch.equal(one, other)


RESUMED = {
    "mixed": Config(hidden=4, steps=12, patience=11),
    "mixed-refit": Config(hidden=4, steps=12, patience=11, refit=True),
    "mixed-roc-auc": Config(hidden=4, steps=12, patience=3, metric="roc_auc", balance=True),
    "paper": Config(model="ngcn", recipe="paper", powers=2, replicas=1, hidden=4, steps=12, patience=11),
    "standard": Config(model="ngcn", powers=2, replicas=1, hidden=4, steps=12, patience=11),
    "cheby": Config(model="cheby", powers=2, hidden=4, steps=12, patience=11),
}


@pytest.mark.parametrize(
    ("name", "stop"),
    [*[(name, stop) for name in ("mixed", "standard", "paper") for stop in (1, 5, 12)]]
    + [(name, 5) for name in ("cheby", "mixed-refit", "mixed-roc-auc")],
)
def test_resume_ends_with_the_same_bits(graph: Graph, tmp_path: Path, name: str, stop: int) -> None:
    config = RESUMED[name]
    train(graph, config, folder=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(graph, config, folder=tmp_path / "parts", on_step=stop_at(stop))
    assert (tmp_path / "parts" / "seed-0" / "checkpoint.safetensors").exists()
    train(graph, config, folder=tmp_path / "parts", resume=True)
    assert contents(tmp_path / "whole") == contents(tmp_path / "parts")


def test_resume_without_a_run_starts_one_and_with_a_finished_one_returns_it(graph: Graph, tmp_path: Path) -> None:
    first = train(graph, SMALL, folder=tmp_path / "run", resume=True)
    before = contents(tmp_path / "run")
    again = train(graph, SMALL, folder=tmp_path / "run", resume=True, on_step=stop_at(1))  # would stop if it trained
    assert repr(first) == repr(again) and before == contents(tmp_path / "run")


def test_a_run_is_never_overwritten_nor_continued_with_other_settings(graph: Graph, tmp_path: Path) -> None:
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(graph, SMALL, folder=run, on_step=stop_at(3))
    with pytest.raises(RunError, match="holds an unfinished run; continue it with `resume=True`"):
        train(graph, SMALL, folder=run)
    with pytest.raises(RunError, match=r"other settings.*: steps is 12, not 13; lr is 0\.01, not 0\.5\."):
        train(graph, replace(SMALL, steps=13, lr=0.5), folder=run, resume=True)
    train(graph, SMALL, folder=run, resume=True)
    with pytest.raises(RunError, match="holds a finished run"):
        train(graph, SMALL, folder=run)


def test_folders_that_are_something_else(graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("two years of work")
    with pytest.raises(RunError, match="holds other files and no run"):
        train(graph, SMALL, folder=tmp_path)
    with pytest.raises(RunError, match="is a file"):
        train(graph, SMALL, folder=tmp_path / "thesis.doc")
    with pytest.raises(RunError, match=r"no config\.yaml"):
        Run.open(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.doc"]


def test_bad_settings_leave_no_folder(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="intermediate"):
        train(graph, replace(SMALL, classifier="fc", intermediate=True), folder=tmp_path / "run")
    with pytest.raises(ValueError, match="intermediate"):
        train_seeds(graph, replace(SMALL, classifier="fc", intermediate=True), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("damage", [b"", b"nonsense" * 100])
def test_damaged_files_are_named(graph: Graph, tmp_path: Path, damage: bytes) -> None:
    run = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train(graph, SMALL, folder=run, on_step=stop_at(3))
    checkpoint = run / "seed-0" / "checkpoint.safetensors"
    checkpoint.write_bytes(damage)
    with pytest.raises(RunError, match=r"checkpoint\.safetensors is damaged"):
        train(graph, SMALL, folder=run, resume=True)
    checkpoint.unlink()
    train(graph, SMALL, folder=run, resume=True)
    (run / "seed-0" / "weights.safetensors").write_bytes(damage)
    with pytest.raises(RunError, match=r"weights\.safetensors is damaged"):
        Run.open(run).model(0)
    (run / "graph.json").write_bytes(damage)
    with pytest.raises(RunError, match=r"graph\.json is damaged"):
        _ = Run.open(run).card
    for text in (damage, b"{}", b"[]", b"3"):
        (run / "seed-0" / "result.json").write_bytes(text)
        with pytest.raises(RunError, match=r"result\.json is damaged"):
            Run.open(run).scores(0)


def test_weights_are_those_that_training_wrote(graph: Graph, tmp_path: Path) -> None:
    train(graph, SMALL, folder=tmp_path / "run")
    weights = tmp_path / "run/seed-0/weights.safetensors"
    assert weights.stat().st_mode & 0o044 == 0o044 & ~_umask()
    whole = weights.read_bytes()
    tampered = bytearray(whole)
    tampered[-1] ^= 1  # a bit of a number: still a safetensors file
    for bad in (bytes(tampered), whole[:-7], whole + b"\0"):
        weights.write_bytes(bad)
        with pytest.raises(RunError, match=r"weights\.safetensors is damaged"):
            Run.open(tmp_path / "run").model(0)
    weights.unlink()
    weights.mkdir()
    with pytest.raises(RunError, match=r"weights\.safetensors cannot be read: Is a directory"):
        Run.open(tmp_path / "run").model(0)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_run_knows_the_graph_it_was_trained_on(graph: Graph, tmp_path: Path) -> None:
    names = [f"word {number}" for number in range(12)]
    named = replace(graph, class_names=["left", "right"], feature_names=names, node_ids=np.arange(60) + 0.5)
    train(named, SMALL, folder=tmp_path / "run")
    known = Run.open(tmp_path / "run").card
    assert (known.class_names, known.feature_names) == (("left", "right"), tuple(names))
    assert (known.nodes, known.multilabel, known.version) == (60, False, ngcn.__version__)
    assert known.preparation.how == "unit" and known.fingerprint == named.fingerprint()
    train(named, Config(model="gcn", recipe="paper", steps=1), folder=tmp_path / "paper")
    assert Run.open(tmp_path / "paper").card.preparation.how == "bag"
    with pytest.raises(RunError, match="'crowds', a graph made in Python"):
        Run.open(tmp_path / "run").graph()


def test_features_of_other_graphs_are_standardised_like_those_trained_on(graph: Graph, tmp_path: Path) -> None:
    numbers = replace(graph, features=graph.features.toarray() * 1000 + 7)
    train(numbers, SMALL, folder=tmp_path / "run")
    run = Run.open(tmp_path / "run")
    assert run.card.preparation.how == "standard"
    X = run.model().inputs(numbers)[1].dense().numpy()
    seen = X[numbers.train]
    np.testing.assert_allclose([seen.mean(axis=0), seen.std(axis=0)], [np.zeros(12), np.ones(12)], atol=1e-5)
    other = replace(numbers, features=numbers.features + 1000)
    np.testing.assert_allclose(
        run.model().inputs(other)[1].dense(), X + 1000 / numbers.features[numbers.train].std(axis=0), rtol=1e-4
    )


def test_a_run_that_goes_on_needs_the_same_graph(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(graph, SMALL, folder=tmp_path / "run", on_step=stop_at(3))
    with pytest.raises(RunError, match="'crowds' has changed since"):
        train(replace(graph, labels=1 - graph.labels), SMALL, folder=tmp_path / "run", resume=True)


def test_runs_of_other_versions(tmp_path: Path) -> None:
    run = tmp_path / "run"
    cora = load_dataset("cora")
    train(cora, replace(SMALL, model="gcn", powers=None, classifier=None, steps=1), folder=run)
    known = Run.open(run).card
    text = (run / "graph.json").read_text()
    values = json.loads(text)
    del values["node_columns"]
    (run / "graph.json").write_text(json.dumps(values | {"format": 1}))  # that of 0.1.0
    assert Run.open(run).card.feature_names == known.feature_names
    (run / "graph.json").write_text(text.replace('"format": 2', '"format": 99').replace(ngcn.__version__, "9.9"))
    with pytest.raises(RunError, match=r"was written by ngcn 9\.9, .* upgrade ngcn"):
        _ = Run.open(run).card
    (run / "graph.json").unlink()  # 0.1.0 had none, and no checksum
    scores = json.loads((run / "seed-0/result.json").read_text())
    del scores["weights_sha256"]
    (run / "seed-0/result.json").write_text(json.dumps(scores))
    old = Run.open(run)
    assert old.card.class_names == known.class_names
    assert old.graph().fingerprint() == cora.fingerprint()
    assert old.model(0).predict(cora).shape == (2708,)


def test_weights_of_another_graph_raise_an_error(graph: Graph, multilabel_graph: Graph, tmp_path: Path) -> None:
    train(graph, SMALL, folder=tmp_path / "run")
    (tmp_path / "run/graph.json").unlink()
    Card.of(multilabel_graph, SMALL).save(tmp_path / "run/graph.json")
    with pytest.raises(RunError, match="does not belong to a N-GCN with these settings"):
        Run.open(tmp_path / "run").model(0)


def test_a_write_that_fails_leaves_the_previous_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(RuntimeError), atomic(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_a_place_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as told, atomic(tmp_path / "absent" / "file.json") as temporary:
        temporary.write_text("{}")
    assert told.value.filename == str(tmp_path / "absent" / "file.json")


def test_training_that_comes_to_nothing_leaves_what_was_there(graph: Graph, tmp_path: Path) -> None:
    hopeless = replace(SMALL, lr=1e38)
    with pytest.raises(ValueError, match="no step can be kept"):
        train(graph, hopeless, folder=tmp_path / "new")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / ".hidden").write_text("")
    with pytest.raises(ValueError, match="no step can be kept"):
        train_seeds(graph, replace(hopeless, dataset="crowds", seeds=2), tmp_path / "mine", threads=1)
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["mine", "mine/.hidden"]


@pytest.mark.parametrize("content", [None, "step,loss\n1,0.5\n", "step,loss,val_loss,val\n1,0.5,?,?\n"])
def test_damaged_metrics_are_named(graph: Graph, tmp_path: Path, content: str | None) -> None:
    train(graph, SMALL, folder=tmp_path / "run")
    path = tmp_path / "run" / "seed-0" / "metrics.csv"
    path.unlink()
    if content is not None:
        path.write_text(content)
    with pytest.raises(RunError, match=r"metrics\.csv is damaged or missing"):
        Run.open(tmp_path / "run").result(0)


def test_leftovers_of_a_killed_process_do_no_harm(graph: Graph, tmp_path: Path) -> None:
    run = tmp_path / "run"
    leftovers = [run / ".config.yaml.123.tmp", run / "seed-0" / ".metrics.csv.45.tmp"]
    train(graph, SMALL, folder=run)
    others = [run / ".notes.tmp", run / ".mine" / ".a.1.tmp"]  # what is not ours stays
    for path in (*leftovers, *others):
        path.parent.mkdir(exist_ok=True)
        path.write_text("half")
    train(graph, SMALL, folder=run, resume=True)
    assert not any(path.exists() for path in leftovers) and all(path.exists() for path in others)


def test_default_folders_are_numbered(in_folder: Path) -> None:
    base = Path("runs/cora-ngcn-attention-K2-r1")
    assert default_folder(SMALL, resume=True) == base
    assert [default_folder(SMALL) for _ in range(3)] == [base, Path(f"{base}-2"), Path(f"{base}-3")]
    assert default_folder(SMALL, resume=True) == Path(f"{base}-3")
    Path(f"{base}-2").rmdir()
    assert default_folder(SMALL, resume=True) == Path(f"{base}-3")
    assert default_folder(replace(SMALL, dataset="../my graph")).parent == Path("runs")


@pytest.mark.parametrize("place", ["sub/plain", "plain"])
def test_a_graph_from_files_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(place)
    folder.mkdir(parents=True)
    rows = "".join(f"{i},{'xy'[i % 2]},{i},{['train', 'val', 'test'][i // 2 % 3]}\n" for i in range(30))
    (folder / "nodes.csv").write_text(f"id,label,size,split\n{rows}")
    (folder / "edges.csv").write_text("source,target\n0,2\n1,3\n")
    for given in (place, folder):
        graph = load_dataset(given)
        run = tmp_path / f"run-{type(given).__name__}"
        train(graph, Config(model="gcn", steps=2), folder=run)
        monkeypatch.chdir("/")
        assert Run.open(run).graph().fingerprint() == graph.fingerprint()
        monkeypatch.chdir(tmp_path)
    masks = graph.train, graph.val, graph.test
    made = Graph(graph.adjacency, graph.features, graph.labels, *masks, name="plain")
    train(made, Config(model="gcn", steps=2), folder="made")
    with pytest.raises(RunError, match="a graph made in Python") if "/" in place else pytest.raises(RunError):
        Run.open("made").graph()
