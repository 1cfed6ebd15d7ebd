import numpy as np
import pytest

from ngcn.cli.predict import _decide


def test_one_label_is_the_likeliest() -> None:
    names, sure = _decide(np.array([[0.2, 0.8], [0.6, 0.4]]), ("a", "b"), multilabel=False)
    assert names == ["b", "a"] and sure.tolist() == [0.8, 0.6]


def test_several_labels_are_all_above_one_half_and_confidence_is_the_mean() -> None:
    names, sure = _decide(np.array([[0.9, 0.8, 0.1], [0.1, 0.4, 0.5]]), ("a", "b", "c"), multilabel=True)
    assert names == ["a;b", ""] and sure == pytest.approx([2.6 / 3, 2.0 / 3])
