"""How the command line says what went wrong: one sentence on stderr and an exit code, for all verbs at once."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

USER_ERROR = 2


class Verbs(TyperGroup):
    """A group of commands whose user errors are one sentence each, never a traceback.

    User errors are those of the command line itself, of the file system, and the exceptions that this package
    defines for them (GraphError, ConfigError, ...). Anything else is a mistake of ours and keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        notes, printer = logging.getLogger("ngcn"), _Printer()
        notes.addHandler(printer)
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            _fail(str(stop) or "Stopped.", 128 + getattr(stop, "signum", 2))
        except BrokenPipeError:
            raise  # whoever read our output had enough: not an error, and handled further up
        except OSError as error:
            _fail(f"{error.filename}: {error.strerror}." if error.filename else f"{error}.", USER_ERROR)
        except (MemoryError, RuntimeError) as error:  # torch's is a RuntimeError
            if not isinstance(error, MemoryError) and "allocate memory" not in str(error):
                raise
            _fail("There is not enough memory for this; try fewer powers or replicas, or a smaller hidden.", USER_ERROR)
        except ValueError as error:
            if not type(error).__module__.startswith("ngcn."):
                raise
            _fail(str(error), USER_ERROR)
        finally:
            notes.removeHandler(printer)

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except Exception as error:
            if not hasattr(error, "format_message"):  # a usage error, such as an unknown option
                raise
            if type(error).__name__ == "NoArgsIsHelpError":  # has printed the help
                sys.exit(USER_ERROR)
            context = getattr(error, "ctx", None)
            message = error.format_message()
            end = "" if message.endswith((".", "?")) else "."
            _say(f"{message}{end} See `{context.command_path if context else 'ngcn'} --help`.")
            sys.exit(USER_ERROR)
        sys.exit(code if isinstance(code, int) else 0)


class PlaceError(ValueError):
    """A file that cannot be written where it was asked for."""


def check_place(out: Path) -> None:
    """Before what takes time: ``out`` must not be a folder, and must be in one."""
    if out.is_dir() or not out.parent.is_dir():
        what = f"{out} is a folder" if out.is_dir() else f"There is no folder {out.parent}"
        raise PlaceError(f"{what}; name a file in a folder that is there.")


class _Printer(logging.Handler):
    """Puts what the package has to say, such as how it read a user's files, on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        _say(record.getMessage())


def _fail(message: str, code: int) -> NoReturn:
    _say(message)
    raise typer.Exit(code)


def _say(message: str) -> None:
    print(" ".join(message.split()), file=sys.stderr)
