"""What a step sees of a large graph: rows of Â^k X, and estimated rows of Â^k over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ngcn.ops.dropout import NONE, Dropout
from ngcn.ops.towers import relu_dropout


@dataclass(frozen=True)
class SampledPower:
    r"""Rows of :math:`S_k = \hat{A}^k X` for some nodes, the inputs, and estimated rows of :math:`\hat{A}^k` over them.

    Args:
        S: ``(inputs, features)`` rows of S_k.
        X: rows of X for the same nodes, which SAGE needs too.
        own: the positions of the nodes of the batch among the inputs; None if they are not wanted there.
        columns: the positions of the entries of :math:`\hat{A}^k` among the inputs; None for towers of one layer, which
            need no rows of it: their inputs are the nodes of the batch.
        entries: the entries. Those of a column that occurs several times add up.
        shared_mask: the towers draw one dropout mask on the features, and not one each.
        mean_inputs: the known :math:`\hat{A}^k S` and :math:`\hat{A}^k X` for the nodes of the batch, which lower the
            variance; None if they are not known.
        sums: ``(inputs, 1)`` how often a bias counts in each row; once if None.
    """

    S: Float[Tensor, "inputs features"]
    X: Float[Tensor, "inputs features"] | None = None
    own: Int[Tensor, " nodes"] | None = None
    columns: Int[Tensor, "nodes walks"] | None = None
    entries: Float[Tensor, "nodes walks"] | None = None
    shared_mask: bool = False
    mean_inputs: SampledPower | None = None
    sums: Float[Tensor, "inputs 1"] | None = None

    def times(
        self, M: Float[Tensor, "inputs features"], W: Float[Tensor, "features columns"], replicas: int, dropout: Dropout
    ) -> Float[Tensor, "inputs columns"]:
        """:math:`\\mathrm{drop}_t(M) W_t` for each tower t of this power; M is S or X.

        Example:
            >>> S = torch.ones(2, 3)
            >>> SampledPower(S).times(S, torch.ones(3, 4), 2, NONE)
            tensor([[3., 3., 3., 3.],
                    [3., 3., 3., 3.]])
        """
        if dropout.keep == NONE.keep:
            return M @ W
        masks = relu_dropout(torch.ones_like(M).expand(1 if self.shared_mask else replicas, -1, -1), dropout)
        if len(masks) == 1:
            return (M * masks[0]) @ W
        towers = W.unflatten(1, (replicas, -1)).unbind(dim=1)
        return torch.cat([(M * mask) @ W_t for mask, W_t in zip(masks, towers, strict=True)], dim=1)

    def plus(
        self, XW: Float[Tensor, "inputs columns"], bias: Float[Tensor, "1 columns"] | None
    ) -> Float[Tensor, "inputs columns"]:
        """With a bias in each row.

        Example:
            >>> SampledPower(torch.eye(2), sums=torch.tensor([[1.0], [2.0]])).plus(torch.zeros(2, 1), torch.ones(1, 1))
            tensor([[1.],
                    [2.]])
        """
        if bias is None:
            return XW
        return XW + (bias if self.sums is None else self.sums * bias)

    def mean(self, H: Float[Tensor, "inputs columns"]) -> Float[Tensor, "nodes columns"]:
        """The estimate of :math:`\\hat{A}^k H` for the nodes of the batch.

        Example:
            >>> rows = {"columns": torch.tensor([[0, 1]]), "entries": torch.tensor([[0.5, 0.25]])}
            >>> SampledPower(torch.eye(2), **rows).mean(torch.tensor([[4.0], [8.0]]))
            tensor([[4.]])
        """
        if self.columns is None or self.entries is None:
            raise ValueError("A power without rows of Â^k was sampled for towers of one layer only.")
        nodes, walks = self.columns.shape
        picked = H.index_select(0, self.columns.flatten()).unflatten(0, (nodes, walks))
        return torch.bmm(self.entries.to(H.dtype)[:, None], picked)[:, 0]


@dataclass(frozen=True)
class Sampled:
    """A batch of nodes of a large graph, in place of Â and X: ``towers(sampled, sampled, rows)`` of a network returns
    the outputs for its nodes, of which ``rows`` are positions.

    Args:
        nodes: the nodes.
        kinds: for each kind of graph model in the network, see :meth:`ngcn.Network.kinds`, its powers.
    """

    nodes: Int[Tensor, " nodes"]
    kinds: tuple[Mapping[int, SampledPower], ...]

    def with_shared_mask(self) -> Sampled:
        shared = ({k: replace(power, shared_mask=True) for k, power in powers.items()} for powers in self.kinds)
        return replace(self, kinds=tuple(shared))
