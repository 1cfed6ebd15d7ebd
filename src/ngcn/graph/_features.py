"""The feature matrix of `Parts`: as it is for training, in the model's columns for a trained model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ngcn.data.parts import Block, Matrix, Parts, log
from ngcn.errors import DatasetError
from ngcn.text import count, percent

DENSE_CELLS = 200_000_000
IDENTITY_NODES = 50_000  # larger graphs do not get one-hot features
HOPS = 4
MOST_LISTED = 5  # columns in a message


def features_for_training(parts: Parts) -> tuple[Matrix, Sequence[str] | None]:
    """Return the features and their names; structural features, with a warning, if there are none."""
    if not parts.features:
        if parts.nodes <= IDENTITY_NODES:
            log.warning(f"{parts.name} has no features: every node is a feature of its own.")
            return sp.eye_array(parts.nodes, dtype=np.float32, format="csr"), None
        log.warning(f"{parts.name} has no features: degrees and random walks are used.")
        return structural_features(parts.adjacency)
    block = parts.features[0] if len(parts.features) == 1 else Block(*_join(parts.features, parts.name))
    if not parts.published:
        _warn_about_missing(block, parts.name)
        _warn_about_constants(block, parts.name)
    return block.matrix, block.names


def features_for_model(parts: Parts, known: Sequence[str], node_columns: int) -> Matrix:
    """Return the features that a model knows, in its order; the first ``node_columns`` may not be missing."""
    if not parts.features:
        features, structural = structural_features(parts.adjacency)
        if structural != list(known):
            what = f"but the model was trained with {len(known)}, such as {known[0]!r}; add them"
            if list(known) == list(map(str, range(len(known)))):
                what = (
                    f"and neither had the graph of the model, which knows its {len(known)} nodes only; train again "
                    "with the new nodes, without labels"
                )
            raise DatasetError(f"{parts.name} has no features, {what}.")
        return features
    features, names = _join(_known_blocks(parts, known, node_columns), parts.name)
    place = {name: number for number, name in enumerate(names)}
    missing = [name for name in known if name not in place]
    extra = sorted(set(names) - set(known), key=names.index)
    if missing or extra:
        what = f"{parts.name} has {count(len(names), 'feature')}, but the model was trained with {len(known)}"
        what += f"; {missing[0]!r} is missing" if missing else ""
        what += f"; {extra[0]!r} is not one of the model's" if extra else ""
        raise DatasetError(f"{what}; use the features that the model was trained with, and no others.")
    features = features if names == list(known) else features[:, [place[name] for name in known]]
    _warn_about_missing(Block(features, known), parts.name)
    return features


def structural_features(adjacency: sp.csr_array) -> tuple[np.ndarray, list[str]]:
    r"""Return statistics of degrees and random walks, which have the same meaning on every graph, and their names.

    They are :math:`T^k [\log(1 + d), \; \mathrm{diag}(T^2)]` for k = 0 to 4, with d the degrees and
    :math:`T = D^{-1} A`: the expected log-degree and return probability of the node where a k-step walk ends.

    Example:
        >>> features, names = structural_features(sp.csr_array(1 - np.eye(3)))
        >>> features.shape, names[:3]
        ((3, 10), ['degree', 'return', 'degree 1 away'])
    """
    A = adjacency.maximum(adjacency.T)
    degree = np.asarray(A.sum(axis=1), np.float64)
    T = sp.csr_array(sp.diags_array(1 / np.maximum(degree, 1e-12)) @ A)
    seen = np.stack([np.log1p(degree), T.multiply(T.T).sum(axis=1)], axis=1)
    columns = [seen]
    for _ in range(HOPS):
        columns.append(T @ columns[-1])
    return np.hstack(columns).astype(np.float32), structural_names()


def structural_names() -> list[str]:
    """The names of the structural features."""
    away = [f"{what} {hop} away" for hop in range(1, HOPS + 1) for what in ("degree", "return")]
    return ["degree", "return", *away]


def missing_per_column(features: Matrix) -> np.ndarray:
    """The number of missing values, NaN, in each column."""
    if not sp.issparse(features):
        return np.isnan(features).sum(axis=0)
    X = features.tocsr()  # of graphs on disk, the arrays have two types of integers, which tocoo does not allow
    return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])


def describe_missing(features: Matrix, names: Sequence[str] | None = None) -> str:
    """The columns with missing values, those with most first; empty without any.

    Example:
        >>> describe_missing(np.array([[1, np.nan], [2, 3]]), ["age", "income"])
        "1 of 'income' (50 %)"
    """
    missing, nodes = missing_per_column(features), features.shape[0]
    worst = np.argsort(-missing, kind="stable")[: np.count_nonzero(missing)]
    listed = [
        f"{missing[c]:,} of {names[c] if names is not None else str(c)!r} ({percent(missing[c] / nodes)})"
        for c in worst[:MOST_LISTED]
    ]
    more = f" and {missing[worst[MOST_LISTED:]].sum():,} in {count(len(worst) - MOST_LISTED, 'more column')}"
    return ", ".join(listed) + (more if len(worst) > MOST_LISTED else "")


def _warn_about_missing(block: Block, name: str) -> None:
    if missing := describe_missing(block.matrix, block.names):
        log.warning(f"{name}: missing values: {missing}; `missing` sets how they are filled.")


def _warn_about_constants(block: Block, name: str) -> None:
    X = block.matrix
    if 0 in X.shape:
        return  # an error elsewhere
    if sp.issparse(X):
        low, high = (of(axis=0).toarray().ravel() for of in (X.nanmin, X.nanmax))
    else:
        low, high = np.fmin.reduce(X, axis=0, initial=np.inf), np.fmax.reduce(X, axis=0, initial=-np.inf)
    constant = np.flatnonzero(~(low < high))
    if len(constant) and block.matrix.shape[0] > 1:
        named = [repr(block.names[c]) if block.names else str(c) for c in constant[:5]]
        more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
        have, are = ("has", "it is") if len(constant) == 1 else ("have", "they are")
        listed = f"{', '.join(named)}{more} {have} the same value for every node"
        log.warning(f"{name}: {listed}, so {are} uninformative.")


def _known_blocks(parts: Parts, known: Sequence[str], node_columns: int) -> list[Block]:
    """Return the blocks with those one-hot and sparse features that the model knows."""
    blocks: list[Block] = []
    for block in parts.features:
        if block.one_hot:
            block = _select(block, [name for name in known if name.startswith(f"{block.one_hot}=")], parts.name)
        elif block.sparse:
            before = {name for block in blocks for name in _names(block)}
            block = _select(block, [name for name in known[node_columns:] if name not in before], parts.name)
        blocks.append(block)
    return blocks


def _select(block: Block, names: list[str], graph: str) -> Block:
    """Return the columns of these names. Ignore others with a warning; a column that the block lacks is 0."""
    place = {name: number for number, name in enumerate(_names(block))}
    if new := sorted(set(place) - set(names)):
        what = f"{len(new)} value(s) of {block.one_hot!r}" if block.one_hot else f"{len(new)} sparse feature(s)"
        log.warning(f"{graph}: the model does not know {what}, such as {new[0]!r}; they are ignored.")
    pairs = [(place[name], column) for column, name in enumerate(names) if name in place]
    rows, columns = np.array(pairs, int).reshape(-1, 2).T
    chosen = sp.csr_array((np.ones(len(pairs), np.float32), (rows, columns)), shape=(len(place), len(names)))
    return block._replace(matrix=sp.csr_array(block.matrix @ chosen), names=names)


def _join(blocks: Sequence[Block], name: str) -> tuple[Matrix, list[str]]:
    names = [name for block in blocks for name in _names(block)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DatasetError(f"{name} has the feature {twice!r} twice; rename one, or train with `ignore={[twice]}`.")
    matrices = [block.matrix for block in blocks]
    if all(map(sp.issparse, matrices)):
        return (sp.hstack(matrices, format="csr") if len(matrices) > 1 else sp.csr_array(matrices[0])), names
    if matrices[0].shape[0] * len(names) > DENSE_CELLS:
        raise DatasetError(
            f"{name}: there are too many sparse features to combine with columns of numbers; put the columns into the "
            "table of features too, or drop them with `ignore`."
        )
    return np.hstack([matrix.toarray() if sp.issparse(matrix) else matrix for matrix in matrices]), names


def _names(block: Block) -> Sequence[str]:
    return block.names if block.names is not None else [str(number) for number in range(block.matrix.shape[1])]
