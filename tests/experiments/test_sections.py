"""From outcomes to the paper's tables, claims and figures."""

import io

import numpy as np
import pytest
from rich.console import Console

from ngcn import Config
from ngcn.experiments import (
    EXPERIMENTS,
    Plan,
    Setup,
    Store,
    attention,
    cells_of,
    section_of,
    sensitivity,
    table2,
    table3,
    table4,
)
from ngcn.experiments.claims import verdicts
from ngcn.experiments.results_page import write_page
from ngcn.experiments.section import Figure, Runs, Table, chosen, paper_rule
from tests.experiments.conftest import SMALL, outcome_of


def runs(*scores):
    return Runs(Setup(Config()), [{"val": val, "test": test} for val, test in scores])


def test_the_papers_rule_takes_the_run_with_the_best_validation_score_of_all():
    assert paper_rule([runs((0.8, 0.7), (0.81, 0.6)), runs((0.805, 0.9))])["test"] == 0.6


def test_ties_are_broken_by_the_configuration_and_never_by_test_scores():
    weak, strong = runs((0.81, 0.9), (0.5, 0.9)), runs((0.81, 0.6), (0.8, 0.6))
    assert paper_rule([weak, strong])["test"] == paper_rule([strong, weak])["test"] == 0.6
    assert paper_rule([runs((0.8, 0.1), (0.8, 0.9))])["test"] == 0.1  # the first seed of a configuration


def test_the_mean_is_that_of_the_configuration_with_the_best_mean_validation_score():
    assert chosen([runs((0.9, 0.9), (0.1, 0.9)), runs((0.6, 0.2), (0.6, 0.4))]).test == pytest.approx(30)


def test_a_mean_of_few_seeds_is_not_chosen():
    three = runs((0.8, 0.7), (0.8, 0.7), (0.8, 0.7))
    assert chosen([three, runs((0.9, 0.6))]).test == pytest.approx(70)
    assert chosen([three, runs((0.9, 0.6), (0.9, 0.6))]).test == pytest.approx(60)


def test_table_2_is_the_whole_sweep():
    plan = Plan(("cora",))
    cells = table2.cells(plan)
    assert len({cell.key for cell in cells}) == len(cells)
    count = {model: sum(table2.row_of(cell) == model for cell in cells) for model in table2.PUBLISHED}
    assert count["ngcn"] == count["nsage"] == 3 * 5 * 3 * 20
    assert (count["gcn"], count["gcn-kipf"], count["dcnn"], count["lp"], count["sage-lstm"]) == (20, 10, 100, 1, 0)


def test_rebuilt_labels_stand_next_to_the_numbers_of_ppi(tmp_path):
    plan, store = Plan(("ppi-rebuilt",), seeds=1), Store(tmp_path)
    for experiment, rows in ((table2, 7), (table4, 2)):
        assert {cell.setup.config.dataset for cell in experiment.cells(plan)} == {"ppi-rebuilt"}
        table = experiment.parts(store, plan)[-1]
        assert len(table.rows) == rows * (1 if experiment is table2 else 3)
    assert table2.parts(store, plan)[-1].title == "PPI, rebuilt labels"
    assert [row[:2] for row in table2.parts(store, plan)[-1].rows][:2] == [
        ["SAGE-LSTM", "61.2"],
        ["SAGE (pooling)", "60.0"],
    ]
    assert table4.parts(store, plan)[-1].rows[0][:2] == ["PPI, rebuilt labels, GCN: published", "46.0"]


def test_splits_of_table_3_are_shared_by_the_models():
    cells = table3.cells(Plan())
    assert len(cells) == 7 * 4 * 10
    assert {(c.setup.config.split, c.seed) for c in cells} == {
        (f"random:{n}", s) for n in (5, 10, 20, 100) for s in range(10)
    }


def test_experiments_share_their_cells():
    separate = sum(len(experiment.cells(SMALL)) for experiment in EXPERIMENTS.values())
    assert len(cells_of(list(EXPERIMENTS), SMALL)) < separate


