"""The feature matrix of `Parts`: as it is for training, in the model's columns for a trained model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from ngcn.data.parts import Block, Matrix, Parts, log
from ngcn.data.structure import structural_features
from ngcn.errors import DatasetError
from ngcn.graph._training_checks import warn_about_constants

DENSE_CELLS = 200_000_000


def features_for_training(parts: Parts) -> tuple[Matrix, Sequence[str] | None]:
    """Return the features and their names; structural features, with a warning, if there are none."""
    if not parts.features:
        features, names = structural_features(parts.adjacency)
        what = "degrees and random walks are used" if names else "every node is a feature of its own"
        log.warning(f"{parts.name} has no features: {what}.")
        return features, names
    if len(parts.features) == 1:
        features, given = parts.features[0].matrix, parts.features[0].names
    else:
        features, given = _join(parts.features, parts.name)
    if not parts.published:
        warn_about_constants(features, given, parts.name)
    return features, given


def features_for_model(parts: Parts, known: Sequence[str], node_columns: int) -> Matrix:
    """Return the features that a model knows, in its order.

    Args:
        parts: the graph.
        known: the names of the model's features.
        node_columns: how many of the first ones come from a table of nodes, so that a graph may not lack them.
    """
    if not parts.features:
        return _structural_for_model(parts, known)
    blocks: list[Block] = []
    for block in parts.features:
        if block.one_hot:
            block = _select(block, [name for name in known if name.startswith(f"{block.one_hot}=")], parts.name)
        elif block.sparse:
            before = {name for block in blocks for name in _names(block)}
            block = _select(block, [name for name in known[node_columns:] if name not in before], parts.name)
        blocks.append(block)
    features, names = _join(blocks, parts.name)
    place = {name: number for number, name in enumerate(names)}
    if set(place) != set(known):
        raise _other_features(names, known, parts.name)
    return features if names == list(known) else features[:, [place[name] for name in known]]


def _structural_for_model(parts: Parts, known: Sequence[str]) -> Matrix:
    features, names = structural_features(parts.adjacency, identity=False)
    if names != list(known):
        raise DatasetError(
            f"{parts.name} has no features, but the model was trained with {len(known)}; a model that was trained "
            "without features can only be used on its own graph, which is the default."
        )
    return features


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


def _other_features(names: Sequence[str], known: Sequence[str], name: str) -> DatasetError:
    what = f"{name} has {len(names)} features, but the model was trained with {len(known)}"
    if missing := [repr(n) for n in known if n not in set(names)][:1]:
        what += f"; {missing[0]} is missing"
    if extra := [repr(n) for n in names if n not in set(known)][:1]:
        what += f"; {extra[0]} is not one of the model's"
    return DatasetError(f"{what}; use the features that the model was trained with.")
