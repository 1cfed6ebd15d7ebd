"""The data of the page, ready for JSON. Probabilities are integers per mille, to keep the page small."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import torch

from ngcn.explain import Explainer, Explanation, Neighbour
from ngcn.graph import Graph, missing_per_column
from ngcn.model import Card, Model
from ngcn.registry import title_of
from ngcn.report.project import hidden_layer, project
from ngcn.report.quality import quality
from ngcn.report.sample import by_priority, of_all, of_sample
from ngcn.runs import Run
from ngcn.runs.scored import Scored, scored
from ngcn.scoring import metric_of
from ngcn.text import METRICS, count, mean_std
from ngcn.version import __version__

MAP_NODES = 3_000  # t-SNE of more nodes takes more than a minute
PAGE_NODES = {False: 20_000, True: 5_000}  # single- and multi-label: a few megabytes
LISTED = 5  # classes of a node, the most probable ones
UNCERTAIN = 20  # nodes in the list of the least certain
EXPLAINED = 200  # nodes to explain in full by default
EXPLAINED_ENTRIES = 12_000_000  # the limit of (nodes to explain) x (entries of Â); more would take minutes
CURVE_POINTS = 300
MOST_MISSING = 20  # features in the table of missing values
REFERENCES = {
    "majority": "Majority class",
    "regression": "Logistic regression on the features",
    "propagation": "Label propagation along the edges",
}


def gather(
    model: Model, graph: Graph, run: Run | None, explain: int | None, on_progress: Callable[[str], None]
) -> dict[str, Any]:
    """The data of the page; arguments as for :func:`~ngcn.report.write_report`. ``run`` is the model's, if any."""
    own = run if run is not None and run.card.fingerprint == graph.fingerprint() else None
    other = None if own else scored(run, graph)
    whole = other.graph if other else graph
    new = all_new = np.zeros(graph.nodes, bool) if own or model.card.node_ids is None else model.new_nodes(graph)
    on_progress("predicting")
    with torch.no_grad():
        if model.is_large(whole):
            explainer, Z, nodes = of_sample(model, whole, new)
            new = all_new[nodes]
        else:
            explainer, Z = of_all(model, whole)
        graph, classes = explainer.graph, explainer.graph.class_names
        logits, calibrated = explainer.network.classifier(Z), explainer.network.combine(Z)
        p, before = (explainer.probabilities(of).numpy() for of in (calibrated, logits))
        votes = explainer.contributions(Z, calibrated.argmax(dim=1)).numpy()
    confidence = np.maximum(p, 1 - p).mean(axis=1) if graph.multilabel else p.max(axis=1)
    if explain is None:
        explain = min(EXPLAINED, max(UNCERTAIN, EXPLAINED_ENTRIES // (graph.nodes + graph.adjacency.nnz)))
    uncertain = np.lexsort((confidence, ~new))[:UNCERTAIN]
    order = by_priority(graph, p, new, uncertain, explain)
    shown = np.sort(order[: PAGE_NODES[graph.multilabel]])
    place = {int(node): i for i, node in enumerate(shown)}  # the position of a node in the page
    in_full, explained = order[: min(explain, len(shown))].tolist(), {}
    for number, node in enumerate(in_full):
        on_progress(f"explaining nodes, {number} of {len(in_full)}")
        explained[place[node]] = _explanation(explainer.explain(node, features=8, exact="features"), classes)
    on_progress("drawing the map")
    on_map = np.sort(order[: min(MAP_NODES, len(shown))])
    hidden, hidden_name = hidden_layer(explainer.network, Z)
    x, y = project(hidden[on_map]).T
    return {
        **_summary(model, whole, run, other, int(all_new.sum())),
        "command": _command(run, whole, own is not None),
        "curves": _curves(own, len(explainer.network.tower_powers)) if own else [],
        "scales": _scales(run, explainer, votes),
        "quality": quality(graph, p, None if torch.equal(logits, calibrated) else before),
        "missing": _missing(model, graph),
        "classes": list(classes),
        "identity": explainer.identity,
        "powers": list(explainer.towers),
        "score_is": explainer.score_is,
        "multilabel": graph.multilabel,
        "all_nodes": whole.nodes,
        "nodes": _nodes(graph, shown, p, confidence, votes),
        "new": [] if all_new.all() else np.flatnonzero(new[shown]).tolist(),
        "uncertain": [place[int(node)] for node in uncertain],
        "explained": explained,
        "map": {"node": [place[node] for node in on_map.tolist()], "x": x.tolist(), "y": y.tolist(), "of": hidden_name},
    }


def _nodes(graph: Graph, shown: np.ndarray, p: np.ndarray, confidence: np.ndarray, votes: np.ndarray) -> dict[str, Any]:
    """A list per attribute, with an entry per node."""
    labels, p = graph.labels[shown], p[shown]
    most_probable = np.argsort(-p, axis=1, kind="stable")[:, :LISTED]
    class_and_probability = np.stack([most_probable, _mille(np.take_along_axis(p, most_probable, axis=1))], axis=2)
    return {
        "id": [str(node) for node in graph.node_ids[shown].tolist()],
        "predicted": p.argmax(axis=1).tolist(),
        "confidence": _mille(confidence[shown]).tolist(),
        "probabilities": class_and_probability.reshape(len(p), -1).tolist(),  # class, probability, class, ...
        "chosen": [np.flatnonzero(row > 0.5).tolist() for row in p] if graph.multilabel else None,
        "truth": [np.flatnonzero(row).tolist() for row in labels] if graph.multilabel else labels.tolist(),
        "split": (graph.train + 2 * graph.val + 3 * graph.test)[shown].tolist(),
        "votes": _mille(votes[shown]).tolist(),
    }


def _summary(model: Model, graph: Graph, run: Run | None, other: Scored | None, new: int) -> dict[str, Any]:
    """What the top and the end of the page say; ``other`` is not None for another graph than that of the training, with
    so many new nodes."""
    config, settings = model.config, model.config.to_dict()
    if run and not other:
        results = [run.scores(seed) for seed in run.seeds]
        best, found = run.scores(run.best_seed), run.summary().get("references") or {}
    else:
        scores: dict[str, dict[str, float]] = {"val_scores": {}, "test_scores": {}}
        if other and other.split:
            scores[f"{other.split}_scores"] = model.evaluate(graph, other.split)[other.split]
        seed, metric = run.best_seed if run else config.seed, config.metric or metric_of(graph.multilabel)
        best, found, results = {"seed": seed, "metric": metric, **scores}, {}, []
    split = "test" if best["test_scores"] else "val"
    references = {title: found[key][split] for key, title in REFERENCES.items() if key in found}
    names = dict.fromkeys((best["metric"], *(best["val_scores"] or best["test_scores"])))
    return {
        "title": f"{title_of(config.model, config.recipe)} on {graph.name}{_unlike(model.card, graph, new)}",
        "trained_on": other and _trained_on(model.card, graph, other, new),
        "model": title_of(config.model),
        **{name: getattr(config, name) for name in ("classifier", "recipe", "replicas")},
        "version": __version__,
        "metric": METRICS[best["metric"]],
        "best_seed": best["seed"],
        "scores": [
            _scores(name, best, results or [best]) | {"references": [of.get(name) for of in references.values()]}
            for name in (names if best[f"{split}_scores"] else ())
        ],
        "references": list(references),
        "seeds": [
            {key: r[key] for key in ("seed", "val", "test", "best_step", "steps", "seconds", "status", "stopped")}
            for r in results
        ],
        "graph": {
            "nodes": graph.nodes,
            "edges": graph.edges,
            "features": graph.features.shape[1],
            "classes": graph.classes,
            **{split: int(getattr(graph, split).sum()) for split in ("train", "val", "test")},
        },
        "settings": [
            [f.name, _plain(settings[f.name]), f.metadata["help"]]
            for f in fields(config)
            if settings[f.name] not in (None, {}, (), [])
        ],
    }


def _unlike(card: Card, graph: Graph, new: int) -> str:
    """What tells a graph from that of the training, if they have the same name."""
    if graph.name != card.name or graph.fingerprint() == card.fingerprint:
        return ""
    return f", with {count(new, 'new node')}" if new else ", another version"


def _trained_on(card: Card, graph: Graph, other: Scored, new: int) -> dict[str, Any]:
    """The name of the graph of the training, None if it is this one; the number of new nodes, None if an older version
    of the model did not store ids; and the nodes that the scores are of."""
    same = graph.fingerprint() == card.fingerprint
    return {
        "name": None if same else card.name,
        "new": None if card.node_ids is None else new,
        "scored": other.nodes,
    }


def _command(run: Run | None, graph: Graph, own: bool) -> str | None:
    """How to explain a node: the command without its id; None for a model that is in no run folder."""
    if run is None:
        return None
    tables = [word for option, path in graph.tables.items() for word in (f"--{option.replace('_', '-')}", path)]
    words = ["ngcn", "explain", str(run.folder), *([] if own else [graph.source or graph.name, *tables]), "--node"]
    return shlex.join(words)


def _missing(model: Model, graph: Graph) -> dict[str, Any] | None:
    """The features with most missing values, and how they were filled; None if there are none."""
    missing = missing_per_column(graph.features)
    worst = np.argsort(-missing, kind="stable")[: np.count_nonzero(missing)]
    if not len(worst):
        return None
    rows = [[graph.feature_names[c], int(missing[c])] for c in worst[:MOST_MISSING].tolist()]
    share = float(missing.sum() / (graph.nodes * len(missing)))
    return {"how": model.card.preparation.missing, "features": len(worst), "share": share, "rows": rows}


def _scores(name: str, best: dict[str, Any], seeds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A score of the best seed, with mean and standard deviation over all seeds; None without test nodes."""
    found: dict[str, Any] = {"name": METRICS[name]}
    for split in ("val", "test"):
        known = [r[f"{split}_scores"][name] for r in seeds if name in r[f"{split}_scores"]]
        found |= {split: mean_std(known) if known else None, f"best_{split}": best[f"{split}_scores"].get(name)}
    return found


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else f"{value}"


def _curves(run: Run, towers: int) -> list[dict[str, Any]]:
    """Loss and score by step for every seed, thinned to a few hundred points that keep the best step."""
    curves = []
    for seed in run.seeds:
        history, best = run.history(seed), run.scores(seed)["best_step"]
        if run.config.recipe == "independent":  # its loss is a sum over towers, but not its validation loss
            history["loss"] = [loss / towers for loss in history["loss"]]
        steps = len(history["val"])
        every = -(-steps // CURVE_POINTS)
        kept = [i for i in range(1, steps + 1) if i % every == 0 or i in (1, best, steps)]
        columns = {name: [round(column[i - 1], 4) for i in kept] for name, column in history.items()}
        curves.append({"seed": seed, "best_step": best, "step": kept, **columns})
    return curves


def _scales(run: Run | None, explainer: Explainer, votes: np.ndarray) -> dict[str, Any]:
    """The weight and the validation score of the towers of each power, or kind and power; without weights, their mean
    contribution over all nodes."""
    weights, towers = explainer.network.scale_weights(), run and run.scores(run.best_seed).get("towers")
    means = run.summary()["scale_weights"] if run and run.config.seeds > 1 else None
    value = dict(zip(explainer.towers, votes.mean(axis=0), strict=True)) if weights is None else weights
    return {
        "weighted": weights is not None,
        "powers": list(value),
        "value": [round(float(w), 4) for w in value.values()],
        "mean": [round(w, 4) for w in means] if means else None,
        "val": [row["val"] for row in towers] if towers else None,
    }


def _class_of(u: Neighbour, classes: Sequence[str]) -> tuple[list[int], int]:
    """The numbers of the labels, or of the predicted classes, of a node; and whether they are predicted."""
    names = u.predicted or [] if u.truth is None else u.truth
    return [classes.index(name) for name in names], int(u.truth is None)


def _explanation(why: Explanation, classes: Sequence[str]) -> dict[str, Any]:
    def points(share: float) -> float:
        return round(100 * share, 2)

    rings = [
        [
            ring.distance,
            ring.nodes,
            points(ring.points),
            [[str(u.id), points(u.points), *_class_of(u, classes)] for u in ring.strongest],
        ]
        for ring in why.rings
    ]
    return {
        "rings": rings,
        "features": [[f.name, points(f.effect or 0.0), points(f.points), points(f.own)] for f in why.features],
    }


def _mille(shares: np.ndarray) -> np.ndarray:
    return np.rint(1000 * shares).astype(int)