def test_every_table_is_full_if_all_cells_are_finished(made_up):
    for name in EXPERIMENTS:
        section = section_of(name, made_up, SMALL)
        assert section.done == section.cells > 0
        for part in section.parts:
            if isinstance(part, Table):
                assert "–" not in part.markdown()
                assert {len(row) for row in part.rows} == {len(part.header)}


def test_every_figure_of_a_table_is_whole_in_80_columns(made_up):
    tables = [
        part for name in EXPERIMENTS for part in section_of(name, made_up, SMALL).parts if isinstance(part, Table)
    ]
    for table in tables:
        console = Console(width=80, record=True, file=io.StringIO())
        console.print(table.shown())
        shown = console.export_text()
        assert "…" not in shown
        for name, *figures in table.rows:
            assert any(
                line.startswith(name) and all(f in line for f in figures if "±" in f) for line in shown.splitlines()
            )


def test_the_figures_of_a_table_are_those_of_the_store(made_up):
    citeseer = table2.parts(made_up, SMALL)[1]
    row = {name: rest for name, *rest in citeseer.rows}["GCN"]
    group = Runs.of(made_up, table2.groups("gcn", "citeseer", SMALL)[0])
    assert row[:2] == ["71.2", f"{100 * group.best['test']:.1f}"]
    assert row[3] == f"{group.test:.1f} ± {group.std:.1f}"
    assert row[-1] == "2"


def test_an_empty_store_gives_empty_tables(tmp_path):
    for name in EXPERIMENTS:
        assert section_of(name, Store(tmp_path), SMALL).done == 0
    assert [verdict.word for verdict in verdicts(Store(tmp_path), SMALL)] == ["unknown"] * 7


def test_claims_are_judged_by_the_outcomes(made_up, tmp_path):
    assert [verdict.word for verdict in verdicts(made_up, SMALL)] == ["held so far"] * 7  # of two seeds
    worse = Store(tmp_path)
    for cell in cells_of(["table2", "table3"], SMALL):
        config = cell.setup.config
        bad = (config.model, config.dataset) == ("ngcn", "pubmed") or (config.model, config.split) == (
            "nsage",
            "random:5",
        )
        worse.put(cell, {**made_up.get(cell), **({"test": 0.1} if bad else {})})
    worse.refresh()
    assert [verdict.held for verdict in verdicts(worse, SMALL)] == [False, True, False, None, None, None, None]


@pytest.mark.parametrize(
    ("claim", "spoils", "figure"),
    [
        ("sensitivity", lambda c: c.config.model == "nsage" and len(c.config.powers) > 1, "test"),  # walks are worse
        ("noise", lambda c: c.config.model == "dcnn" and c.removed == 0.9, "test"),  # one walker gives way
        ("noise", lambda c: c.config.model in ("gcn", "sage") and c.removed == 0, "test"),  # the gap shrinks
        ("attention", lambda c: c.removed == 0.5, "scale_weights"),
    ],
)
def test_each_claim_can_fail(made_up, tmp_path, claim, spoils, figure):
    store = Store(tmp_path)
    for cell in EXPERIMENTS[claim].cells(SMALL):
        bad = {"test": 0.1, "scale_weights": [1.0, 0, 0, 0, 0, 0]}[figure]
        store.put(cell, {**made_up.get(cell), **({figure: bad} if spoils(cell.setup) else {})})
    store.refresh()
    held = {verdict.experiment: verdict.held for verdict in verdicts(store, SMALL)}
    assert held[claim] is False


def test_depth_may_not_help_one_of_the_models_throughout(tmp_path):
    """GCN does worse with depth everywhere; SAGE better, everywhere or everywhere but on Cora."""
    for exception in ("", "cora"):
        store = Store(tmp_path / f"but {exception}")
        for cell in table4.cells(SMALL):
            config = cell.setup.config
            helps = config.model == "sage" and config.dataset != exception
            store.put(cell, {"val": 0.8, "test": 0.8 + 0.01 * config.layers * (1 if helps else -1)})
        store.refresh()
        assert verdicts(store, SMALL)[-1].held == bool(exception)


