"""What is fitted on validation nodes after training: weights of towers, calibration, scores for prediction sets."""

from __future__ import annotations

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from ngcn.nn import Network
from ngcn.nn.classifiers import make_classifier
from ngcn.scoring import log_likelihoods, node_losses, probabilities
from ngcn.training.best_steps import BestSteps

ITERATIONS = 100
FEWEST = 10  # validation nodes; with fewer nothing is calibrated


def fit_weights(Z: Tensor, labels: Tensor) -> Tensor:
    r"""The weights m of towers that explain the labels best, by expectation maximisation.

    .. math:: \max_m \sum_i \log \sum_t m_t \, p_t(y_i) + \sum_t \log m_t

    Args:
        Z: ``(nodes, towers, classes)`` logits.
        labels: as everywhere.

    Example:
        >>> sure, unsure = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 0.0]])
        >>> fit_weights(torch.stack([sure, unsure], dim=1).expand(99, 2, 2), torch.zeros(99, dtype=torch.long))
        tensor([0.9794, 0.0206])
    """
    likely = log_likelihoods(Z, labels).double()
    p = (likely - likely.amax(dim=1, keepdim=True)).exp()
    nodes, towers = p.shape
    m = torch.full((towers,), 1 / towers, dtype=p.dtype, device=p.device)
    for _ in range(ITERATIONS):
        share = m * p
        m = ((share / share.sum(dim=1, keepdim=True)).sum(dim=0) + 1) / (nodes + towers)
    return m.float()


def fit_calibration(logits: Tensor, labels: Tensor, priors: bool = False) -> tuple[Tensor, Tensor]:
    r"""The slope a and the offset b of :class:`~ngcn.nn.calibration.Calibration`.

    .. math:: \min_{a, b} \sum_i L(a Z_i + b) + (\log a)^2 + |b|^2

    Args:
        logits: ``(nodes, classes)``.
        labels: as everywhere; for multi-label, every class has a slope.
        priors: fit the offset too; else it is 0.
    """
    Z, multilabel = logits.detach().cpu().double(), labels.ndim == 2
    y, classes = labels.cpu(), logits.shape[1]
    slopes = classes if multilabel else 1

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        with torch.enable_grad():
            free = torch.from_numpy(values).requires_grad_()
            moved = Z * free[:slopes].exp() + (free[slopes:] if priors else 0.0)
            total = node_losses(moved, y).sum() * (classes if multilabel else 1) + free.square().sum()
            return total.item(), torch.autograd.grad(total, free)[0].numpy()

    start = np.zeros(slopes + (classes if priors else 0))
    found = torch.from_numpy(minimize(loss, start, jac=True, method="L-BFGS-B").x).float()
    return found[:slopes].exp(), found[slopes:] if priors else torch.zeros(classes)


@torch.no_grad()
def calibrate(network: Network, Z: Tensor, labels: Tensor, *, priors: bool = False) -> None:
    """Fit the calibration of a network, given the outputs of its towers for the validation nodes."""
    if len(labels) >= FEWEST:
        found = fit_calibration(network.classifier(Z), labels, priors)
        network.calibration.slope, network.calibration.offset = (value.to(Z.device) for value in found)


@torch.no_grad()
def held_out(selection: BestSteps, labels: Tensor, *, priors: bool = False) -> Tensor | None:
    """Logits of the validation nodes: steps, weights and calibration are those that the other half of them chooses.
    None for a single node, which has no other half."""
    found = torch.zeros(len(labels), selection.logits.shape[-1])
    for Z, half in zip(selection.logits[1:].cpu(), selection.halves[1:].cpu(), strict=True):
        if not half.any():
            return None
        y, (_, towers, classes) = labels[half.to(labels.device)].cpu(), Z.shape
        mixture = make_classifier("attention", (0,) * towers, classes, classes, multilabel=labels.ndim == 2)
        mixture.load_state_dict({"scores": fit_weights(Z[half], y).log()})
        logits = mixture(Z)
        if half.sum() >= FEWEST:
            slope, offset = fit_calibration(logits[half], y, priors)
            logits = logits * slope + offset
        found[~half] = logits[~half]
    return found


@torch.no_grad()
def conformal_scores(logits: Tensor, labels: Tensor) -> Tensor:
    """One minus the probability of the true class, for each validation node, given their :func:`held_out` logits; none
    if there are too few nodes to calibrate on half of them."""
    if len(labels) // 2 < FEWEST:
        return torch.zeros(0)
    p = probabilities(logits, multilabel=False)
    return (1 - p.gather(1, labels.cpu()[:, None])[:, 0]).sort().values
