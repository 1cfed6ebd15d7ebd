"""`ngcn`, and `python -m ngcn`. Imports within, so that Ctrl-C in the first moment ends it quietly too."""

import gc
import os
import sys


def main() -> None:
    # Threads wait for each other awake, but not so long that other work on the cores costs many times its share
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # measured by benchmarks/busy.py
    try:
        from ngcn.cli import app

        app(prog_name="ngcn")
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    finally:
        gc.freeze()  # else Python looks for garbage in all that torch and numba made, for a second, before it ends


if __name__ == "__main__":
    main()
