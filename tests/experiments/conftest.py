import numpy as np
import pytest

from ngcn.experiments import EXPERIMENTS, Plan, Store, cells_of

SMALL = Plan(("citeseer", "cora", "pubmed"), seeds=2)


@pytest.fixture(scope="session")
def made_up(tmp_path_factory):
    """A store with an invented outcome for every cell of the paper, two seeds each."""
    store = Store(tmp_path_factory.mktemp("store"))
    for number, cell in enumerate(cells_of(list(EXPERIMENTS), SMALL)):
        store.put(cell, outcome_of(cell, number))
    store.refresh()
    store.write_summary()
    return store


def outcome_of(cell, number):
    config, removed = cell.setup.config, cell.setup.removed
    walks = config.model in ("ngcn", "nsage", "dcnn")
    score = 0.7 + 0.002 * config.towers + 0.03 * walks - (0.1 if walks else 0.4) * removed + 0.001 * (number % 7)
    score += 0.01 * (config.model != "dcnn")
    weights = None
    if config.classifier == "attention":
        weights = np.exp(-np.arange(len(config.powers)) * (1 - removed))
        weights = (weights / weights.sum()).round(4).tolist()
    outcome = {
        "metric": "accuracy",
        "val": round(score - 0.0005 * cell.seed, 4),
        "test": round(score + 0.01 * cell.seed, 4),
        "best_step": 10,
        "steps": 20,
        "seconds": 1.5,
        "scale_weights": weights,
        "version": "0",
    }
    if cell.setup.draws_map:
        outcome["map"] = np.random.default_rng(0).integers(0, 1000, (2708, 2)).tolist()
    return outcome
