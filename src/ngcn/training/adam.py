"""`Adam`: torch's kernel for it, without `torch.optim`, which imports a compiler for three seconds when first used."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Adam:
    r"""Adam (Kingma and Ba, 2015) with :math:`\lambda \sum \theta^2` in the loss.

    Args:
        network: whose parameters to change; those without a gradient stay as they are.
        lr: the learning rate.
        l2: :math:`\lambda`.

    Attributes:
        moments: for each parameter that has been changed, by name, the number of steps, and the running means of its
            gradient and of the gradient's square.

    Example:
        >>> layer = nn.Linear(1, 1, bias=False)
        >>> _ = layer.weight.data.fill_(1.0)
        >>> layer(torch.ones(1)).backward()
        >>> Adam(layer, lr=0.25, l2=0.0).step()
        >>> layer.weight.item()
        0.75
    """

    def __init__(self, network: nn.Module, lr: float, l2: float) -> None:
        self.lr, self.l2 = lr, l2
        self.parameters = dict(network.named_parameters())
        self.moments: dict[str, tuple[Tensor, Tensor, Tensor]] = {}

    def zero_grad(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        grads = {name: p.grad for name, p in self.parameters.items() if p.grad is not None}
        for name, grad in grads.items():
            if name not in self.moments:
                self.moments[name] = torch.zeros(()), torch.zeros_like(grad), torch.zeros_like(grad)
        steps, means, squares = map(list, zip(*(self.moments[name] for name in grads), strict=True))
        for step in steps:
            step += 1
        torch._fused_adam_(
            [self.parameters[name] for name in grads],
            list(grads.values()),
            means,
            squares,
            [],
            steps,
            lr=self.lr,
            beta1=0.9,
            beta2=0.999,
            weight_decay=2 * self.l2,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )
