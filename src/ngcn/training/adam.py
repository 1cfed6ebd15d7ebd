"""`Adam`: torch's own kernel without `torch.optim`, which imports torch's compiler on first use: 1.1 s, measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import torch
from torch import Tensor, nn


class Adam:
    r"""Adam (Kingma and Ba, 2015) with the penalty :math:`\lambda \sum \theta^2` in the loss.

    Args:
        network: the network; parameters without a gradient stay as they are.
        lr: the learning rate.
        l2: :math:`\lambda`, as a function of the name of the parameter.

    Attributes:
        moments: for each parameter that has been changed, by name, the number of steps, and the running means of its
            gradient and of the gradient's square.

    Example:
        >>> layer = nn.Linear(1, 1, bias=False)
        >>> _ = layer.weight.data.fill_(1.0)
        >>> layer(torch.ones(1)).backward()
        >>> Adam(layer, lr=0.25, l2=lambda name: 0.0).step()
        >>> layer.weight.item()
        0.75
    """

    def __init__(self, network: nn.Module, lr: float, l2: Callable[[str], float]) -> None:
        self.lr = lr
        self.parameters = dict(network.named_parameters())
        self.groups: dict[float, list[str]] = defaultdict(list)  # the parameters of each weight decay
        for name in self.parameters:
            self.groups[2 * l2(name)].append(name)
        self.moments: dict[str, tuple[Tensor, Tensor, Tensor]] = {}

    def zero_grad(self) -> None:
        for parameter in self.parameters.values():
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        for weight_decay, names in self.groups.items():
            grads = [(name, grad) for name in names if (grad := self.parameters[name].grad) is not None]
            self._step(grads, weight_decay)

    def _step(self, grads: list[tuple[str, Tensor]], weight_decay: float) -> None:
        if not grads:
            return
        for name, grad in grads:
            if name not in self.moments:
                count = torch.zeros((), device=grad.device)
                self.moments[name] = count, torch.zeros_like(grad), torch.zeros_like(grad)
        steps, means, squares = map(list, zip(*(self.moments[name] for name, _ in grads), strict=True))
        for step in steps:
            step += 1
        torch._fused_adam_(
            [self.parameters[name] for name, _ in grads],
            [grad for _, grad in grads],
            means,
            squares,
            [],
            steps,
            lr=self.lr,
            beta1=0.9,
            beta2=0.999,
            weight_decay=weight_decay,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )
