"""What is damaged in a run folder is found before training continues."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import random_graph

from ngcn import Config, RunError, train_seeds


def test_damaged_references_are_found_before_training_continues(tmp_path: Path) -> None:
    graph, config, folder = random_graph(), Config(model="gcn", steps=2), tmp_path / "run"
    train_seeds(graph, config, folder)
    result = folder / "seed-0" / "result.json"
    result.unlink()
    (folder / "references.json").write_text("[")
    with pytest.raises(RunError, match=r"references\.json is damaged; delete it"):
        train_seeds(graph, config, folder, resume=True)
    assert not result.exists()
    (folder / "references.json").unlink()
    assert train_seeds(graph, config, folder, resume=True).finished(0)
