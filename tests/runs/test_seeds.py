import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ngcn import Config, TrainingError, train, train_seeds
from ngcn.graph import Graph

SMALL = Config(model="ngcn", powers=2, replicas=1, hidden=4, steps=12, seeds=3)


@pytest.fixture(scope="module")
def finished(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[np.ndarray]]:
    boards: list[np.ndarray] = []
    folder = tmp_path_factory.mktemp("seeds") / "run"
    train_seeds(graph, SMALL, folder, threads=2, on_progress=lambda board: boards.append(board.copy()))
    return folder, boards


def test_seeds_in_processes_are_the_seeds_alone(
    graph: Graph, finished: tuple[Path, list[np.ndarray]], tmp_path: Path
) -> None:
    folder, _ = finished
    for seed in range(3):
        train(graph, SMALL, folder=tmp_path / str(seed), seed=seed)
        for name in ("weights.safetensors", "metrics.csv"):
            alone = tmp_path / str(seed) / f"seed-{seed}" / name
            assert alone.read_bytes() == (folder / f"seed-{seed}" / name).read_bytes()


def test_summary_over_seeds(finished: tuple[Path, list[np.ndarray]]) -> None:
    summary = json.loads((finished[0] / "result.json").read_text())
    val, test = (np.array([run[key] for run in summary["runs"]]) for key in ("val", "test"))
    assert [run["seed"] for run in summary["runs"]] == [0, 1, 2]
    assert summary["val_mean"] == pytest.approx(val.mean()) and summary["test_mean"] == pytest.approx(test.mean())
    assert summary["test_std"] == pytest.approx(test.std(ddof=1))
    assert summary["test_at_best_val"] == test[val.argmax()]
    assert sum(summary["scale_weights"]) == pytest.approx(1, abs=1e-5)


def test_progress_ends_with_all_seeds_done(finished: tuple[Path, list[np.ndarray]]) -> None:
    last = finished[1][-1]
    assert (last[:, 0] == 12).all() and (last[:, 1] >= 1).all() and (last[:, 2] > 0).all()


def test_resume_trains_what_is_missing_only(graph: Graph, finished: tuple[Path, list[np.ndarray]]) -> None:
    folder, _ = finished
    kept = folder / "seed-0" / "result.json"
    redone = folder / "seed-1" / "weights.safetensors"
    stamp, bits = kept.stat().st_mtime_ns, redone.read_bytes()
    for file in (folder / "seed-1").iterdir():
        file.unlink()
    train_seeds(graph, SMALL, folder, resume=True, threads=2)
    assert kept.stat().st_mtime_ns == stamp and redone.read_bytes() == bits


def test_an_error_in_a_process_arrives_here(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no step can be kept"):
        train_seeds(graph, replace(SMALL, lr=1e38), tmp_path / "run", threads=2)


def test_one_seed_takes_no_process(graph: Graph, tmp_path: Path) -> None:
    boards: list[np.ndarray] = []
    run = train_seeds(
        graph, replace(SMALL, seeds=1, seed=7), tmp_path / "run", on_progress=lambda b: boards.append(b.copy())
    )
    assert list(run.seeds) == [7] and run.finished(7) and boards[-1][0, 0] == 12


@pytest.mark.parametrize("seeds", [1, 2])
def test_an_error_while_showing_progress_stops_the_training_and_comes_up(
    graph: Graph, tmp_path: Path, seeds: int
) -> None:
    def show(board: np.ndarray) -> None:
        raise RuntimeError("the screen is gone")

    with pytest.raises(RuntimeError, match="the screen is gone"):
        train_seeds(graph, replace(SMALL, seeds=seeds, steps=10**6), tmp_path / "run", threads=1, on_progress=show)


def test_threads_are_as_before(graph: Graph, tmp_path: Path) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        for seeds in (1, 2):
            train_seeds(graph, replace(SMALL, seeds=seeds, steps=2), tmp_path / f"{seeds}", threads=1)
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_one_worker_trains_all_seeds_too(graph: Graph, finished: tuple[Path, list[np.ndarray]], tmp_path: Path) -> None:
    train_seeds(graph, SMALL, tmp_path / "run", threads=1)
    for seed in range(3):
        file = Path(f"seed-{seed}") / "weights.safetensors"
        assert (tmp_path / "run" / file).read_bytes() == (finished[0] / file).read_bytes()
