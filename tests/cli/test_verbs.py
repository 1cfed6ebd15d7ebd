import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from ngcn import Config, Run
from ngcn.graph import facts, load_dataset
from ngcn.text import METRICS

Ngcn = Callable[..., Result]
QUICK = ("train", "cora", "--model", "gcn", "--steps", "3")
RUN = "runs/cora-gcn"


def test_train_shows_scores_weights_and_the_run_folder(ngcn: Ngcn) -> None:
    result = ngcn("train", "cora", "--model", "ngcn", "--powers", "2", "--replicas", "1", "--steps", "3")
    assert result.exit_code == 0, result.output
    for part in ("N-GCN on cora: attention, K=2, r=1", "Validation", "Test", "Accuracy", "Â^0", "Â^1", "Best step: "):
        assert part in result.stdout
    assert "Run folder: runs/cora-ngcn-attention-K2-r1" in result.stdout
    assert Path("runs/cora-ngcn-attention-K2-r1/result.json").exists()


def test_the_default_shows_the_graph_all_scores_references_and_towers(ngcn: Ngcn) -> None:
    result = ngcn("train", "cora", "--steps", "20")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"{facts(load_dataset('cora'))}\n"  # two lines; no terminal, no progress bar
    assert result.stderr.count("\n") == 2
    shown = " ".join(result.stdout.split())
    assert shown.startswith("Mixed network on cora: 7 towers ")
    assert "┃ Validation ┃ Test ┃ Majority class ┃ Features alone ┃ Edges alone ┃" in shown
    run, references = Run.open("runs/cora-mixed"), json.loads(Path("runs/cora-mixed/references.json").read_text())
    scores = run.scores(0)
    assert list(references) == ["majority", "regression", "propagation"] and set(scores["test_scores"]) == set(METRICS)
    for name, title in METRICS.items():
        columns = [scores["val_scores"], scores["test_scores"], *(of["test"] for of in references.values())]
        cells = (f"{of[name]:.3f}" if name == "loss" else f"{100 * of[name]:.1f} %" for of in columns)
        assert f"│ {' │ '.join((title, *cells))} │" in shown
    assert "┃ Towers ┃ Accuracy, validation ┃ Weight ┃" in shown
    for tower in scores["towers"]:
        assert f"│ {tower['towers']} │ {100 * tower['val']:.1f} % │ {tower['weight']:.3f} │" in shown
    assert sum(tower["weight"] for tower in scores["towers"]) == pytest.approx(1)
    assert "Run folder: runs/cora-mixed" in result.stdout
    evaluation = ngcn("evaluate", "runs/cora-mixed")
    assert evaluation.exit_code == 0 and "no" not in evaluation.stdout.split()
    assert "The weights give the scores of runs/cora-mixed/result.json." in evaluation.stdout


def test_json_is_one_object_with_documented_keys(ngcn: Ngcn) -> None:
    result = ngcn(*QUICK, "--json")
    answer = json.loads(result.stdout)
    keys = (
        "dataset model config metric runs val_mean test_mean test_std test_at_best_val scale_weights references towers"
    )
    assert list(answer) == keys.split() and result.stderr.endswith(f"Run folder: {RUN}\n")
    assert "nodes, " not in result.stderr  # facts about the graph are for people
    assert list(answer["runs"][0]) == ["seed", "val", "test", "best_step", "seconds"]
    assert answer["config"] == Config(model="gcn", steps=3).to_dict()
    assert answer["scale_weights"] == [1.0] and answer["metric"] == "accuracy" and answer["towers"] is None
    assert answer["references"] == json.loads(Path(RUN, "references.json").read_text())
    assert answer == json.loads(Path(RUN, "result.json").read_text())
    fc = json.loads(ngcn("train", "cora", "--model", "ngcn", "--classifier", "fc", "--steps", "1", "--json").stdout)
    assert fc["scale_weights"] is None and fc["towers"] is None
    mixed = json.loads(ngcn("train", "cora", "--steps", "1", "--json").stdout)
    assert mixed["config"] == Config(steps=1).to_dict() and len(mixed["towers"]) == 7
    assert list(mixed["towers"][0]) == ["towers", "graph_model", "operator", "power", "val", "weight"]
    assert [row["weight"] for row in mixed["towers"]] == pytest.approx(mixed["scale_weights"])


