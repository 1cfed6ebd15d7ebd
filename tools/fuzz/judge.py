"""What became of an input."""

from __future__ import annotations

import os
import re
import signal

from tools.fuzz.worker import MEMORY, SECONDS, Case

GOOD = ("RESULT", "ERROR")
LONGEST = 1200  # characters of an error message


class Judge:
    """RESULT and ERROR (one clear sentence) are good; TRACEBACK, CRASH, HANG, MEMORY, PARTIAL and UNCLEAR are not."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def outcome(self) -> tuple[str, str]:
        case = self.case
        if case.seconds > SECONDS:
            return "HANG", f"{case.seconds:.0f} s"
        if case.grown > MEMORY:
            return "MEMORY", f"{case.grown / 1e9:.1f} GB"
        if os.WIFSIGNALED(case.status):
            return "CRASH", signal.Signals(os.WTERMSIG(case.status)).name
        if "Traceback (most recent call last)" in case.err:
            return "TRACEBACK", self._site()
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f\x9b]", case.out + case.err):
            return "UNCLEAR", "control characters in the output"
        if temporary := [name for name in case.after if name.endswith(".tmp")]:
            return "PARTIAL", temporary[0]
        code = os.WEXITSTATUS(case.status)
        if code == 0 or (code == 1 and "'evaluate'" in case.command):
            return "RESULT", ""
        if code == 2 and "'inspect'" in case.command and case.out:  # what prevents training is a result
            return "RESULT", ""
        return self._error(code)

    def _error(self, code: int) -> tuple[str, str]:
        case = self.case
        kept = {name for name in case.after if name.startswith("graph/products")}  # whole files, for the next training
        if made := case.after - case.before - kept:
            return "PARTIAL", f"after an error: {', '.join(sorted(made))[:100]}"
        message = (case.err.strip().splitlines() or [""])[-1]
        if code != 2 or not re.search(r"[.?]$", message) or len(message) > LONGEST or len(message) < 12:
            return "UNCLEAR", f"exit code {code}: {message[:200]}"
        ours = re.compile(r"^input\.py:.*", re.MULTILINE)  # a warning at the caller's line is for the caller
        if foreign := re.search(r".*(\w+Warning: |Fatal Python|terminate called).*", ours.sub("", case.err)):
            return "UNCLEAR", foreign[0][:200]
        return "ERROR", ""

    def _site(self) -> str:
        lines = self.case.err.strip().splitlines()
        places = re.findall(r'File "[^"]*/(ngcn/[^"]+)", line (\d+), in (\S+)', self.case.err)
        return f"{':'.join(places[-1]) if places else '?'} {lines[-1][:150]}"
