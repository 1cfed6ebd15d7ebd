"""The documentation is true: its Python runs, block after block, and its links, layers and paths exist."""

from __future__ import annotations

import doctest
import inspect
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import networkx
import pytest
import typer.main
import yaml
from typer.testing import CliRunner

import ngcn
from ngcn import CLASSIFIERS, MODELS, RECIPES, __version__, load_dataset
from ngcn.cli import app
from ngcn.data import files

ROOT = Path(__file__).parent.parent
GENERATED = ("_build", "reference/api", "reference/python.md", "reference/command-line.md", "reference/config.md")
DOCS = [
    page for page in (ROOT / "docs").rglob("*.md") if not str(page.relative_to(ROOT / "docs")).startswith(GENERATED)
]
TEXTS = sorted([*ROOT.glob("*.md"), *DOCS])
PAGES = [page for page in TEXTS if re.search("```(python|sh)\n", page.read_text())]


def blocks(page: Path, languages: str) -> list[tuple[str, str]]:
    return re.findall(rf"```({languages})\n(.*?)```", page.read_text(), flags=re.DOTALL)


def commands(block: str) -> list[list[str]]:
    """The arguments of each `ngcn` in a block."""
    return [shlex.split(line, comments=True)[1:] for line in block.splitlines() if line.startswith("ngcn ")]


@pytest.fixture
def registries() -> Iterator[None]:
    """A page removes what it registers."""
    before = [dict(registry) for registry in (MODELS, CLASSIFIERS, RECIPES)]
    yield
    after = [dict(registry) for registry in (MODELS, CLASSIFIERS, RECIPES)]
    for registry, entries in zip((MODELS, CLASSIFIERS, RECIPES), before, strict=True):
        registry.clear()
        registry.update(entries)
    assert after == before


@pytest.fixture(scope="session")
def reference() -> ModuleType:
    """docs/reference_pages.py, which generates pages when the site is built."""
    spec = spec_from_file_location("reference_pages", ROOT / "docs/reference_pages.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def generated(reference: ModuleType) -> dict[Path, str]:
    return {ROOT / "docs/reference" / name: text for name, text in reference.pages().items()}


@pytest.mark.usefixtures("registries")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python and the commands of a page, from top to bottom, in a folder with the tables of the guides."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.delitem(sys.modules, "model", raising=False)  # a package of tests; also the name of an exported model
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    shutil.copytree(ROOT / "examples/town", "town")
    namespace: dict[str, object] = {}
    for language, block in blocks(page, "python|sh"):
        if language == "python":
            exec(compile(block, str(page), "exec", dont_inherit=True), namespace)
            continue
        assert len(commands(block)) == len(block.splitlines()), "a block of another program is no sh"
        for arguments in commands(block):
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, f"{arguments}\n{result.output}"
            if arguments[0] == "train" and page.name == "own-data.md":
                facts = [fact for fact in result.stderr.splitlines() if fact.startswith(("300 nodes", "Labels:"))]
                assert len(facts) == 2 and all(fact in page.read_text() for fact in facts), result.stderr


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_not_run_are_commands(page: Path) -> None:
    """Those that take hours, or need other files: their options exist."""
    command = typer.main.get_command(app)
    for _, block in blocks(page, ""):
        for name, *arguments in commands(block):
            if not name.startswith("-"):
                command.commands[name].make_context(name, arguments)  # type: ignore[attr-defined]


def test_every_public_name_is_in_the_reference_with_an_example(reference: ModuleType) -> None:
    names = reference.public_names()  # raises an error for a name without a group
    assert len(names) == len(set(names))
    for name in names:
        members = vars(getattr(ngcn, name)).values() if inspect.isclass(getattr(ngcn, name)) else ()
        texts = [reference._docstring(name), *(inspect.getdoc(member) or "" for member in members if callable(member))]
        assert any(">>>" in text for text in texts), f"{name} has no example"
        assert not any("getfixture" in text for text in texts), f"the example of {name} needs pytest"
    for name, text in reference.DATA.items():
        examples = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
        assert examples.examples and doctest.DocTestRunner().run(examples).failed == 0


@pytest.mark.parametrize("in_package", [False, True])
def test_the_reader_of_the_page_reads_with_its_line(
    in_package: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ROOT / "docs/guides/extend.md"
    (code,) = (block for _, block in blocks(page, "python") if "def read_pajek" in block)
    monkeypatch.setattr(files, "READERS", dict(files.READERS))
    module = ModuleType("ngcn.data.pajek")
    exec(code, module.__dict__)
    if in_package:
        (line,) = re.findall(r"^\+ +(r\".*read_pajek.*)$", page.read_text(), flags=re.MULTILINE)
        monkeypatch.setitem(sys.modules, "ngcn.data.pajek", module)
        files.READERS |= eval(f"{{{line}}}", vars(files))
    club = networkx.karate_club_graph()
    lines = [f"*Vertices {len(club)}"]
    lines += [f'{i + 1} "{node}" 0.0 0.0 ellipse label "{club.nodes[node]["club"]}"' for i, node in enumerate(club)]
    lines += ["*Edges", *(f"{a + 1} {b + 1} 1" for a, b in club.edges)]
    path = tmp_path / "karate.net"
    path.write_text("\n".join(lines) + "\n")
    graph = load_dataset(str(path))
    assert (graph.name, graph.nodes, graph.classes) == ("karate", 34, 2)


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path, generated: dict[Path, str]) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists() or file in generated, target
        if anchor:
            text = generated.get(file) or file.read_text()
            titles = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
            anchors = [re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles]
            assert anchor in anchors, target


def test_the_layers_are_those_of_the_contract() -> None:
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.replace("|", ",").replace(" ", "").split(",") for layer in contract["layers"]]
    table = (ROOT / "CONTRIBUTING.md").read_text().split("| layer |")[1].split("\n\n")[0]
    assert [re.findall(r"`(\w+)`", line.split("|")[1]) for line in table.splitlines()[2:]] == layers


def test_the_path_of_a_training_names_files_once() -> None:
    path = (ROOT / "docs/contributing/path.md").read_text()
    found = re.findall(r"`([\w/]+\.py)`", path)
    assert len(found) == len(set(found)) > 50
    for name in found:
        assert (ROOT / "src/ngcn" / name).exists() or (ROOT / "src/ngcn/ops/cpu" / name).exists(), name


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == __version__
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text()
    entry = (ROOT / "docs/get-started/install.md").read_text()
    assert all(author["family-names"] in entry for author in citation["preferred-citation"]["authors"])