def test_options_override_the_config_file(ngcn: Ngcn) -> None:
    Path("my.yaml").write_text("dataset: cora\nmodel: gcn\nsteps: 4\nhidden: 5\n")
    config = json.loads(ngcn("train", "--config", "my.yaml", "--steps", "2", "--json").stdout)["config"]
    assert (config["model"], config["steps"], config["hidden"], config["lr"]) == ("gcn", 2, 5, 0.01)


def test_powers_are_a_number_or_a_list(ngcn: Ngcn) -> None:
    def config(powers: str) -> list[int]:
        command = ("train", "cora", "--model", "ngcn", "--steps", "1", "--powers", powers, "--json")
        return json.loads(ngcn(*command).stdout)["config"]["powers"]

    assert config("3") == [0, 1, 2] and config("0,4") == [0, 4] and config("2,") == [2]


def test_a_second_run_gets_a_folder_of_its_own(ngcn: Ngcn) -> None:
    first, second = ngcn(*QUICK), ngcn(*QUICK)
    said = f"{RUN} exists already: this run is a new one, in {RUN}-2."
    assert said in second.stderr and "exists already" not in first.stderr
    assert {path.name for path in Path("runs").iterdir()} == {Path(RUN).name, Path(RUN).name + "-2"}


def test_resume_needs_the_folder_only(ngcn: Ngcn) -> None:
    first = ngcn(*QUICK, "--json")
    again = ngcn("train", "--resume", "--out", RUN, "--json")
    assert again.exit_code == 0 and json.loads(again.stdout) == json.loads(first.stdout)
    assert f"The run in {RUN} is finished already." in again.stderr
    assert json.loads(ngcn(*QUICK, "--resume", "--json").stdout) == json.loads(first.stdout)  # the folder's usual name
    again = ngcn("train", "--config", f"{RUN}/config.yaml", "--resume", "--out", RUN)
    warning = first.stderr.removesuffix(f"Run folder: {RUN}\n")  # three steps are too few
    assert warning.startswith("Label propagation, which sees the edges alone, does better")
    assert again.stderr == f"The run in {RUN} is finished already.\n{warning}"
    fresh = ngcn(*QUICK, "--resume", "--out", "new", "--json")
    assert fresh.exit_code == 0 and "There is no run in new yet; starting a new one." in fresh.stderr


def test_a_random_split_follows_the_seed(ngcn: Ngcn) -> None:
    scores = {
        json.loads(ngcn(*QUICK, "--steps", "8", "--split", "random:5", "--seed", seed, "--json").stdout)["test_mean"]
        for seed in ("0", "1", "2")
    }
    assert len(scores) > 1
    assert ngcn("evaluate", RUN + "-2").exit_code == 0


def test_evaluate_agrees_with_training_unless_the_weights_changed(ngcn: Ngcn) -> None:
    ngcn(*QUICK)
    result = ngcn("evaluate", RUN)
    assert result.exit_code == 0 and "yes" in result.stdout and "give the scores of" in result.stdout
    ngcn(*QUICK, "--seed", "1", "--out", "other")
    shutil.copy("other/seed-1/weights.safetensors", f"{RUN}/seed-0/weights.safetensors")
    result = ngcn("evaluate", RUN)
    assert result.exit_code == 2 and "weights.safetensors is damaged" in result.stderr
    scores = json.loads(Path(f"{RUN}/seed-0/result.json").read_text())
    scores["weights_sha256"] = json.loads(Path("other/seed-1/result.json").read_text())["weights_sha256"]
    Path(f"{RUN}/seed-0/result.json").write_text(json.dumps(scores))
    result = ngcn("evaluate", RUN)
    assert result.exit_code == 1 and "do not give the scores" in result.stdout


