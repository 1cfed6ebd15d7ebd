"""The published results: every stored cell is found under its key, and the page is drawn from them."""

import shutil
from pathlib import Path

import pytest

from ngcn.experiments import EXPERIMENTS, Plan, Store, cells_of
from ngcn.experiments.results_page import write_page

DOCS = Path(__file__).parents[2] / "docs"
# They change only if cells are added to docs/results/summary.jsonl.
FOUND = {
    "table2": 4763,
    "table3": 280,
    "table4": 360,
    "sensitivity": 3477,
    "noise": 550,
    "attention": 110,
    "tsne": 1,
    "recipes": 195,
}


@pytest.fixture(scope="module")
def store() -> Store:
    return Store(DOCS / "results")


def test_every_stored_cell_is_found(store: Store) -> None:
    found = {name: sum(cell in store for cell in experiment.cells(Plan())) for name, experiment in EXPERIMENTS.items()}
    assert found == FOUND
    assert len(store) == 6706 and sum(cell in store for cell in cells_of(list(EXPERIMENTS), Plan())) == 6639


def test_the_published_page_is_drawn_from_the_store(store: Store, tmp_path: Path) -> None:
    def lines(page: Path) -> list[str]:
        return [line for line in page.read_text(encoding="utf-8").splitlines() if not line.startswith("Trained by")]

    shutil.copytree(store.folder, tmp_path / "results", ignore=shutil.ignore_patterns("cells", "running", "*.png"))
    write_page(tmp_path / "results.md", Store(tmp_path / "results"), Plan())
    assert lines(tmp_path / "results.md") == lines(DOCS / "results.md")
    assert {path.stem for path in tmp_path.glob("results/*.png")} == {"sensitivity", "noise", "attention", "tsne"}
