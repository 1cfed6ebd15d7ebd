"""How the command line reports errors: one sentence on stderr and an exit code, for all commands."""

from __future__ import annotations

import io
import logging
import re
import shlex
import signal
import sys
import warnings
from ast import literal_eval
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from ngcn.config import Config
from ngcn.errors import LONGEST, NGCNError, RunError, SeveralProblemsError
from ngcn.text import plain, shorten

USER_ERROR = 2
WRAPPED = "[]'\""  # around a value in Python, not in an option
SETTINGS = {f.name for f in fields(Config)}  # options of ngcn train
OPTIONS = SETTINGS | {"nodes", "out", "resume", "threads", "jobs", "results", "minutes", "trials", "log"}
OPTIONS |= {"engine", "address", "workers"}


class Verbs(TyperGroup):
    """A group of commands that prints user errors as one sentence, without traceback.

    User errors are :class:`NGCNError`, errors of the file system and of the command line itself. Anything else is a bug
    and keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        notes, printer = logging.getLogger("ngcn"), _Printer(self, ctx)
        notes.addHandler(printer)
        try:
            with warnings.catch_warnings():
                if not sys.warnoptions:  # those of numpy and others say nothing that the error or the result does not
                    warnings.simplefilter("ignore")
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            folder = getattr(stop, "folder", None)
            printer.print((str(stop) or "Stopped.").replace("`resume=True`", f"`ngcn train --resume --out {folder}`"))
            raise typer.Exit(128 + getattr(stop, "signum", signal.SIGINT)) from None
        except BrokenPipeError:
            raise  # typer handles it
        except NGCNError as error:
            for line in str(error).splitlines() if isinstance(error, SeveralProblemsError) else [str(error)]:
                printer.print(line)
        except OSError as error:
            printer.print(f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror or error}.")
        except (MemoryError, RuntimeError) as error:  # torch raises a RuntimeError
            if not isinstance(error, MemoryError) and "allocate memory" not in str(error):
                raise
            printer.print("Not enough memory; try fewer `powers` or `replicas`, or fewer `hidden` units.")
        finally:
            notes.removeHandler(printer)
        raise typer.Exit(USER_ERROR)

    def main(self, *args: Any, **extra: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):  # names may have characters that the terminal's encoding lacks
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except Exception as error:
            if not hasattr(error, "format_message"):  # a usage error, such as an unknown option
                raise
            if type(error).__name__ != "NoArgsIsHelpError":  # which has printed the help
                context, message = getattr(error, "ctx", None), error.format_message()
                end = "" if message.endswith((".", "?")) else "."
                _print(f"{message}{end} See `{context.command_path if context else 'ngcn'} --help`.")
            sys.exit(USER_ERROR)
        sys.exit(code if isinstance(code, int) else 0)


def as_options(message: str, known: Collection[str] = OPTIONS) -> str:
    """A message of the library for the command line: arguments in backticks become options. Settings that are not
    ``known`` to the command are options of `ngcn train`.

    >>> as_options("train with `one_hot=['town', 'job']`, or `multilabel=True`; see `edges`")
    'train with --one-hot town --one-hot job, or --multilabel; see --edges'
    >>> as_options("continue it with `resume=True`"), as_options("add a line such as `dataset: cora`")
    ('continue it with `ngcn train --resume --out RUN`', 'add a line such as `dataset: cora`')
    >>> as_options("use `label='COLUMN'`", known=["edges"]), as_options("`ignore=['a, b']`")
    ('use `ngcn train --label COLUMN`', "--ignore 'a, b'")
    """

    def option(found: re.Match[str]) -> str:
        if found["name"] not in OPTIONS:
            return found[0]
        if found["name"] == "resume":
            return "`ngcn train --resume --out RUN`"  # an option of no other command
        flag, value = f"--{found['name'].replace('_', '-')}", found["value"]
        if value not in (None, "True"):
            flag = " ".join(f"{flag} {item}" for item in _items(value))
        return f"`ngcn train {flag}`" if found["name"] in SETTINGS.difference(known) else flag

    return re.sub(r"`(?P<name>[a-z]\w*)(=(?P<value>[^`]*))?`", option, message)


def _items(value: str) -> list[str]:
    """The items of a value in Python, as a shell takes them."""
    try:
        read = literal_eval(value)
    except (ValueError, SyntaxError):  # such as N, which stands for a number
        return [item.strip(WRAPPED) for item in value.split(", ")]
    items = map(str, read if isinstance(read, list | tuple) else [read])
    return [item if re.fullmatch(r"[\w.,:/+-]+", item) else shlex.quote(item) for item in items]


# The next two are the first checks of `Run`, whose import takes seconds: typing errors must not wait for torch.
def check_run(folder: Path) -> None:
    """Raise an error if ``folder`` is not a run."""
    if not (folder / "config.yaml").exists():
        raise RunError(f"{folder} is not a run folder: it has no config.yaml.")


def check_unfinished(folder: Path) -> None:
    """Raise an error if ``folder`` is a finished run."""
    if (folder / "config.yaml").exists() and (folder / "result.json").exists():
        raise RunError(f"{folder} holds a finished run; choose another folder.")


def check_place(out: Path) -> None:
    """Raise an error if ``out`` is a folder, or if its folder does not exist."""
    if out.is_dir() or not out.parent.is_dir():
        what = f"{out} is a folder" if out.is_dir() else f"There is no folder {out.parent}"
        raise NGCNError(f"{what}; name a file in an existing folder.")


class _Printer(logging.Handler):
    """Prints errors and the warnings of the package on stderr, with the options of the command that runs."""

    def __init__(self, group: TyperGroup, context: Any) -> None:
        super().__init__()
        self.group, self.context = group, context
        self.said: set[str] = set()  # a table may be looked at twice

    def emit(self, record: logging.LogRecord) -> None:
        if (message := record.getMessage()) not in self.said:
            self.said.add(message)
            self.print(message)

    def print(self, message: str) -> None:
        command = self.group.commands.get(self.context.invoked_subcommand or "")
        known = {parameter.name or "" for parameter in command.params} if command else OPTIONS
        _print(as_options(message, known))


def _print(message: str) -> None:
    print(shorten(plain(" ".join(message.split())), LONGEST), file=sys.stderr)
