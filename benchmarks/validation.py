"""How settings do on the validation nodes, by which docs/research/differences.md decides; test nodes are not looked at.

    python -m benchmarks.validation cora:ngcn citeseer:ngcn
    python -m benchmarks.validation cora:nsage --seeds 8 --set classifier=fc features=none

Three scores of every row, in %, means over seeds:

- peak: the highest of all steps, by which a step is kept; it flatters a network whose scores jump about.
- half by half: the step is chosen on a random half of the nodes and scored on the other, 20 times and both ways round.
- late: the mean over the last third of the steps, where nothing is chosen.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import yaml
from joblib import Parallel, delayed

from benchmarks.luck import ROWS
from ngcn import Config, Model, Network, RecipeSpec, load_dataset, registry
from ngcn.model import Card
from ngcn.training import fit
from ngcn.training.recipes.paper import Paper

HALVINGS = 20


def hits(config: Config, seed: int, *splits: str) -> list[np.ndarray]:
    """Which nodes of each split are right after each step: (steps, nodes)."""
    torch.set_num_threads(1)
    graph = load_dataset(config.dataset)
    A_hat, X = Model.build(Card.of(graph, config), config).inputs(graph)
    rows = [torch.from_numpy(getattr(graph, split).nonzero()[0]) for split in splits]
    labels, found = torch.from_numpy(graph.labels), [[] for _ in splits]  # type: ignore[var-annotated]

    class Watched(Paper):
        def validation_loss(self, network: Network, *rest: Any) -> torch.Tensor:
            for seen, nodes in zip(found, rows, strict=True):
                seen.append((network(A_hat, X, nodes).argmax(1) == labels[nodes]).numpy())
            return super().validation_loss(network, *rest)

    registry.RECIPES["watched"] = RecipeSpec("", Watched)
    fit(graph, replace(config, recipe="watched"), seed)
    return [np.array(seen) for seen in found]


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
        config = Config(dataset=dataset, model=model, **{"recipe": "paper", **settings})
        tasks = (delayed(hits)(config, seed, "val") for seed in range(arguments.seeds))
        every = [right for (right,) in Parallel(n_jobs=-1)(tasks)]
        curves = [right.mean(axis=1) for right in every]
        peak = np.mean([curve.max() for curve in curves])
        late = np.mean([curve[-(config.steps // 3) :].mean() for curve in curves])
        halves = np.mean([half_by_half(right) for right in every])
        print(f"{row}: peak {100 * peak:.1f}, half by half {100 * halves:.1f}, late {100 * late:.1f}")


if __name__ == "__main__":
    main()
