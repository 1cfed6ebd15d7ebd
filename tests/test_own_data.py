"""The guide to your own graph: its commands and its Python, from top to bottom, in a folder with the two tables."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from ngcn.cli import app

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/guides/own-data.md").read_text()


def test_every_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples/town", "town")
    namespace: dict[str, object] = {}
    blocks = re.findall(r"```(sh|python)\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) >= 5
    for language, block in blocks:
        if language == "python":
            exec(compile(block, "docs/guides/own-data.md", "exec"), namespace)
            continue
        for line in block.splitlines():
            verb, *arguments = shlex.split(line)
            assert verb == "ngcn"
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, f"{line}\n{result.output}"
            if arguments[0] == "train":
                facts = [fact for fact in result.stderr.splitlines() if fact.startswith(("300 nodes", "Labels:"))]
                assert len(facts) == 2 and all(fact in PAGE for fact in facts), result.stderr
    papers = pd.read_csv("papers.csv")
    assert ",".join(papers.columns) in PAGE and len(papers) == 210 and len(pd.read_parquet("everybody.parquet")) == 300
    assert set(papers["id"]) == set(pd.read_csv("again.csv")["id"])
    assert list(pd.read_csv("sets.csv"))[:5] == ["id", "prediction", "confidence", "set", "disagreement"]


def test_the_tables_are_those_of_the_page_and_of_the_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nodes", "edges"):
        for line in (ROOT / f"examples/town/{name}.csv").read_text().splitlines()[:3]:
            assert line in PAGE
    script = (ROOT / "examples/make_town.py").read_text()
    namespace = {"__file__": str(tmp_path / "make_town.py"), "__name__": "__main__"}
    exec(compile(script, "make_town.py", "exec"), namespace)
    for name in ("nodes.csv", "edges.csv"):
        assert (tmp_path / "town" / name).read_text() == (ROOT / "examples/town" / name).read_text()


def test_the_sentence_about_a_wrong_edge_is_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples/town", "town")
    edges = Path("town/edges.csv").read_text().splitlines()
    edges[4] = "P000,P999,1"
    Path("town/edges.csv").write_text("\n".join(edges) + "\n")
    result = CliRunner().invoke(app, ["train", "town", "--ignore", "trade"])
    assert result.exit_code == 2 and result.stderr.replace(f"{tmp_path}/", "").strip() in PAGE
