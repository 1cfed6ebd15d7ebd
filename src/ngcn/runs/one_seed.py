"""`train`: one seed, with or without a run folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ngcn.config import Config
from ngcn.errors import ConfigError, GraphError
from ngcn.graph import Graph
from ngcn.nn import Network
from ngcn.runs.run import Run
from ngcn.runs.signals import graceful
from ngcn.training import Result, Step, fit, for_network


def train(
    graph: Graph,
    config: Config | None = None,
    *,
    network: Network | None = None,
    folder: Path | str | None = None,
    resume: bool = False,
    seed: int | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> Result:
    """Train one seed, and return the model with the parameters of its best validation step.

    Args:
        graph: its training nodes teach, its validation nodes select, its test nodes are evaluated once.
        config: the settings. Those of the data are ignored, since the graph is given, except ``features``.
        network: a network of your own, to be trained in place of the model that the config names.
        folder: the run folder: settings, weights, metrics per step, scores. Nothing is written without it.
        resume: continue the run in ``folder``, if there is one.
        seed: the seed; ``config.seed`` if None. The same seed gives the same bits.
        on_step: called after every step; it may stop training by raising an exception.

    Example:
        >>> from ngcn import load_dataset
        >>> result = train(load_dataset("cora"), Config(model="gcn", steps=5))
        >>> len(result.history["val"]), 1 <= result.best_step <= 5
        (5, True)
    """
    config = config or Config()
    if config.seeds > 1 and seed is None:
        raise ConfigError(f"train() trains one seed, not {config.seeds}; train_seeds(graph, config) trains them all.")
    config = replace(config, dataset=graph.name, seed=config.seed if seed is None else seed, seeds=1)
    config = for_network(config, network)
    check_splits(graph)
    if folder is None:
        return fit(graph, config, config.seed, network=network, on_step=on_step)
    run = Run.start(folder, config, graph, resume, network)
    if run.finished(config.seed):
        return run.result(config.seed)
    with run.kept_if_useful(), graceful(run.folder) as signals:

        def step_done(step: Step) -> None:
            if on_step:
                on_step(step)
            signals.check()

        result = fit(
            graph, config, config.seed, network=network, checkpoint=run.checkpoint(config.seed), on_step=step_done
        )
        run.write_seed(result)
    run.finish()
    return result


def check_splits(graph: Graph) -> None:
    for split in ("train", "val"):
        if not getattr(graph, split).any():
            raise GraphError(f"The graph {graph.name!r} has no {split} nodes; training needs some to learn and select.")