def test_predict_writes_every_node(ngcn: Ngcn) -> None:
    ngcn(*QUICK, "--steps", "20")
    result = ngcn("predict", RUN, "--out", "predictions.csv")
    assert result.exit_code == 0 and "2,708 predictions of seed 0 in predictions.csv" in result.stderr
    assert "All nodes of cora have labels, so all are predicted." in result.stderr
    graph = load_dataset("cora")
    assert graph.class_names is not None and graph.node_ids is not None
    rows = list(csv.DictReader(Path("predictions.csv").read_text().splitlines()))
    assert list(rows[0]) == ["id", "prediction", "confidence", *(f"p_{name}" for name in graph.class_names)]
    assert [row["id"] for row in rows] == [str(node) for node in graph.node_ids]
    p = np.array([[float(row[f"p_{name}"]) for name in graph.class_names] for row in rows])
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(p.max(axis=1), [float(row["confidence"]) for row in rows])
    predicted = np.array([graph.class_names.index(row["prediction"]) for row in rows])
    np.testing.assert_array_equal(predicted, p.argmax(axis=1))
    stored = json.loads(Path(RUN, "result.json").read_text())
    assert (predicted == graph.labels)[graph.test].mean() == pytest.approx(stored["test_mean"])


def test_datasets_lists_all_datasets(ngcn: Ngcn) -> None:
    result = ngcn("datasets")
    assert result.exit_code == 0
    for name in ("cora", "citeseer", "pubmed", "ppi", "ppi-rebuilt", "ppi-synthetic", "embedded"):
        assert name in result.stdout
    assert ngcn("datasets", "fetch", "cora").exit_code == 0


def test_divergence_is_reported_on_stderr_and_the_best_step_kept(ngcn: Ngcn) -> None:
    bad = (*QUICK, "--lr", "30000", "--features", "none", "--dropout", "0")
    result = ngcn(*bad, "--json")
    assert result.exit_code == 0 and json.loads(result.stdout)["runs"][0]["best_step"] == 1
    assert "The loss became" in result.stderr and "kept step 1" in result.stderr
    assert ngcn(*bad).stdout.count("kept step 1") == 1


def test_several_seeds_show_mean_and_standard_deviation(ngcn: Ngcn) -> None:
    result = ngcn(*QUICK, "--seeds", "2", "--threads", "2")
    assert result.exit_code == 0, result.output
    assert (
        "Accuracy, mean of 2 seeds" in result.stdout
        and " ± " in result.stdout
        and "Best validation: seed" in result.stdout
        and "s of training, summed over 2 seeds." in result.stdout
    )
    assert [run["seed"] for run in json.loads(Path(RUN, "result.json").read_text())["runs"]] == [0, 1]


def test_the_number_of_threads_changes_no_bit(ngcn: Ngcn) -> None:
    for model in ("mixed", "ngcn"):
        for threads in ("1", "2"):
            small = ("--model", model, "--replicas", "2", "--steps", "5", "--threads", threads)
            assert ngcn("train", "cora", *small, "--out", f"{model}-{threads}").exit_code == 0
        for name in ("metrics.csv", "weights.safetensors"):
            first, second = (Path(f"{model}-{threads}/seed-0", name).read_bytes() for threads in ("1", "2"))
            assert first == second


def test_generated_data_are_announced(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    cora = load_dataset("cora")
    monkeypatch.setattr("ngcn.runs.run.load_dataset", lambda *_, **__: cora)
    result = ngcn("train", "ppi-synthetic", "--model", "gcn", "--steps", "1")
    assert result.exit_code == 0 and "its scores are not PPI results" in result.stderr
