"""CPU seconds to compile the kernels for the first step of a training, with an empty cache.

.venv/bin/python -m benchmarks.compile            # ngcn
.venv/bin/python -m benchmarks.compile nsage
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import Any


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder  # read when Numba is imported
        from ngcn import Config, load_dataset, train
        from ngcn.ops.cpu import compile as compiling

        seconds: dict[str, float] = {}
        compile_kernel, launcher = compiling.Kernel.compile, compiling._launcher

        def timed_compile(kernel: compiling.Kernel, *arguments: Any) -> Any:
            begin = time.process_time()
            result = compile_kernel(kernel, *arguments)
            seconds[kernel.__name__] = seconds.get(kernel.__name__, 0.0) + time.process_time() - begin
            return result

        def timed_launcher() -> Any:
            def launch(*arguments: Any) -> None:
                begin = time.process_time()
                launcher()(*arguments)
                seconds["launcher"] = time.process_time() - begin
                compiling._launcher = launcher

            return launch

        compiling.Kernel.compile = timed_compile  # type: ignore[method-assign, assignment]
        compiling._launcher = timed_launcher  # type: ignore[assignment]
        graph = load_dataset("cora")
        train(graph, Config(model=sys.argv[1] if len(sys.argv) > 1 else "mixed", steps=1))
    print("| kernel | CPU s |\n|---|---|")
    for name, taken in (*seconds.items(), ("all", sum(seconds.values()))):
        print(f"| {name} | {taken:.2f} |")


if __name__ == "__main__":
    main()
