import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ngcn import checks
from ngcn.data.splits import draw_graphs, draw_split, hold_out, random_split
from ngcn.errors import ConfigError, DatasetError


@given(
    labels=st.lists(st.integers(-1, 3), min_size=1, max_size=60).map(np.array),
    per_class=st.integers(1, 5),
    val=st.integers(1, 20),
    test=st.integers(1, 20),
    seed=st.integers(0, 9),
)
def test_a_split_is_valid_or_an_error(labels: np.ndarray, per_class: int, val: int, test: int, seed: int) -> None:
    known = labels[labels >= 0]
    left = len(known) - per_class * len(np.unique(known))
    try:
        masks = random_split(labels, per_class, val, test, seed)
    except DatasetError:
        scarce = not len(known) or np.unique(known, return_counts=True)[1].min() < per_class
        assert scarce or left < val + test
        return
    train, *others = masks
    assert (np.unique(labels[train], return_counts=True)[1] == per_class).all()
    assert set(labels[train]) == set(known)
    assert sum(masks).max() == 1  # no node twice
    assert not any(mask[labels < 0].any() for mask in masks)
    if left >= val + test:
        assert [mask.sum() for mask in others] == [val, test]
    else:
        assert sum(mask.sum() for mask in others) == left and all(mask.any() for mask in others)
    for mask, again in zip(masks, random_split(labels, per_class, val, test, seed), strict=True):
        np.testing.assert_array_equal(mask, again)


def test_validation_and_test_do_not_look_at_labels() -> None:
    """Every labelled node that is not drawn for training is as likely in the test split as any other."""
    labels = np.repeat([0, 1], [90, 10])
    drawn = np.mean([random_split(labels, 5, 20, 40, seed)[2] for seed in range(400)], axis=0)
    assert drawn[:90].mean() == pytest.approx(85 / 90 * 40 / 90, abs=0.02)
    assert drawn[90:].mean() == pytest.approx(5 / 10 * 40 / 90, abs=0.03)


INVALID = {
    "multi-label": ((np.eye(3), 1), "multi-label"),
    "none labelled": ((np.full(9, -1), 1), "no node is labelled"),
    "scarce class": ((np.array([0, 0, 0, 1]), 2), "needs 2 training nodes per class, but class 1 has 1"),
    "nothing left": ((np.array([0, 0, 1, 1]), 2), "0 labelled node.* left"),
    "one left": ((np.array([0, 0, 1]), 1), "1 labelled node.* left"),
    "none asked for": ((np.array([0, 1]), 0), "needs 1 node or more"),
    "no test nodes": ((np.array([0, 1]), 1, 5, 0), "needs 1 node or more"),
}


@pytest.mark.parametrize(("arguments", "message"), INVALID.values(), ids=INVALID)
def test_raises(arguments: tuple, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        random_split(*arguments)


def test_draws() -> None:
    classes = np.repeat([0, 1, 2, -1], [1, 2, 3, 5])
    train, val, test = draw_split(classes >= 0, classes, seed=3)
    assert [np.bincount(classes[m], minlength=3).tolist() for m in (train, val, test)] == [
        [1, 1, 2],
        [0, 1, 1],
        [0, 0, 0],
    ]
    many = np.repeat([0, 1, -1], [4, 8, 3])
    halves = draw_split(many >= 0, many)
    assert [np.bincount(many[mask]).tolist() for mask in halves] == [[2, 4], [1, 2], [1, 2]]
    quarters = hold_out(many >= 0, many)
    assert [np.bincount(many[mask]).tolist() for mask in quarters] == [[3, 6], [1, 2]]
    train, val = hold_out(np.arange(11) < 6, classes)  # too few of each to hold a quarter out
    assert train.sum() == 4 and val.sum() == 2
    graphs = np.repeat([5, 7], 4)
    labelled = np.array([True] * 7 + [False])
    train, val, test = draw_graphs(graphs, labelled, seed=0)
    assert {int(train.sum()), int(val.sum())} == {3, 4} and not test.any()


@pytest.mark.parametrize(
    "split",
    ["random", "random:", "random:0", "random:-5", "random:x", "random:5 ", "Given", "", -1, "03", 3.0, True, None],
)
def test_names_the_splits(split: object) -> None:
    with pytest.raises(ConfigError, match=r"^split must be given .* or random:N, such as random:20, not .*\.$"):
        checks.split("split", split)
    assert checks.split("split", "given") == checks.split("split", "planetoid") == "given"
    assert checks.split("split", "random:20") == "random:20"
