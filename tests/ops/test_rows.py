from __future__ import annotations

import torch
from torch.nn.functional import normalize

from ngcn.ops import l2_normalize, select_rows


def test_select_rows_in_their_order_and_more_than_once():
    Z, rows = torch.randn(3, 9, 4, dtype=torch.float64, requires_grad=True), torch.tensor([7, 2, 2])
    torch.testing.assert_close(select_rows(Z, rows), Z[:, rows].transpose(0, 1))
    torch.testing.assert_close(select_rows(Z, None), Z.transpose(0, 1))
    assert torch.autograd.gradcheck(lambda Z: select_rows(Z, rows), Z)


def test_l2_normalize():
    Z = torch.randn(5, 3, 4, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(l2_normalize(Z), normalize(Z, dim=-1))
    assert torch.autograd.gradcheck(l2_normalize, Z)
    zero = torch.zeros(2, 3, requires_grad=True)
    l2_normalize(zero).sum().backward()
    assert zero.grad.isfinite().all()
