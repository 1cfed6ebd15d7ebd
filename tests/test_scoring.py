import numpy as np
import pytest
import torch
from scipy.special import expit, softmax
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    roc_auc_score,
)

from ngcn.scoring import cross_entropy, log_likelihoods, metric_of, node_losses, score, scores
from ngcn.text import METRICS


def single(seed: int, classes: int = 4, nodes: int = 50) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=(nodes, classes)), random.integers(0, classes, nodes)


def several(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    return random.normal(size=(40, 5)), (random.random((40, 5)) < 0.3).astype(np.float32)


def found(logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    return scores(torch.from_numpy(logits), torch.from_numpy(labels))


def by_sklearn(logits: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """All scores of single labels; every class occurs."""
    p, predicted = softmax(logits, axis=1), logits.argmax(axis=1)
    one_hot = np.eye(logits.shape[1])[labels]
    return {
        "accuracy": accuracy_score(labels, predicted),
        "balanced_accuracy": balanced_accuracy_score(labels, predicted),
        "macro_f1": f1_score(labels, predicted, average="macro"),
        "micro_f1": f1_score(labels, predicted, average="micro"),
        "roc_auc": np.mean([roc_auc_score(true, q) for true, q in zip(one_hot.T, p.T, strict=True)]),
        "average_precision": average_precision_score(one_hot, p, average="macro"),
        "loss": log_loss(labels, p),
    }


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_single_label_scores_equal_sklearn(seed: int, classes: int) -> None:
    logits, labels = single(seed, classes)
    assert found(logits, labels) == pytest.approx(by_sklearn(logits, labels), abs=1e-12)
    assert next(iter(found(logits, labels))) == metric_of(False) == "accuracy"
    if classes > 2:
        p = softmax(logits, axis=1)
        one_vs_rest = roc_auc_score(labels, p, multi_class="ovr", average="macro")
        assert found(logits, labels)["roc_auc"] == pytest.approx(one_vs_rest, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_multilabel_scores_equal_sklearn(seed: int) -> None:
    logits, labels = several(seed)
    predicted, p = logits > 0, expit(logits)
    expected = {
        "accuracy": accuracy_score(labels.ravel(), predicted.ravel()),  # of single decisions
        "balanced_accuracy": np.mean([balanced_accuracy_score(labels[:, c], predicted[:, c]) for c in range(5)]),
        "macro_f1": f1_score(labels, predicted, average="macro", zero_division=0),
        "micro_f1": f1_score(labels, predicted, average="micro"),
        "roc_auc": roc_auc_score(labels, p, average="macro"),
        "average_precision": average_precision_score(labels, p, average="macro"),
        "loss": log_loss(labels.ravel(), p.ravel()),
    }
    assert found(logits, labels) == pytest.approx(expected, abs=1e-7)
    assert next(iter(found(logits, labels))) == metric_of(True) == "micro_f1"


def test_ranks_that_are_tied_are_shared() -> None:
    random = np.random.default_rng(0)
    logits, labels = np.round(random.normal(size=(60, 3))), random.integers(0, 3, 60)
    assert len(np.unique(softmax(logits, axis=1)[:, 0].round(9))) < 40
    assert found(logits, labels) == pytest.approx(by_sklearn(logits, labels), abs=1e-12)
    same = found(np.zeros((60, 3)), labels)
    assert same["roc_auc"] == 0.5 and same["average_precision"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_f1_equals_sklearn_also_for_classes_that_never_occur(seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, labels = random.normal(size=(30, 6)), (random.random((30, 6)) < 0.3).astype(np.float32)
    labels[:, 1] = 0
    labels[:, 2], logits[:, 2] = 0, -1  # neither true nor predicted
    for average in ("micro", "macro"):
        true = f1_score(labels, logits > 0, average=average, zero_division=0)
        assert found(logits, labels)[f"{average}_f1"] == pytest.approx(true, abs=1e-12)
    there = [0, 3, 4, 5]  # a class that never occurs has no rank, and no share that is found
    assert found(logits, labels)["roc_auc"] == pytest.approx(roc_auc_score(labels[:, there], logits[:, there]))
    precision = average_precision_score(labels[:, there], logits[:, there])
    assert found(logits, labels)["average_precision"] == pytest.approx(precision)


@pytest.mark.parametrize("seed", range(3))
def test_classes_that_do_not_occur_are_left_out_of_means(seed: int) -> None:
    logits, labels = single(seed)
    some = labels < 3
    logits, labels = logits[some], labels[some]
    p, predicted = softmax(logits, axis=1), logits.argmax(axis=1)
    assert (predicted == 3).any()  # predicted, but never true
    of = found(logits, labels)
    assert of["roc_auc"] == pytest.approx(np.mean([roc_auc_score(labels == c, p[:, c]) for c in range(3)]))
    recall = [np.mean(predicted[labels == c] == c) for c in range(3)]
    assert of["balanced_accuracy"] == pytest.approx(np.mean(recall))
    assert of["macro_f1"] == pytest.approx(f1_score(labels, predicted, average="macro"))


def test_scores_that_are_not_defined_are_left_out() -> None:
    logits, labels = single(0)
    one_class = found(logits, np.zeros_like(labels))
    assert "roc_auc" not in one_class and set(METRICS) - set(one_class) == {"roc_auc"}
    assert np.isnan(score("roc_auc", torch.from_numpy(logits), torch.zeros(50, dtype=torch.long)))
    nothing = found(several(0)[0], np.zeros((40, 5), np.float32))
    assert not {"roc_auc", "average_precision", "balanced_accuracy"} & set(nothing)
    assert nothing["micro_f1"] == nothing["macro_f1"] == 0
    assert all(np.isfinite(value) for value in nothing.values())


@pytest.mark.parametrize("metric", METRICS)
def test_one_score_is_that_of_all(metric: str) -> None:
    for logits, labels in (single(1), several(1)):
        assert score(metric, torch.from_numpy(logits), torch.from_numpy(labels)) == found(logits, labels)[metric]


@pytest.mark.parametrize("seed", range(3))
def test_weighted_cross_entropy_is_a_weighted_mean(seed: int) -> None:
    weights = np.random.default_rng(seed).random(50) * (np.arange(50) % 3 > 0)
    logits, labels = single(seed)
    given = torch.from_numpy(logits), torch.from_numpy(labels)
    expected = log_loss(labels, softmax(logits, axis=1), sample_weight=weights)
    assert cross_entropy(*given, torch.from_numpy(weights)).item() == pytest.approx(expected)
    assert cross_entropy(*given, torch.full((50,), 0.3).double()).item() == pytest.approx(cross_entropy(*given).item())
    left = np.flatnonzero(weights)
    assert cross_entropy(*given, torch.from_numpy(weights > 0).double()).item() == pytest.approx(
        cross_entropy(given[0][left], given[1][left]).item()
    )


def test_weighted_cross_entropy_of_several_labels() -> None:
    logits, labels = several(0)
    weights = np.random.default_rng(0).random(40)
    expected = log_loss(labels.ravel(), expit(logits).ravel(), sample_weight=weights.repeat(5))
    given = torch.from_numpy(logits), torch.from_numpy(labels)
    assert cross_entropy(*given, torch.from_numpy(weights)).item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("make", [single, several])
def test_losses_of_nodes_and_towers(make) -> None:
    """Each tower by itself; their mean over nodes is the cross entropy."""
    towers = [make(seed)[0] for seed in (0, 1, 2)]
    labels = torch.from_numpy(make(0)[1])
    Z = torch.from_numpy(np.stack(towers, axis=1))
    losses = node_losses(Z, labels)
    assert losses.shape == (len(labels), 3)
    for t in range(3):
        assert losses[:, t].mean().item() == pytest.approx(cross_entropy(Z[:, t], labels).item())
        torch.testing.assert_close(node_losses(Z[:, t], labels), losses[:, t])
    one = torch.stack([cross_entropy(Z[i : i + 1, 1], labels[i : i + 1]) for i in range(len(labels))])
    torch.testing.assert_close(losses[:, 1].float(), one.float())
    likely = log_likelihoods(Z, labels)
    assert likely.shape == (labels.numel(), 3)
    assert -likely.mean(dim=0).sum().item() == pytest.approx(losses.mean(dim=0).sum().item())
