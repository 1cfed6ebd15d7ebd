from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from ngcn.ops import use_reference


@pytest.fixture(params=["cpu", "reference"])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """Run the test with the kernels, and with the reference."""
    with use_reference() if request.param == "reference" else nullcontext():
        yield request.param
