import numpy as np
import pytest
import torch
from sklearn.metrics import accuracy_score, f1_score

from ngcn.scoring import scores


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_equals_sklearn(seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, labels = random.normal(size=(50, 4)), random.integers(0, 4, 50)
    found = scores(torch.from_numpy(logits), torch.from_numpy(labels))
    assert found == {"accuracy": pytest.approx(accuracy_score(labels, logits.argmax(axis=1)), abs=1e-15)}


@pytest.mark.parametrize("seed", range(5))
def test_f1_equals_sklearn_also_for_classes_that_never_occur(seed: int) -> None:
    random = np.random.default_rng(seed)
    logits, labels = random.normal(size=(30, 6)), (random.random((30, 6)) < 0.3).astype(np.float32)
    labels[:, 1] = 0
    labels[:, 2], logits[:, 2] = 0, -1  # neither true nor predicted
    found = scores(torch.from_numpy(logits), torch.from_numpy(labels))
    for average in ("micro", "macro"):
        true = f1_score(labels, logits > 0, average=average, zero_division=0)
        assert found[f"{average}_f1"] == pytest.approx(true, abs=1e-12)
    assert next(iter(found)) == "micro_f1"
