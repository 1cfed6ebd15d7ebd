"""The page of results: claims, tables and figures from a store."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections import Counter
from pathlib import Path

from ngcn.experiments import EXPERIMENTS, Plan, Store, section_of
from ngcn.experiments.claims import verdicts
from ngcn.experiments.cost import duration
from ngcn.experiments.section import Part, Section, Table
from ngcn.files import atomic, write_text
from ngcn.text import count
from ngcn.version import __version__


def write_page(path: Path, store: Store, plan: Plan) -> None:
    """Write the page in Markdown to ``path``, and the figures to the folder of the store next to it."""
    outcomes = list(store.everything())
    seconds = sum(outcome["seconds"] for outcome in outcomes)
    versions = sorted(Counter(outcome["version"] for outcome in outcomes).items())
    trained_by = ", ".join(f"{version} ({number})" if len(versions) > 1 else version for version, number in versions)
    lines = [
        "# Results",
        "",
        "The paper's tables and figures, trained from scratch, next to the published numbers. `ngcn reproduce` writes "
        f"this page from [summary.jsonl]({store.folder.name}/summary.jsonl): {len(store)} trainings, "
        f"{duration(seconds)} on one core.",
        "",
        f"Trained by ngcn {trained_by}. Drawn by ngcn {__version__}{_commit()}, on {_machine()}.",
        "",
        "## Claims of the paper",
        "",
        "| claim | | evidence (mean test accuracy in %) |",
        "|---|---|---|",
        *(f"| {v.claim} | **{v.word}** | {v.evidence} |" for v in verdicts(store, plan)),
        "",
        "A claim held if it is true for the means over seeds, by any margin; ± is the standard deviation over seeds.",
        "",
    ]
    for name in EXPERIMENTS:
        section = section_of(name, store, plan)
        lines += [f"## {section.title}", "", f"`ngcn reproduce {name}`{_progress(section)}", ""]
        for part in section.parts if section.done else []:
            lines += [_markdown(part, store.folder), ""]
    write_text(path, "\n".join(lines))


def _progress(section: Section) -> str:
    if section.done == section.cells:
        return f": {count(section.cells, 'training')}."
    if not section.done:
        return ": not trained yet."
    return f": **{section.done} of {section.cells}** trainings so far; the numbers are preliminary."


def _markdown(part: Part, folder: Path) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Table):
        return f"**{part.title}**\n\n{part.markdown()}"
    with atomic(folder / f"{part.name}.png") as temporary:
        part.draw().savefig(temporary, format="png", dpi=160)
    return f"![{part.alt}]({folder.name}/{part.name}.png)"


def _machine() -> str:
    name, cpuinfo = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if cpuinfo.exists() and (found := re.search(r"^model name\s*:\s*(.+?)\s*$", cpuinfo.read_text(), re.MULTILINE)):
        name = found[1]
    return f"{name}, {os.cpu_count()} cores"


def _commit() -> str:
    """The commit of the source, if it is in a git repository."""

    def git(*command: str) -> str:
        folder = Path(__file__).parents[1]
        return subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", __file__)  # else the repository is another one
        changed = " and changes" if git("status", "--porcelain", ".") else ""
        return f", commit {git('rev-parse', '--short', 'HEAD')}{changed}"
    except (OSError, subprocess.CalledProcessError):
        return ""
