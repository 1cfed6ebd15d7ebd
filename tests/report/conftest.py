"""A small run with names that look like markup, its page, and a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ngcn import Config, Graph, Run, train, train_seeds
from ngcn.report import write_report
from tools import browser

MARKUP = "</script><script>window.broken = true</script><b>"
NGCN = {"model": "ngcn", "powers": 3, "replicas": 2}
PAPER = {**NGCN, "recipe": "paper"}


def crowds(multilabel: bool = False, **changes: Any) -> Graph:
    """Two communities of 30 nodes; thirds for training, validation and test."""
    random = np.random.default_rng(0)
    crowd = np.arange(60) // 30
    p = np.where(crowd[:, None] == crowd, 0.2, 0.02)
    edges = sp.csr_array(np.triu(random.random((60, 60)) < p, 1).astype(np.float32))
    words = (random.random((60, 12)) < 0.2 + 0.3 * (np.arange(12) % 2 == crowd[:, None])).astype(np.float32)
    thirds = [np.arange(60) % 3 == third for third in range(3)]
    labels = np.stack([crowd, 1 - crowd, random.integers(0, 2, 60)], axis=1) if multilabel else crowd
    ids = np.array([f"it's <i>node</i> {i}" for i in range(60)])
    classes = (MARKUP, "a rather_long_name_of_a_class_that_has_no_place_to_break_in_it", "third")[
        : 3 if multilabel else 2
    ]
    names = ["<img src=x onerror='window.broken = true'>", *(f"word {j}" for j in range(1, 12))]
    graph = Graph(edges, sp.csr_array(words), labels, *thirds, ids, classes, names, name="crowds & <others>")
    return replace(graph, **changes)


@pytest.fixture(scope="session")
def make_page(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Train the default model on a graph, or another, write the page and return its path."""
    torch.set_num_threads(1)

    def make(graph: Graph, explain: int = 25, change: Callable[[Path], None] | None = None, **settings: Any) -> Path:
        folder = tmp_path_factory.mktemp("run") / "my run"
        config = Config(**{"steps": 30, "lr": 0.05, **settings})
        if config.seeds > 1:  # the run has references too
            train_seeds(graph, config, folder, threads=1)
        else:
            train(graph, config, folder=folder)
        if change:
            change(folder)
        return write_report(Run.open(folder), graph=graph, explain=explain)

    return make


@pytest.fixture(scope="session")
def page(make_page: Callable[..., Path]) -> Path:
    return make_page(crowds())


@pytest.fixture(scope="session")
def paper_page(make_page: Callable[..., Path]) -> Path:
    """The paper's model: towers of one kind, no calibration."""
    return make_page(crowds(), **PAPER)


def data_of(page: Path) -> dict[str, Any]:
    """The data that a page carries."""
    text = page.read_text(encoding="utf-8")
    start = text.index('id="data">') + len('id="data">')
    return json.loads(text[start : text.index("</script>", start)])


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless Chromium."""
    with browser.chromium() as started:
        if not started:
            pytest.skip("no browser here: install chromium and chromium-driver to test the page in one")
        yield started


@pytest.fixture
def open_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open a page in a window of some size; the console must stay empty, and nothing may be loaded."""

    def go(path: Path, width: int = 1280, height: int = 900, dark: bool = False) -> Any:
        browser.show(chromium, path.as_uri(), width, height, dark)
        return chromium

    yield go
    assert chromium.get_log("browser") == []
    urls = browser.requests(chromium)
    assert urls and all(url.startswith(("file:", "data:", "about:")) for url in urls), urls
    assert sum(url.startswith("file:") for url in urls) == 1
    assert chromium.execute_script("return window.broken === undefined")
    shown = chromium.execute_script("return document.body.innerText")
    assert not re.search(r"\b(null|undefined|NaN|Infinity)\b", shown)
