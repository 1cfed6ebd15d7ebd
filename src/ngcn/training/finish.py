"""After the last step: the kept parameters, what is fitted on the validation nodes, and the result."""

from __future__ import annotations

from typing import Any

import torch

from ngcn.scoring import metric_of, scores
from ngcn.training.best_steps import BestSteps
from ngcn.training.calibrate import calibrate, conformal_scores, held_out
from ngcn.training.result import Result, tower_table
from ngcn.training.setup import Training


def finish(training: Training, ending: tuple[str, str]) -> Result:
    """The result of a training that has ended; the ending is its status and the reason."""
    found = _fit_on_validation_nodes(training)
    training.inputs.finish()
    training.state.network.cpu()  # where the trained model is used
    state, (status, stopped) = training.state, ending
    return Result.of(
        training.model,
        training.inputs.graph,
        state.history,
        seed=training.seed,
        best_step=state.selection.step or state.step,
        steps=state.step,
        seconds=round(state.seconds, 3),
        status=status,
        stopped=stopped,
        **found,
    )


@torch.no_grad()
def _fit_on_validation_nodes(training: Training) -> dict[str, Any]:
    """Put the kept parameters back, and fit what is left: weights of towers and calibration. Returns what a
    :class:`Result` tells about the towers, and the scores of each half of the nodes by what the other half chose."""
    recipe, inputs = training.recipe, training.inputs
    network, selection, labels = training.state.network.eval(), training.state.selection, inputs.labels
    selection.restore(network)
    if not len(labels):
        return {}
    # Weights say that the classes shall not count as often as they occur
    Z, priors = inputs.towers(), recipe.corrects_priors and inputs.validation_weights is None
    recipe.finish(network, Z, labels)
    metric = training.config.metric or metric_of(labels.ndim == 2)
    found: dict[str, Any] = {"towers": tower_table(network, Z, labels, metric)}
    if isinstance(selection, BestSteps):
        priors = priors and labels.ndim == 1
        calibrate(network, Z, labels, priors=priors)
        logits = held_out(selection, labels, priors=priors)
        if logits is not None:
            found["held_out_scores"] = scores(logits, labels.cpu())
            if labels.ndim == 1:
                network.calibration.conformal = conformal_scores(logits, labels)
    return found
