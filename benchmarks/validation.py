"""How settings do on the validation nodes, by which docs/differences.md decides; test nodes are not looked at.

    python -m benchmarks.validation cora:ngcn citeseer:ngcn
    python -m benchmarks.validation cora:nsage --seeds 8 --set classifier=fc features=none

Three scores of every row, in %, means over seeds:

- peak: the highest of all steps, by which a step is kept; it flatters a network whose scores jump about.
- half by half: the step is chosen on a random half of the nodes and scored on the other, 20 times and both ways round.
- late: the mean over the last third of the steps, where nothing is chosen.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import yaml
from joblib import Parallel, delayed
from ngcn.training.setup import build_inputs, neighbours_close

from benchmarks.luck import ROWS
from ngcn import Config, Graph
from ngcn.graph import load_dataset
from ngcn.nn import Network
from ngcn.ops import Features, Operator
from ngcn.training.loop import Training, _descend, _split

HALVINGS = 20


def after_every_step(config: Config, seed: int) -> Iterator[tuple[Network, Operator, Features, Graph]]:
    """The network of a training, and what it is evaluated on; the same object every time."""
    graph = neighbours_close(load_dataset(config.dataset))
    A_hat, X = build_inputs(graph, config)
    training = Training(graph, config, seed, None)
    for _ in range(config.steps):
        _descend([training], A_hat, X, *_split(graph, "train"))
        yield training.network.eval(), A_hat, X, graph


def hits(config: Config, seed: int) -> np.ndarray:
    """Which validation nodes are right after each step: (steps, nodes)."""
    torch.set_num_threads(1)
    found = []
    for network, A_hat, X, graph in after_every_step(config, seed):
        rows, labels = _split(graph, "val")
        with torch.no_grad():
            found.append((network(A_hat, X, rows).argmax(1) == labels).numpy())
    return np.array(found)


def half_by_half(right: np.ndarray) -> float:
    """The share of hits on nodes that had no say in choosing the step.

    Example:
        >>> half_by_half(np.array([[True, False, False, False], [True, True, True, True]]))
        1.0
    """
    generator, nodes = np.random.default_rng(0), right.shape[1]
    scores = []
    for _ in range(HALVINGS):
        order = generator.permutation(nodes)
        one, other = order[: nodes // 2], order[nodes // 2 :]
        for chooses, scores_it in ((one, other), (other, one)):
            step = right[:, chooses].mean(axis=1).argmax()
            scores.append(right[step, scores_it].mean())
    return float(np.mean(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", default=ROWS[:4], help="such as cora:ngcn")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of ngcn.Config")
    arguments = parser.parse_args()
    settings: dict[str, Any] = {}
    for text in arguments.set:
        name, _, value = text.partition("=")
        settings[name] = yaml.safe_load(value)
    for row in arguments.rows:
        dataset, model = row.split(":")
        config = Config(dataset=dataset, model=model, **settings)
        every = Parallel(n_jobs=-1)(delayed(hits)(config, seed) for seed in range(arguments.seeds))
        curves = [right.mean(axis=1) for right in every]
        peak = np.mean([curve.max() for curve in curves])
        late = np.mean([curve[-(config.steps // 3) :].mean() for curve in curves])
        halves = np.mean([half_by_half(right) for right in every])
        print(f"{row}: peak {100 * peak:.1f}, half by half {100 * halves:.1f}, late {100 * late:.1f}")


if __name__ == "__main__":
    main()
