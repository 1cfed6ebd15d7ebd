import torch
from torch import nn

from ngcn.nn import build_network
from ngcn.training.adam import Adam


def after_five_steps(network: nn.Module, optimizer: Adam | torch.optim.Optimizer) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    for _ in range(5):
        optimizer.zero_grad()
        for parameter in network.parameters():
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        optimizer.step()
    return [parameter.detach().clone() for parameter in network.parameters()]


def test_bits_are_those_of_torch() -> None:
    torch.manual_seed(0)
    network, other = (build_network("ngcn", 12, 2, powers=3, replicas=2) for _ in range(2))
    other.load_state_dict(network.state_dict())
    ours = after_five_steps(network, Adam(network, lr=0.03, l2=lambda name: 0.25))
    theirs = after_five_steps(other, torch.optim.Adam(other.parameters(), lr=0.03, weight_decay=0.5, fused=True))
    assert len(ours) == 3 and all(map(torch.equal, ours, theirs))


def test_a_parameter_without_gradient_stays() -> None:
    layer = nn.Linear(2, 1)
    before = layer.bias.detach().clone()
    adam = Adam(layer, lr=0.1, l2=lambda name: 0.1)
    layer.weight.grad = torch.ones(1, 2)
    adam.step()
    assert torch.equal(layer.bias, before) and set(adam.moments) == {"weight"}
