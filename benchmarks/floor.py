"""A lower bound for the time of a training step: each product that it needs, alone, with the fastest kernel.

The products are X W and X^T G over the non-zeros of X, each power of Â times the hidden units of its towers, forward
and backward, the weight matrices of the towers and of the classifier, and the optimizer step. There is no dropout, no
activation, no loss and no autograd. Rows out of reach of the labelled nodes are left out, as in the step itself.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ngcn.nn import Network
from ngcn.ops import Features, Operator, Reach, propagate, reference, tower_linear

Candidates = dict[str, Callable[[], object]]


def fastest(times: dict[str, dict[str, float]]) -> dict[str, tuple[str, float]]:
    """For each product, its fastest kernel and the time of that kernel."""
    return {name: min(kernels.items(), key=lambda item: item[1]) for name, kernels in times.items()}


def products(network: Network, A_hat: Operator, X: Features, rows: Tensor) -> dict[str, Candidates]:
    """The products of a step on the nodes `rows`, each with all kernels that can compute it."""
    first, second = network.graph_models.layers
    powers, replicas = first.linear.powers, first.linear.replicas
    W_1, W_2 = first.linear.weight, second.linear.weight
    reach = Reach.of(A_hat, rows.numpy(), powers, layers=2)
    after = reach.after_layer
    nodes = X.shape[0]

    XW = X.times(W_1, replicas, reach=reach)
    H = torch.rand_like(XW).requires_grad_()
    HW = tower_linear(H, W_2, after)
    G_1, G_2 = torch.rand_like(XW), torch.rand_like(HW)
    for block, G in ((reach, G_1), (after, G_2)):
        G[torch.from_numpy(block.distance > block.limits[:, None])] = 0

    # the same operands in the layouts that are fastest for PyTorch and SciPy
    X_csr, X_dense = reference.sparse_tensor(X, W_1.device), X.dense()
    X_t = reference.sparse_tensor(Features(X.matrix.T.tocsr()), W_1.device)
    W_wide = W_1.detach().transpose(0, 1).flatten(1).contiguous()
    wide, towers = torch.rand(nodes, W_wide.shape[1]), len(powers) * replicas
    W_towers = W_2.detach().flatten(0, 1)
    H_towers = torch.rand(towers, nodes, W_towers.shape[1])
    G_towers = torch.rand(towers, nodes, W_towers.shape[2])

    def ours_propagate(Z: Tensor, within: Reach) -> Candidates:
        Z = Z.detach().requires_grad_()
        result = propagate(A_hat, Z, powers, within)
        G = torch.rand_like(result)
        return {
            "forward": lambda: propagate(A_hat, Z, powers, within),
            "backward": lambda: torch.autograd.grad(result, Z, G, retain_graph=True),
        }

    def torch_propagate(Z: Tensor) -> None:
        reference.propagate(A_hat, Z.detach(), powers, Reach.of(A_hat, None, powers))

    found: dict[str, Candidates] = {
        "X W": {
            "ngcn": _quietly(lambda: X.times(W_1, replicas, reach=reach)),
            "torch dense": lambda: X_dense @ W_wide,
            "torch CSR": lambda: X_csr @ W_wide,
            "scipy": lambda: X.matrix @ W_wide.numpy(),
        },
        "X^T G": {
            "ngcn": lambda: torch.autograd.grad(XW, W_1, G_1, retain_graph=True),
            "torch dense": lambda: X_dense.T @ wide,
            "torch CSR": lambda: X_t @ wide,
        },
    }
    narrower = H if second.linear.width_in < second.linear.width_out else HW
    for layer, Z, within in (("1", XW, reach), ("2", narrower, after)):
        ours = ours_propagate(Z, within)
        rival = {"torch CSR": _quietly(lambda Z=Z: torch_propagate(Z))}  # type: ignore[misc]
        found[f"Â^k Z, layer {layer}"] = {"ngcn": _quietly(ours["forward"]), **rival}
        found[f"Â^k G, layer {layer}"] = {"ngcn": ours["backward"], **rival}
    found |= {
        "H W, per tower": {
            "ngcn": _quietly(lambda: tower_linear(H, W_2, after)),
            "torch bmm": lambda: torch.bmm(H_towers, W_towers),
        },
        "G W^T and H^T G, per tower": {
            "ngcn": lambda: torch.autograd.grad(HW, (H, W_2), G_2, retain_graph=True),
            "torch bmm": lambda: (
                torch.bmm(G_towers, W_towers.transpose(1, 2)),
                torch.bmm(H_towers.transpose(1, 2), G_towers),
            ),
        },
        "classifier": {"torch": _classifier(network, rows)},
        "Adam": {"torch fused": _optimizer(network)},
    }
    return found


def _quietly(function: Callable[[], object]) -> Callable[[], object]:
    def without_gradient() -> object:
        with torch.no_grad():
            return function()

    return without_gradient


def _classifier(network: Network, rows: Tensor) -> Callable[[], object]:
    weight = next(network.classifier.parameters())
    Z = torch.rand(len(rows), weight.shape[1])
    G = torch.rand(len(rows), weight.shape[0])
    return _quietly(lambda: (Z @ weight.T, G @ weight, G.T @ Z))


def _optimizer(network: Network) -> Callable[[], object]:
    copies = [torch.nn.Parameter(p.detach().clone()) for p in network.parameters()]
    for copy in copies:
        copy.grad = torch.rand_like(copy)
    return torch.optim.Adam(copies, lr=0.01, weight_decay=2e-5, fused=True).step
