"""`ngcn`, and `python -m ngcn`. Imports inside main, so that Ctrl-C during the imports prints no traceback."""

import gc
import os
import sys


def main() -> None:
    # OpenMP threads spin only briefly while they wait, so that a busy machine is not slowed down
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # measured by benchmarks/busy.py
    # The default pool of Arrow reserves a GB at once, which counts as private memory (RLIMIT_DATA)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    try:
        from ngcn.cli import app

        app(prog_name="ngcn")
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # else the garbage collector spends a second on the objects of torch and numba at exit


if __name__ == "__main__":
    main()
