"""Run folders that 0.2.0 wrote still load, and predict the same."""

from pathlib import Path
from shutil import copytree

import pandas as pd
import pytest

from ngcn import Run, predict

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("stored-0.2.0")


@pytest.mark.parametrize("model", ["ngcn", "lp"])
def test_a_run_of_0_2_0_predicts_the_same(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copytree(STORED / model, tmp_path / model)
    copytree(ROOT / "examples" / "town", tmp_path / "town")
    monkeypatch.chdir(tmp_path)
    run = Run.open(model)
    table = predict(run)
    table.to_csv("predictions.csv", index=False, float_format="%.6g", lineterminator="\n")
    expected, found = pd.read_csv(STORED / model / "predictions.csv"), pd.read_csv("predictions.csv")
    pd.testing.assert_frame_equal(found[expected.columns], expected, rtol=1e-4)
    assert set(found) - set(expected) == ({"disagreement"} if model == "ngcn" else set())  # which 0.2.0 did not have
    assert run.config.split == "given" and run.config.recipe == ("paper" if model == "ngcn" else None)
    stored, scores = run.scores(0)["test_scores"], run.model().evaluate(run.graph(), "test")["test"]
    assert stored and {name: scores[name] for name in stored} == stored


def test_settings_that_0_2_0_did_not_have_are_as_they_were() -> None:
    config = Run.open(STORED / "ngcn").config
    assert "recipe" not in (STORED / "ngcn" / "config.yaml").read_text()
    assert (config.recipe, config.bias, config.patience) == ("paper", False, None)
    assert not config.balance and not config.refit and config.metric is config.mix is None
    network = Run.open(STORED / "ngcn").model().network
    assert network.calibration.slope.tolist() == [1] and not network.calibration.offset.any()
    assert len(network.calibration.conformal) == 0