def test_a_verdict_is_final_if_all_its_cells_are_finished(tmp_path):
    store, plan = Store(tmp_path), Plan()
    last, *others = [cell for cell in table2.cells(plan) if table2.row_of(cell) in ("gcn", "ngcn")]
    for cell in others:
        test = 0.82 if cell.setup.config.model == "ngcn" else 0.81
        store.put(cell, {"val": 0.8, "test": test, "scale_weights": [1.0]})
    store.refresh()
    assert verdicts(store, plan)[0].word == "held so far"
    store.put(last, {"val": 0.8, "test": 0.8, "scale_weights": [1.0]})
    store.refresh()
    assert verdicts(store, plan)[0].word == "held"
    assert "beats GCN on Cora (Table 2)" in verdicts(store, Plan(("cora",)))[0].claim


def test_a_verdict_on_one_dataset_is_final_if_the_paper_has_no_other(tmp_path):
    store, plan = Store(tmp_path), Plan(("cora",))
    for cell in attention.cells(plan):
        store.put(cell, outcome_of(cell, 0))
    store.refresh()
    of_attention = {verdict.experiment: verdict for verdict in verdicts(store, plan)}["attention"]
    assert of_attention.word == "held"


def test_a_point_is_drawn_if_half_of_its_seeds_are_finished(tmp_path):
    store, plan = Store(tmp_path), Plan()
    group = sensitivity.groups("ngcn", "cora", 2, 1, plan)[0]
    for done in (9, 10):
        for cell in group[:done]:
            store.put(cell, {"val": 0.8, "test": 0.8})
        store.refresh()
        runs = sensitivity.runs_at(store, "ngcn", "cora", 2, 1, plan)
        assert (runs and len(runs)) == (None if done == 9 else 10)


def test_nothing_is_claimed_of_datasets_that_an_experiment_does_not_have(made_up):
    walks = verdicts(made_up, Plan(("ppi",)))[3]
    assert (walks.word, walks.evidence) == ("unknown", "run `ngcn reproduce sensitivity`")


def test_every_figure_is_drawn(made_up, tmp_path):
    for experiment in EXPERIMENTS.values():
        for part in experiment.parts(made_up, SMALL):
            if isinstance(part, Figure):
                part.draw().savefig(tmp_path / f"{part.name}.png")
    assert {path.stem for path in tmp_path.iterdir()} == {"sensitivity", "noise", "attention", "tsne"}


def test_the_page_has_every_section_and_valid_links(made_up, tmp_path):
    import re
    import shutil

    shutil.copytree(made_up.folder, tmp_path / "results")
    store = Store(tmp_path / "results")
    write_page(tmp_path / "results.md", store, SMALL)
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert all(f"## {experiment.TITLE}" in page for experiment in EXPERIMENTS.values())
    links = re.findall(r"\]\(([^)]+)\)", page)
    assert len(links) == 5
    assert all((tmp_path / link).is_file() for link in links)


def test_the_published_figures_are_complete():
    assert all(set(row) == {"citeseer", "cora", "pubmed"} for row in list(table2.PUBLISHED.values())[:7])
    assert all(set(row) == {"citeseer", "cora", "pubmed", "ppi"} for row in list(table2.PUBLISHED.values())[9:])
    assert all(len(row) == 4 for row in table3.PUBLISHED.values())
    assert all(len(row) == 3 for row in table4.PUBLISHED.values())
    sums = {
        dataset: sum(row.get(dataset, 0) for row in table2.PUBLISHED.values())
        for dataset in ("citeseer", "cora", "pubmed", "ppi")
    }
    assert sums == pytest.approx(
        {"citeseer": 761.3, "cora": 890.5, "pubmed": 894.8, "ppi": 383.0}
    )  # the paper's, added
    assert np.sum(list(table3.PUBLISHED.values()), axis=0)[:, 0] == pytest.approx([464.3, 504.7, 552.4, 575.3])
    assert np.sum(list(table4.PUBLISHED.values()), axis=0) == pytest.approx([558.1, 553.5, 554.2])
