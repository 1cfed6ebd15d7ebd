"""The map: the hidden layer of every node in two dimensions, as in the paper's t-SNE figure."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor

from ngcn.errors import RunError
from ngcn.nn import Network
from ngcn.nn.classifiers import FullyConnected

PCA_DIMENSIONS = 50
SIDE = 1000  # the largest coordinate


def hidden_layer(network: Network, Z: Tensor) -> tuple[np.ndarray, str]:
    """A row per node, and its name: the first layer of fc2 before ReLU (as in the paper), else the tower outputs Z."""
    classifier = network.classifier
    if isinstance(classifier, FullyConnected) and len(classifier.layers) > 1:
        with torch.no_grad():
            return classifier.hidden(Z).numpy(), "the hidden layer of the classifier, before ReLU"
    return Z.flatten(1).numpy(), "the concatenated outputs of all towers"


def project(hidden: np.ndarray) -> np.ndarray:
    """PCA to 50 dimensions, then t-SNE to two, scaled to integers from 0 to 1000: ``(nodes, 2)``."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    nodes, rows = len(hidden), hidden.astype(np.float64)
    if not np.isfinite(rows).all():
        raise RunError(
            "There is no map: outputs of the model are not finite. Its weights or the features are too large; train it "
            "again."
        )
    rows -= rows.mean(axis=0)
    if not rows.any():  # all rows are equal
        return np.full((nodes, 2), SIDE // 2)
    dimensions = min(PCA_DIMENSIONS, *rows.shape)
    if dimensions < rows.shape[1]:
        rows = PCA(dimensions, random_state=0).fit_transform(rows)
    if nodes > 4 and dimensions > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # BLAS warns about denormal numbers
            rows = TSNE(perplexity=min(30, (nodes - 1) / 3), init="pca", random_state=0).fit_transform(rows)
    else:  # too few for t-SNE
        rows = np.pad(rows, ((0, 0), (0, 2)))[:, :2]
    low, high = rows.min(axis=0), rows.max(axis=0)
    middle, span = (low + high) / 2, max(float((high - low).max()), 1e-12)  # one scale for both axes
    return np.rint(SIDE * ((rows - middle) / span + 0.5)).astype(int)
