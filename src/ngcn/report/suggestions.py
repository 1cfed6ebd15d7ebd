"""Settings to consider for a graph, before training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import scipy.sparse as sp

from ngcn.config import FILE_SETTINGS, Config
from ngcn.data.columns import NUMBERS, ColumnFacts
from ngcn.data.feature_columns import WIDE
from ngcn.graph import Facts, Graph, is_identity
from ngcn.graph._features import IDENTITY_NODES
from ngcn.model import ignores_values, prepare

FEW_LABELS = 10, 30  # training nodes of a class, on average, with which the recipe consistency is suggested
WORDS = 3  # of a node, on average, in a bag of words
FEW = 30  # validation nodes
UNEQUAL = 3  # times as many training nodes in the largest class as in the rarest
RAREST = 5  # training nodes of a class; with fewer, weights and scores of that class are noise
USEFUL = 0.1  # how far homophily must be above that of random labels, as a share of what it could be
DIRECTED = "['gcn:symmetric:0,1,2', 'sage:in:1,2', 'sage:out:1,2']"
FAR = "['gcn:symmetric:0,1,2,4,8,16', 'sage:walk:1,2,3']"
OPTIONS = {"one-hot": "one_hot", "text": "text", "ignored": "ignore"}  # of a kind of column


class Suggestion(NamedTuple):
    """A setting to consider, as an argument such as `balance=True`, and why."""

    option: str
    why: str


def with_option(column: ColumnFacts) -> ColumnFacts:
    """A column with the option that says how it is used, if there is one."""
    option = OPTIONS.get(column.kind) if column.suggestion else None
    return column._replace(suggestion=_argument(option, column) if option else "")


def explicit(config: Config, columns: Sequence[ColumnFacts]) -> dict[str, Any]:
    """The settings about the data that differ from the default, and the treatment of each column that is no number."""
    names = (*FILE_SETTINGS, "split", "seed", "missing", "features")
    default = Config(dataset=config.dataset)
    found = {name: getattr(config, name) for name in names if getattr(config, name) != getattr(default, name)}
    for column in columns:
        if column.suggestion and column.name not in (*config.one_hot, *config.text):
            found[OPTIONS[column.kind]] = (*found.get(OPTIONS[column.kind], ()), column.name)
    return found


def suggestions(graph: Graph, config: Config, columns: Sequence[ColumnFacts], known: Facts) -> Iterator[Suggestion]:
    """What may be better than the default for this graph."""
    yield from _about_columns(graph, columns)
    yield from _about_labels(graph, config, known)
    same, at_random = known.homophily, known.random_homophily
    if not known.max_degree and not is_identity(graph):
        why = "there are no edges: a model on the features alone; or use NGCNClassifier, which links similar nodes"
        yield Suggestion("`model='mlp'`", why)
    if same is not None and at_random is not None and same - at_random < USEFUL * (1 - at_random):
        why = "neighbours do not share their class"
        yield Suggestion("`model='mlp'`", f"{why}: a model without edges, to compare with")
        yield Suggestion(f"`mix={DIRECTED}`", f"{why}: if edges have a direction, these towers use it")
    elif known.max_degree and is_identity(graph):
        yield Suggestion(f"`mix={FAR}`", "nodes have no features: these towers pass labels on over longer paths")
    if ignores_values(graph, config):
        yield Suggestion("`features='row'`", "only which features a node has counts by default; this keeps the values")


def _about_columns(graph: Graph, columns: Sequence[ColumnFacts]) -> Iterator[Suggestion]:
    used = [column for column in columns if column.kind in (*NUMBERS, "one-hot", "text")]
    alike = [column for column in used if _is_alike(graph, column)]
    left = len(alike) < len(used) or graph.node_columns < graph.features.shape[1]
    left = left or graph.nodes > IDENTITY_NODES  # degrees and walks take their place
    for column in alike:
        has = (
            "only one value"
            if column.distinct == 1
            else "the same words in every cell"
            if column.distinct
            else "no value"
        )
        end = "" if left else "; but no feature would be left, and a model could then only predict its own graph"
        yield Suggestion(_argument("ignore", column), f"the column has {has}{end}")


def _is_alike(graph: Graph, column: ColumnFacts) -> bool:
    """Whether the features of a column are the same for every node."""
    if column.kind != "text":
        return column.distinct < 2 and not (
            column.kind == "one-hot" and column.missing
        )  # that a cell is empty may tell
    words = {name for of in graph.columns if of.name == column.name for name in of.features}
    block = sp.csr_array(graph.features[:, [name in words for name in graph.feature_names]])
    return (block.max(axis=0) != block.min(axis=0)).nnz == 0


def _about_labels(graph: Graph, config: Config, known: Facts) -> Iterator[Suggestion]:
    few, many = known.rarest_class, known.largest_class
    if many > UNEQUAL * few and few >= RAREST and not graph.multilabel:
        why = f"classes have {few:,} to {many:,} training nodes"
        yield Suggestion("`balance=True`", f"{why}: every class counts the same in training")
        yield Suggestion("`metric='macro_f1'`", f"{why}: the score that selects gives each the same weight")
    validation = int(graph.val.sum())
    if validation < FEW:
        why = f"labels are few: the {validation} validation nodes are trained on, too; their scores stay the same"
        yield Suggestion("`refit=True`", why)
    least, most = (labels * graph.classes for labels in FEW_LABELS)
    if least <= known.train <= most and known.max_degree and not graph.multilabel and _has_words(graph, config):
        why = f"{known.train:,} training nodes are few: it learns from others, too"
        yield Suggestion("`recipe='consistency'`", why)


def _has_words(graph: Graph, config: Config) -> bool:
    """Whether features are a bag of words. With others, the recipe consistency can be much worse than the default."""
    X: Any = graph.features
    if not sp.issparse(X) or X.shape[1] < WIDE or X.nnz < WORDS * graph.nodes:
        return False
    one_hot = any(column.kind == "one-hot" for column in graph.columns)
    return not one_hot and prepare(graph, config).how in ("bag", "unit")


def _argument(setting: str, column: ColumnFacts) -> str:
    return f"`{setting}={[column.name]}`"
