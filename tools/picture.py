"""docs/demo.svg: what `make demo` prints, as a picture.

.venv/bin/python tools/picture.py
"""

from __future__ import annotations

import os
import pty
import shutil
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

COMMAND = ["ngcn", "train", "cora"]
WIDTH = 84


def main() -> None:
    program = shutil.which(COMMAND[0], path=str(Path(sys.executable).parent))
    assert program, "ngcn is not installed beside this Python"
    output = bytearray()

    def keep(descriptor: int) -> bytes:
        output.extend(data := os.read(descriptor, 1 << 16))
        return data

    os.environ.update(COLUMNS=str(WIDTH), TERM="xterm-256color", COLORTERM="truecolor")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # so that the run folder is runs/..., as for everybody
        pty.spawn([program, *COMMAND[1:]], keep)

    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(Text("$ make demo", style="bold"))
    for line in output.decode().replace("\r\n", "\n").split("\n"):
        last = line.split("\r")[-1]  # a progress bar is drawn over and over on one line
        if last.strip() and "Loading" not in last:  # on the screen, those lines are gone by now
            console.print(Text.from_ansi(last))
    picture = Path(__file__).parent.parent / "docs" / "demo.svg"
    console.save_svg(str(picture), title="ngcn")


if __name__ == "__main__":
    main()
