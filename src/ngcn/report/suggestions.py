"""Settings to consider for a graph, before training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ngcn.config import FILE_SETTINGS, Config
from ngcn.data.columns import ColumnFacts
from ngcn.graph import Facts, Graph
from ngcn.model import ignores_values

FEW_LABELS = 10, 30  # training nodes of a class, on average, with which the recipe consistency is suggested
FEW = 30  # validation nodes
UNEQUAL = 3  # times as many training nodes in the largest class as in the rarest
USEFUL = 0.1  # how far homophily must be above that of random labels, as a share of what it could be
DIRECTED = "['gcn:symmetric:0,1,2', 'sage:in:1,2', 'sage:out:1,2']"


class Suggestion(NamedTuple):
    """A setting to consider, as an argument such as `balance=True`, and why."""

    option: str
    why: str


def explicit(config: Config, columns: Sequence[ColumnFacts]) -> dict[str, Any]:
    """The settings about the data that differ from the default, and the treatment of each column that is no number."""
    names = (*FILE_SETTINGS, "split", "seed", "missing", "features")
    default = Config(dataset=config.dataset)
    found = {name: getattr(config, name) for name in names if getattr(config, name) != getattr(default, name)}
    for column in columns:
        if column.suggestion and column.name not in (*config.one_hot, *config.text):
            option = column.suggestion.strip("`").partition("=")[0]
            found[option] = (*found.get(option, ()), column.name)
    return found


def suggestions(graph: Graph, config: Config, columns: Sequence[ColumnFacts], known: Facts) -> Iterator[Suggestion]:
    """What may be better than the default for this graph."""
    for column in columns:
        if column.suggestion and column.distinct < 2:
            value = "only one value" if column.distinct else "no value"
            yield Suggestion(column.suggestion, f"the column has {value}")
    yield from _about_labels(graph, known)
    same, at_random = known.homophily, known.random_homophily
    if same is not None and at_random is not None and same - at_random < USEFUL * (1 - at_random):
        why = "neighbours do not share their class"
        yield Suggestion("`model='mlp'`", f"{why}: a model without edges, to compare with")
        yield Suggestion(f"`mix={DIRECTED}`", f"{why}: if edges have a direction, these towers use it")
    if ignores_values(graph, config):
        yield Suggestion("`features='row'`", "only which features a node has counts by default; this keeps the values")


def _about_labels(graph: Graph, known: Facts) -> Iterator[Suggestion]:
    few, many = known.rarest_class, known.largest_class
    if many > UNEQUAL * few and not graph.multilabel:
        why = f"classes have {few:,} to {many:,} training nodes"
        yield Suggestion("`balance=True`", f"{why}: every class counts the same in training")
        yield Suggestion("`metric='macro_f1'`", f"{why}: the score that selects gives each the same weight")
    validation = int(graph.val.sum())
    if validation < FEW:
        yield Suggestion("`refit=True`", f"labels are few: the {validation} validation nodes are trained on, too")
    least, most = (labels * graph.classes for labels in FEW_LABELS)
    if least <= known.train <= most and not graph.multilabel:  # with 5 of a class it is worse than the default
        yield Suggestion(
            "`recipe='consistency'`", f"{known.train:,} training nodes are few: it learns from others, too"
        )
