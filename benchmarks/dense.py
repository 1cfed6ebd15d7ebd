"""Sparse against dense products with the features, at several densities: measures `ops.features.DENSE_FROM`.

.venv/bin/python -m benchmarks.dense
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.timing import median_ms
from ngcn.ops import NONE, Features, Reach, cpu

NODES, FEATURES, POWERS, REPLICAS, WIDTH = 20_000, 500, 6, 4, 16


def main() -> None:
    torch.set_num_threads(2)
    W = torch.randn(POWERS, FEATURES, REPLICAS * WIDTH)
    everything = Reach(np.zeros(NODES, np.int32), (1,) * POWERS, layers=1)
    print("| non-zeros | sparse ms | dense ms |\n|---|---|---|")
    for density in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0):
        X = Features(sp.random_array((NODES, FEATURES), density=density, dtype=np.float32, rng=0))
        dense = X.dense()
        sparse_ms = median_ms(lambda X=X: cpu.features_times(X, W, REPLICAS, NONE, everything), 7)  # type: ignore[misc]
        dense_ms = median_ms(lambda dense=dense: torch.stack([dense @ of_power for of_power in W]), 7)  # type: ignore[misc]
        print(f"| {density:.0%} | {sparse_ms:.1f} | {dense_ms:.1f} |", flush=True)


if __name__ == "__main__":
    main()
