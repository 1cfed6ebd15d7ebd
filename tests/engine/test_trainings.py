"""Seeds and cells of experiments on a cluster of two nodes: the same as on this machine."""

from dataclasses import replace

import pytest
from training.conftest import crowds

from ngcn import Config, ConfigError, Ray, TrainingError, train_seeds
from ngcn.experiments import Store, run
from ngcn.experiments.cell import setup

SMALL = Config(model="ngcn", powers=2, replicas=1, hidden=4, steps=12, seeds=3)
CELLS = setup("cora", "gcn", steps=4).cells(2) + setup("cora", "lp").cells(1)
FILES = [f"seed-{seed}/{name}" for seed in range(3) for name in ("weights.safetensors", "metrics.csv")]


def test_seeds_are_those_of_this_machine(cluster, tmp_path):
    progress = []
    train_seeds(crowds(), SMALL, tmp_path / "here", threads=1)
    train_seeds(
        crowds(), SMALL, tmp_path / "there", engine=Ray(cluster.address), on_progress=lambda b: progress.append(b)
    )
    for file in FILES:
        assert (tmp_path / "here" / file).read_bytes() == (tmp_path / "there" / file).read_bytes()
    assert (progress[-1][:, 0] == 12).all() and (progress[-1][:, 2] > 0).all()
    assert {path.name for path in (tmp_path / "there").iterdir()} == {
        path.name for path in (tmp_path / "here").iterdir()
    }


def test_errors_in_a_worker_arrive(cluster, tmp_path):
    with pytest.raises(TrainingError, match="no step can be kept"):
        train_seeds(crowds(), replace(SMALL, lr=1e38), tmp_path / "run", engine=Ray(cluster.address, workers=1))
    assert not list(tmp_path.iterdir())


def test_engines_that_are_none(tmp_path):
    for wrong, message in (({"engine": "ray"}, "engine must be a Ray"), ({"engine": Ray(), "threads": 2}, "`workers`")):
        with pytest.raises(ConfigError, match=message):
            train_seeds(crowds(), SMALL, tmp_path / "run", **wrong)


def test_cells_have_the_outcomes_of_this_machine(cluster, tmp_path):
    seen, hopeless = [], setup("cora", "gcn", steps=4, lr=1e30).cells(1)
    store = Store(tmp_path)
    failed = run([*hopeless, *CELLS], store, on_done=lambda cell, _: seen.append(cell), engine=Ray(cluster.address))
    assert list(failed) == [hopeless[0].name] and "loss became" in failed[hopeless[0].name]
    assert sorted(cell.name for cell in seen) == sorted(cell.name for cell in CELLS)
    for cell in CELLS:
        assert {**store.get(cell), "seconds": 0} == {**cell.run(), "seconds": 0}
