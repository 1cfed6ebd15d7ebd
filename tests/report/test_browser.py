"""The page in a browser: clicks, keys and content."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ngcn import ConfigError, Run, explain_node, write_report
from ngcn.report.plots import class_colors
from ngcn.text import METRICS
from report.conftest import MARKUP, NGCN, crowds, data_of

pytest.importorskip("selenium")
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

TOWERS = {
    "page": ["features", "GCN Â^1", "GCN Â^2", "GCN Â^4", "SAGE P^1", "SAGE P^2", "SAGE P^3"],
    "paper_page": ["Â^0", "Â^1", "Â^2"],
}
Open = Callable[..., Any]
MakePage = Callable[..., Path]


def text(browser: Any, element: str) -> str:
    return " ".join(browser.find_element(By.ID, element).text.split()).replace(" ,", ",")


def superscript(towers: str) -> str:
    """As the page writes the name of towers: "SAGE P^2" is SAGE P²."""
    name, _, power = towers.partition("^")
    return name + power.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def rows_of(browser: Any, element: str) -> list[list[str]]:
    """The texts of a table, row by row."""
    rows = browser.find_elements(By.CSS_SELECTOR, f"#{element} tr")
    return [[cell.text.replace("\xa0", " ") for cell in row.find_elements(By.CSS_SELECTOR, "th, td")] for row in rows]


def visible_width(browser: Any) -> int:
    return browser.execute_script("return document.documentElement.scrollWidth")


@pytest.mark.parametrize("which", TOWERS)
def test_search_a_node_and_read_why(which: str, request: pytest.FixtureRequest, open_page: Open) -> None:
    page: Path = request.getfixturevalue(which)
    browser, data = open_page(page), data_of(page)
    explained = int(next(iter(data["explained"])))
    node = data["nodes"]["id"][explained]
    search = browser.find_element(By.ID, "search")
    search.send_keys(node)
    assert browser.find_element(By.CSS_SELECTOR, "#found li").text.startswith(node)
    search.send_keys(Keys.ENTER)
    shown = text(browser, "node")
    why = explain_node(page.parent, node, graph=crowds())
    assert shown.startswith(f"Node {node} {why.label}, probability {100 * why.probability:.1f} %")
    assert [vote.towers for vote in why.votes] == TOWERS[which]
    for vote in why.votes:
        assert f"{superscript(vote.towers)} {100 * vote.contribution:.1f} %" in shown
    assert f"Sum: {100 * why.probability:.1f} %, its probability." in shown
    ring = why.rings[1]
    assert f"1 edge away: {ring.nodes} nodes, together {100 * ring.points:+.2f}".replace("-", "−") in shown
    neighbour = ring.strongest[0]
    assert f"{neighbour.id} {neighbour.truth[0]} {100 * neighbour.points:+.2f}".replace("-", "−") in shown
    feature = why.features[0]
    assert f"{feature.name} {100 * feature.effect:+.2f}".replace("-", "−") in shown
    browser.find_element(By.CSS_SELECTOR, "#node summary").click()
    assert f"percentage points the probability of {why.label} would lose" in text(browser, "node")

    browser.find_element(By.CSS_SELECTOR, "#node .link").click()  # on to the first neighbour
    assert text(browser, "node").startswith(f"Node {neighbour.id} ")


def test_click_and_hover_on_the_map(page: Path, open_page: Open) -> None:
    browser, data = open_page(page), data_of(page)
    canvas = browser.find_element(By.ID, "canvas")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    x, y = browser.execute_script("return map.at(7)")
    size = canvas.size
    there = ActionChains(browser).move_to_element_with_offset(
        canvas, round(x - size["width"] / 2), round(y - size["height"] / 2)
    )
    there.perform()
    nearest = browser.execute_script("return map.hovered")
    tip = text(browser, "tip")
    assert data["nodes"]["id"][nearest] in tip and "confidence" in tip and "true: " in tip
    there.click().perform()
    assert text(browser, "node").startswith(f"Node {data['nodes']['id'][nearest]} ")


def test_a_bar_of_a_probability_is_as_wide_as_it_is_probable(page: Path, open_page: Open) -> None:
    browser, data = open_page(page), data_of(page)
    browser.find_element(By.ID, "search").send_keys(data["nodes"]["id"][0], Keys.ENTER)
    track = browser.find_element(By.CSS_SELECTOR, "#node .track")
    bar = track.find_element(By.TAG_NAME, "i")
    assert bar.size["width"] / track.size["width"] == pytest.approx(
        data["nodes"]["probabilities"][0][1] / 1000, abs=0.02
    )


def test_a_node_without_precomputed_reasons_says_so_and_gives_the_command(page: Path, open_page: Open) -> None:
    browser, data = open_page(page), data_of(page)
    other = next(i for i in range(60) if str(i) not in data["explained"])
    node = data["nodes"]["id"][other]
    browser.find_element(By.ID, "search").send_keys(node, Keys.ENTER)
    shown = text(browser, "node")
    assert "This page contains them for 25 of 60 nodes. For this node, run:" in shown
    quoted = "'" + node.replace("'", "'\"'\"'") + "'"
    assert browser.find_element(By.CSS_SELECTOR, "#node code").text == f"ngcn explain '{page.parent}' --node {quoted}"
    assert "Votes of the towers" in shown


def test_an_unknown_node_is_not_found(page: Path, open_page: Open) -> None:
    browser = open_page(page)
    before = text(browser, "node")
    browser.find_element(By.ID, "search").send_keys("nobody", Keys.ENTER)
    assert text(browser, "found") == "No id contains nobody."
    assert text(browser, "node") == before


def test_everything_is_reached_with_the_keyboard(page: Path, open_page: Open) -> None:
    browser = open_page(page)
    reached = []
    for _ in range(200):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        tag, *what = browser.execute_script(
            "const now = document.activeElement;"
            "return [now.localName, now.id, now.innerText, getComputedStyle(now).outlineStyle]"
        )
        if tag == "body":
            break
        reached.append((tag, *what))
        if what[0] == "canvas":
            shown = []
            for key in (Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_UP, Keys.ARROW_DOWN):
                ActionChains(browser).send_keys(key).perform()
                shown.append(text(browser, "node"))
            assert len(set(shown)) > 1
    assert all(outline != "none" for *_, outline in reached)
    assert {"canvas", "search"} <= {id for _, id, _, _ in reached}
    names = [name for tag, _, name, _ in reached if tag in ("button", "summary", "a")]
    for name in ("Skip to the map", "Map", "Prediction", "Mistakes", "+", MARKUP, "What do these numbers mean?"):
        assert name in names
    uncertain = browser.find_element(By.CSS_SELECTOR, "#uncertain-table tbody tr:nth-child(3) button")
    uncertain.send_keys(Keys.ENTER)
    assert text(browser, "node").startswith(f"Node {uncertain.text} ")
    assert browser.switch_to.active_element.get_attribute("id") == "node"


def test_search_suggestions_by_arrow_keys(page: Path, open_page: Open) -> None:
    browser = open_page(page)
    search = browser.find_element(By.ID, "search")
    search.send_keys("node</i> 1", Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    second = browser.find_element(By.CSS_SELECTOR, "#found [aria-selected=true]")
    assert search.get_attribute("aria-activedescendant") == second.get_attribute("id") == "found-1"
    expected = second.text.split(" · ")[0]
    search.send_keys(Keys.ENTER)
    assert text(browser, "node").startswith(f"Node {expected} ")
    search.clear()
    search.send_keys("node", Keys.ESCAPE)
    assert not browser.find_element(By.ID, "found").is_displayed()


def test_dark_mode_follows_the_system(page: Path, open_page: Open) -> None:
    def looks(browser: Any) -> tuple[float, float, list[int]]:
        def lightness(css: str) -> float:
            return sum(float(part) for part in css[css.index("(") + 1 : -1].split(",")[:3]) / 765

        body = browser.find_element(By.TAG_NAME, "body")
        x, y = browser.execute_script("return map.at(0)")
        pixel = browser.execute_script(
            "return [...map.pen.getImageData(arguments[0], arguments[1], 1, 1).data]", round(x), round(y)
        )
        return (
            lightness(body.value_of_css_property("background-color")),
            lightness(body.value_of_css_property("color")),
            pixel,
        )

    light = looks(open_page(page))
    dark = looks(open_page(page, dark=True))
    assert light[0] > 0.9 and light[1] < 0.2
    assert dark[0] < 0.15 and dark[1] > 0.8
    assert light[2] != dark[2]  # the canvas too


@pytest.mark.parametrize("width", [390, 768])
def test_no_sideways_scrolling(page: Path, open_page: Open, width: int) -> None:
    browser = open_page(page, width=width, height=844)
    assert visible_width(browser) <= width
    for element in ("scores-table", "scales-table"):  # and no table is cut off
        inside, around = browser.execute_script(
            "const card = document.getElementById(arguments[0]); return [card.scrollWidth, card.clientWidth]", element
        )
        assert inside <= around
    browser.find_element(By.CSS_SELECTOR, "#uncertain-table button").click()
    assert visible_width(browser) <= width
    assert browser.find_element(By.ID, "node").rect["width"] > 0.8 * width or width > 390


def test_colours_classes_and_zoom(page: Path, open_page: Open) -> None:
    browser = open_page(page)
    legend = browser.find_elements(By.CSS_SELECTOR, "#legend button")
    assert legend[0].text == MARKUP
    legend[0].click()
    first = browser.find_element(By.CSS_SELECTOR, "#legend button")
    assert first.get_attribute("aria-pressed") == "true" and browser.execute_script("return map.only") == 0
    first.click()
    assert browser.execute_script("return map.only") is None
    for button in browser.find_elements(By.CSS_SELECTOR, "#colour-by button"):
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
    assert "wrong outside training" in text(browser, "legend")
    browser.find_element(By.CSS_SELECTOR, "#zoom button").click()
    assert browser.execute_script("return map.zoom") == pytest.approx(1.6)


def test_a_wrong_prediction_is_marked_also_in_training(page: Path, open_page: Open) -> None:
    browser = open_page(page)
    for truth, mark in (("1 - nodes.predicted[0]", "✗"), ("nodes.predicted[0]", "✓")):
        browser.execute_script(f"nodes.truth[0] = {truth}; showNode(0)")
        assert f"{mark} true: " in text(browser, "node") and "training node" in text(browser, "node")


def test_the_other_parts_say_what_the_run_says(page: Path, open_page: Open) -> None:
    browser, data = open_page(page), data_of(page)
    assert browser.find_element(By.TAG_NAME, "h1").text == "Mixed network on crowds & <others>" == browser.title
    assert "with 7 towers: features, GCN Â¹, GCN Â², GCN Â⁴, SAGE P¹, SAGE P², SAGE P³. Seed 0" in text(browser, "lead")
    test = data["scores"][0]["best_test"]
    assert f"Accuracy, test {100 * test:.1f} %" in text(browser, "tiles")
    cells = [int(cell.text) for cell in browser.find_elements(By.CSS_SELECTOR, ".matrix td:not(.recall)")]
    assert sum(cells) == 20 and cells[0] + cells[3] == round(20 * test)
    assert len(browser.find_elements(By.CSS_SELECTOR, "#learning-charts svg.chart")) == 2
    assert "Every tower has the parameters of its own best step" in text(browser, "learning-about")
    assert "classifier attention" in text(browser, "settings-table")


def test_the_titles_of_vertical_axes_are_above_them(page: Path, open_page: Open) -> None:
    charts = open_page(page).find_elements(By.CSS_SELECTOR, "svg.chart")
    for chart, name in zip(charts, ("loss", "validation accuracy", "accuracy"), strict=True):
        names = {of.get_attribute("textContent"): of.rect for of in chart.find_elements(By.TAG_NAME, "text")}
        top = min(line.rect["y"] for line in chart.find_elements(By.CSS_SELECTOR, ".grid"))
        assert names[name]["y"] + names[name]["height"] < top


def test_scores_of_the_default_model(page: Path, open_page: Open) -> None:
    scores = Run.open(page.parent).scores(0)
    head, *rows = rows_of(open_page(page), "scores-table")
    assert head == ["Score", "Validation", "Test"]  # train() computes no references
    assert [row[0] for row in rows] == [METRICS[name] for name in scores["val_scores"]]
    for name, row in zip(scores["val_scores"], rows, strict=True):
        values = scores["val_scores"][name], scores["test_scores"][name]
        assert row[1:] == [f"{v:.3f}" if name == "loss" else f"{100 * v:.1f} %" for v in values]


def test_several_seeds_references_and_loss_as_the_metric(make_page: MakePage, open_page: Open) -> None:
    page = make_page(crowds(), explain=0, seeds=2, metric="loss")
    browser, run = open_page(page), Run.open(page.parent)
    best, summary = run.scores(run.best_seed), run.summary()
    head, first, second, *_ = rows_of(browser, "scores-table")
    assert head == [
        *("Score", "Validation", "Test", "Test, mean of 2 seeds", "Majority class"),
        *("Logistic regression on the features", "Label propagation along the edges"),
    ]
    assert first[:4] == [
        *("Loss", f"{best['val']:.3f}", f"{best['test']:.3f}"),
        f"{summary['test_mean']:.3f} ± {summary['test_std']:.3f}",
    ]
    of = summary["references"]
    assert first[4:] == [f"{of[key]['test']['loss']:.3f}" for key in of]
    assert second[4:] == [f"{100 * of[key]['test']['accuracy']:.1f} %" for key in of]
    assert f"Loss, test {best['test']:.3f} mean of 2 seeds" in text(browser, "tiles")
    assert "The tick on each bar is the mean of the 2 seeds." in text(browser, "scales-table")
    assert "validation loss" in text(browser, "learning-charts")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_towers_of_a_mixed_network(page: Path, open_page: Open, width: int) -> None:
    browser, towers = open_page(page, width=width), Run.open(page.parent).scores(0)["towers"]
    head, *rows = rows_of(browser, "scales-table")
    assert head[:3] == ["Towers", "Accuracy, validation", "Weight"]
    for tower, (name, val, weight, _) in zip(towers, rows, strict=True):
        assert name.startswith(superscript(tower["towers"]))
        assert (val, weight) == (f"{100 * tower['val']:.1f} %", f"{tower['weight']:.3f}")
    tracks = browser.find_elements(By.CSS_SELECTOR, "#scales-table .track")
    largest = max(tower["weight"] for tower in towers)
    for tower, track in zip(towers, tracks, strict=True):
        bar = track.find_element(By.TAG_NAME, "i").size["width"]
        assert bar / track.size["width"] == pytest.approx(tower["weight"] / largest, abs=0.04)
    for where in ("#scales-table .tower", "#node > div:not(.rows) .what"):  # on one line each
        names = browser.find_elements(By.CSS_SELECTOR, where)
        assert [name.text for name in names] == [superscript(tower["towers"]) for tower in towers]
        assert all(name.size["height"] < 30 for name in names)


def test_the_towers_of_the_paper(paper_page: Path, open_page: Open) -> None:
    browser, towers = open_page(paper_page), Run.open(paper_page.parent).scores(0)["towers"]
    assert browser.title == "N-GCN, recipe paper on crowds & <others>"
    assert "on 3 scales (2 networks on each, attention classifier). Seed 0, recipe paper." in text(browser, "lead")
    shown = text(browser, "scales-table")
    for tower in towers:
        assert f"{superscript(tower['towers'])} " in shown and f"{tower['weight']:.3f}" in shown


def test_calibration_before_and_after(page: Path, paper_page: Path, open_page: Open) -> None:
    def dots(browser: Any, kind: str) -> int:
        return len(browser.find_elements(By.CSS_SELECTOR, f"#trust-chart circle.{kind}"))

    browser, quality = open_page(page), data_of(page)["quality"]
    after, before = quality["reliability"], quality["before"]
    assert (dots(browser, "first"), dots(browser, "second")) == (len(after["bins"]), len(before["bins"]))
    told = re.search(r"error is ([\d.]+) points; before calibration .* it was ([\d.]+)\.", text(browser, "trust-about"))
    assert told and [float(value) for value in told.groups()] == pytest.approx(
        [100 * after["gap"], 100 * before["gap"]], abs=0.051
    )
    assert "after calibration before" in text(browser, "trust-chart")

    browser, quality = open_page(paper_page), data_of(paper_page)["quality"]
    assert quality["before"] is None
    assert (dots(browser, "first"), dots(browser, "second")) == (len(quality["reliability"]["bins"]), 0)
    assert "before" not in text(browser, "trust") and "calibration error is" in text(browser, "trust-about")


@pytest.mark.parametrize("height", [900, 1800])
def test_nothing_is_blank_beside_the_map(page: Path, open_page: Open, height: int) -> None:
    browser, data = open_page(page, height=height), data_of(page)
    bare = next(i for i in range(60) if str(i) not in data["explained"])
    for node in (data["uncertain"][0], bare):  # a long explanation, and a short one
        browser.execute_script("showNode(arguments[0])", node)
        plot, panel, below = (
            browser.find_element(By.CSS_SELECTOR, element).rect for element in (".plot", ".panel", "#uncertain")
        )
        assert below["y"] - plot["y"] - plot["height"] == pytest.approx(17.6, abs=1)  # the gap of the grid
        assert below["y"] + below["height"] == pytest.approx(panel["y"] + panel["height"], abs=1)
        assert below["height"] >= 18 * 16


def test_another_graph_with_missing_values(page: Path, open_page: Open, tmp_path: Path) -> None:
    X, none = crowds().features.toarray(), np.zeros(60, bool)
    X[:6, 3] = np.nan
    ids = np.array([f"new {i}" if i < 10 else name for i, name in enumerate(crowds().node_ids)])
    other = crowds(features=X, node_ids=ids, train=none, val=none, test=~none, name="other")
    out = write_report(page.parent, graph=other, explain=2, plots=tmp_path / "plots")
    assert out == page.parent / "report-other.html"
    names = {"map", "towers", "calibration", "confusion", "missing"}  # no learning curves: they are of another graph
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {
        f"{n}.{end}" for n in names for end in ("svg", "png")
    }
    browser, model = open_page(out), Run.open(page.parent).model()
    accuracy = model.evaluate(other, "test")["test"]["accuracy"]
    assert "Trained on another graph, crowds & <others>; 10 nodes here are new." in text(browser, "lead")
    assert f"Accuracy, labelled nodes {100 * accuracy:.1f} %" in text(browser, "tiles")
    assert "60 labelled nodes; which of them were trained on is not known" in text(browser, "tiles")
    assert rows_of(browser, "scores-table")[0] == ["Score", "Labelled nodes"]
    assert "new node" in text(browser, "legend") and "New nodes come first." in text(browser, "uncertain-about")
    listed = [row[0] for row in rows_of(browser, "uncertain-table")[1:]]
    assert all(name.startswith("new ") and name.endswith(" new") for name in listed[:10])
    assert not any(name.endswith(" new") for name in listed[10:])
    data = data_of(out)
    assert len(data["new"]) == 10 and {int(node) for node in data["explained"]} <= set(data["new"])
    assert text(browser, "node").startswith("Node new ")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#colour-by button")) == 3
    assert rows_of(browser, "missing-table")[1][:3] == ["word 3", "6", "10 %"]
    assert "0.8 % of all feature values are missing, in 1 numeric feature. They are filled from" in text(
        browser, "missing-about"
    )
    assert not browser.find_elements(By.CSS_SELECTOR, "#learning, nav [href='#learning'], #seeds-table")

    unknown = replace(other, labels=np.full(60, -1), test=none)
    bare = write_report(model, tmp_path / "bare.html", graph=unknown, explain=0)
    browser = open_page(bare)
    assert "no node has a label that the model knows" in text(browser, "tiles")
    assert not browser.find_elements(By.CSS_SELECTOR, "#mistakes, #trust, #scores-table, #colour-by")
    assert "True class" not in rows_of(browser, "uncertain-table")[0] and "true class" not in text(browser, "node")
    assert browser.find_element(By.CSS_SELECTOR, "#node code").text.startswith("explain_node(model, ")
    with pytest.raises(ConfigError, match="pass `out`"):
        write_report(model, graph=other)


def test_a_graph_without_features(make_page: MakePage, open_page: Open) -> None:
    ids = np.array([f"town {i}" for i in range(60)])
    labels = np.where(np.arange(60) % 4 == 2, -1, crowds().labels)
    masks = {split: getattr(crowds(), split) & (labels >= 0) for split in ("train", "val", "test")}
    identity = sp.eye_array(60, format="csr")
    page = make_page(
        crowds(features=identity, feature_names=None, node_ids=ids, labels=labels, **masks), model="gcn", explain=60
    )
    browser, data = open_page(page), data_of(page)
    assert "Nodes within reach, whose identity is their feature, for (+)" in text(browser, "node")
    assert all(name.startswith("town ") for of in data["explained"].values() for name, *_ in of["features"])
    assert ", predicted" in text(browser, "node")
    browser.find_element(By.CSS_SELECTOR, "#node summary").click()
    assert "every node is a feature of its own" in text(browser, "node")
    assert "standardised" not in text(browser, "node")


def test_twenty_classes_differ_in_colour(page: Path, open_page: Open) -> None:
    for dark in (False, True):
        browser = open_page(page, dark=dark)
        colours = browser.execute_script(
            "const style = getComputedStyle(document.documentElement);"
            "return [...Array(20).keys()].map(c => style.getPropertyValue(colourOf(c).slice(4, -1)).trim())"
        )
        assert len(set(colours)) == 20 and all(re.fullmatch(r"#[0-9a-f]{6}", colour) for colour in colours)
        looks = browser.execute_script("return [...Array(100).keys()].map(c => colourOf(c) + shapeOf(c))")
        assert len(set(looks)) == 100
        if not dark:
            assert class_colors() == colours  # of the figures


def test_several_labels_at_once(make_page: MakePage, open_page: Open) -> None:
    browser = open_page(make_page(crowds(multilabel=True), explain=5))
    assert "Micro-F1, test" in text(browser, "tiles")
    assert [row[0] for row in rows_of(browser, "scores-table")[1:3]] == ["Micro-F1", "Accuracy"]
    browser.execute_script("nodes.chosen[0] = []; showNode(0)")
    assert re.search(r"Predicted: none; .* is the most likely", text(browser, "node"))
    assert "Predicted: " in text(browser, "node") and "true: " in text(browser, "node")
    assert "Every class of every node counts separately." in text(browser, "trust-about")
    assert "Recall Precision" in text(browser, "mistakes-table")


def test_no_test_nodes_one_class_and_unknown_labels(make_page: MakePage, open_page: Open) -> None:
    labels = np.where(np.arange(60) % 3 == 2, -1, 0)
    graph = crowds(labels=labels, test=np.zeros(60, bool), class_names=("only",))
    browser = open_page(make_page(graph, model="gcn", explain=0))
    assert "no test nodes" in text(browser, "tiles")
    assert rows_of(browser, "scores-table")[0] == ["Score", "Validation"]
    assert "the step was selected on these, so the scores are optimistic" in text(browser, "mistakes-about")
    assert "GCN uses one scale only" in text(browser, "scales-about")
    assert "This page contains them for 0 of 60 nodes" in text(browser, "node")
    search = browser.find_element(By.ID, "search")
    search.send_keys("node</i> 59", Keys.ENTER)
    assert "true class unknown" in text(browser, "node")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({**NGCN, "classifier": "fc2"}, "A fully-connected classifier has no weight per power."),
        ({"model": "cheby"}, "Chebyshev mixes the powers of Â inside its layers"),
    ],
    ids=["fc2", "cheby"],
)
def test_networks_without_weights(make_page: MakePage, open_page: Open, settings: dict[str, Any], says: str) -> None:
    browser = open_page(make_page(crowds(), explain=2, **settings))
    assert says in text(browser, "scales-about")
    assert "Sum: " in text(browser, "node")
