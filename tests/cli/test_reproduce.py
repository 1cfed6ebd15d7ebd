"""`ngcn reproduce`: dry runs, training, drawing, errors."""

import os
import re
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import Result

from ngcn import Config
from ngcn.data.catalog import DATASETS as CATALOG
from ngcn.experiments import Setup, Store, table2
from ngcn.experiments.cell import Plan

from .conftest import Process
from .test_interrupt import wait_for

CORA = ("reproduce", "table2", "--datasets", "cora")


@pytest.fixture
def only_fast_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of two rows, which trains in a second."""
    monkeypatch.setattr(table2, "models", lambda dataset, plan: ["lp", "gcn"])
    monkeypatch.setattr(
        table2, "configurations", lambda model, *_: [Setup(Config(model=model, **STEPS.get(model, {})))]
    )


STEPS = {"lp": {}, "gcn": {"steps": 5}}


def test_a_dry_run_counts_and_writes_nothing(ngcn: Callable[..., Result], tmp_path: Path) -> None:
    result = ngcn("reproduce", "all", "--dry-run")
    assert result.exit_code == 0
    assert "table3: 280 trainings, 280 missing: " in result.stdout
    assert "Total, without duplicates: 8227 trainings, 8227 missing: " in result.stdout
    cores = len(os.sched_getaffinity(0))
    many = ngcn("reproduce", "all", "--dry-run", "--jobs", str(10 * cores))
    assert many.stdout == result.stdout and re.search(rf" on {cores} cores? \(estimated\)", many.stdout)
    assert not list(tmp_path.iterdir())


def test_several_experiments_are_listed_in_the_order_of_the_paper(ngcn: Callable[..., Result]) -> None:
    shown = ngcn("reproduce", "noise", "table4", "noise", "--seeds", "1", "--dry-run").stdout
    assert [line.split(":")[0] for line in shown.splitlines()] == ["table4", "noise", "Total, without duplicates"]


@pytest.mark.usefixtures("only_fast_rows")
def test_missing_cells_are_trained_and_shown_next_to_the_paper(ngcn: Callable[..., Result], tmp_path: Path) -> None:
    result = ngcn(*CORA, "--seeds", "2", "--jobs", "1")
    assert result.exit_code == 0
    assert "3 trainings, 3 missing: " in result.stderr
    row = next(line for line in result.stdout.splitlines() if line.startswith("LP "))
    outcome = Store(tmp_path / "results").get(table2.cells(Plan(("cora",), 2))[0])
    assert row.split()[1:4] == ["68.0", f"{100 * outcome['test']:.1f}", "+5.4"]
    assert "Results: results.md" in result.stdout
    assert "| LP | 68.0 |" in (tmp_path / "results.md").read_text(encoding="utf-8")

    again = ngcn(*CORA, "--seeds", "2", "--jobs", "1")
    assert again.exit_code == 0
    assert "missing" not in again.stderr
    assert again.stdout == result.stdout


@pytest.mark.usefixtures("only_fast_rows")
def test_drawing_trains_nothing(ngcn: Callable[..., Result], tmp_path: Path) -> None:
    cell = table2.cells(Plan(("cora",)))[0]
    Store(tmp_path / "results").put(cell, {"val": 0.8, "test": 0.81, "seconds": 1.0, "version": "0"})
    result = ngcn(*CORA, "--draw")
    assert result.exit_code == 0
    assert "1 of 21 trainings" in result.stdout
    assert len(list((tmp_path / "results" / "cells").iterdir())) == 1


@pytest.mark.parametrize(("results", "page"), [(".", "../kept.md"), ("..", "../../above.md")])
def test_the_page_is_next_to_the_folder_for_every_spelling_of_its_path(
    ngcn: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: str, page: str
) -> None:
    here = tmp_path / "above" / "kept"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    cell = table2.cells(Plan(("cora",)))[0]
    Store(here / results).put(cell, {"val": 0.8, "test": 0.81, "seconds": 1.0, "version": "0"})
    assert ngcn(*CORA, "--draw", "--results", results).exit_code == 0
    assert f"({(here / page).resolve().stem}/summary.jsonl)" in (here / page).read_text(encoding="utf-8")


def test_a_folder_in_place_of_the_page_raises_an_error_before_training(
    ngcn: Callable[..., Result], tmp_path: Path
) -> None:
    (tmp_path / "results.md").mkdir()
    result = ngcn(*CORA, "--seeds", "1", "--jobs", "1")
    assert result.exit_code == 2
    assert "results.md, which is a folder; choose another --results" in result.stderr


def test_claims_are_shown_if_they_can_be_judged(ngcn: Callable[..., Result], tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    for model, test in (("ngcn", 0.82), ("gcn", 0.81)):
        cell = table2.groups(model, "cora", Plan(("cora",)))[0][0]
        store.put(cell, {"val": 0.8, "test": test, "seconds": 1.0, "version": "0"})
    shown = ngcn(*CORA, "--draw").stdout
    assert "held so far: N-GCN beats GCN on Cora (Table 2)." in shown
    assert "N-SAGE beats SAGE" not in shown


def test_deepwalk_is_skipped_without_gensim(ngcn: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngcn.cli.reproduce.find_spec", lambda name: None)
    result = ngcn(*CORA, "--seeds", "1", "--dry-run")
    assert "DeepWalk is skipped: it needs gensim" in result.stderr
    for line in (
        r"table2: (\d+) trainings, (\d+) missing",
        r"Total, without duplicates: (\d+) trainings, (\d+) missing",
    ):
        total, missing = map(int, re.search(line, result.stdout).groups())
        assert missing == total - 1


def test_a_failed_cell_is_named(ngcn: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table2, "models", lambda dataset, plan: ["gcn"])
    monkeypatch.setattr(table2, "configurations", lambda *_: [Setup(Config(model="gcn", steps=5, lr=1e30))])
    result = ngcn(*CORA, "--seeds", "1", "--jobs", "1")
    assert result.exit_code == 1
    assert "cora-gcn-seed0" in result.stderr and "failed: The loss became" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce", "table5"), "There is no experiment 'table5'; choose from table2, table3"),
        (("reproduce", "table2", "--datasets", "coar"), "There is no dataset 'coar' in the paper; choose from"),
        (("reproduce", "table2", "--datasets", "ppi"), "ppi cannot be downloaded: 127.0.0.1 cannot be reached"),
        (("reproduce", "table2", "--datasets", "ppi-rebuilt"), "ppi-rebuilt cannot be downloaded: put topology.npz"),
        (("reproduce", "table2", "--seeds", "0"), "--seeds"),
        (("reproduce", "table3", "--datasets", "Cora"), "No training of table3 uses cora; leave out --datasets"),
        (("reproduce", "table2", "--datasets", ","), "--datasets is empty; choose from citeseer, cora"),
        (("reproduce", "table2", "--draw"), "results has no results to draw; leave out --draw"),
        (("reproduce", "tsne", "--draw", "--results", "/proc/version"), "'/proc/version' is a file"),
        (("reproduce", "tsne", "--results", "/proc/none"), "Cannot create the folder /proc/none (No such file"),
        (("reproduce",), "WHAT"),
    ],
)
def test_user_errors_are_one_sentence(
    ngcn: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: tuple, message: str
) -> None:
    monkeypatch.delenv("NGCN_DATA", raising=False)
    monkeypatch.setenv("NGCN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setitem(CATALOG, "ppi", replace(CATALOG["ppi"], source="http://127.0.0.1:1/ppi.zip"))
    result = ngcn(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_prints_how_to_continue(
    start: Callable[..., Process], tmp_path: Path, how: signal.Signals
) -> None:
    process = start(*CORA, "--seeds", "1", "--jobs", "1")
    wait_for(lambda: len(list(tmp_path.glob("results/cells/*.json"))) > 0)
    process.send_signal(how)
    code, _, stderr = process.end()
    assert code == 128 + how
    assert stderr.splitlines()[-1] == f"Stopped by {how.name}; run the same command again to continue."
    store = Store(tmp_path / "results")
    store.refresh()
    assert len(store) > 0
