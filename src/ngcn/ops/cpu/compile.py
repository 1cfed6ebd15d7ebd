"""Compile kernels and run them on several threads.

A kernel is a function of one share of the work: ``f(share, *arrays, *numbers)``. Numba compiles it once, without
threads. One launcher, common to all kernels, runs the shares in parallel and calls the kernel through its address.
Compared with a ``prange`` in every kernel, this takes a third of the time to compile: Numba compiles the body of a
``prange`` several times, and its wrappers take longer than most of our loops.
"""

from __future__ import annotations

import builtins
import hashlib
import inspect
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import CFUNCTYPE, addressof, c_char, c_ssize_t, c_void_p
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from ngcn.ops.cpu.checksums import add_checksums, remove_damaged
from ngcn.ops.threads import alone, follow_torch, threads_as_before

OPTIONS: dict[str, Any] = {
    "fastmath": {"contract", "reassoc", "nsz", "arcp"},  # no `nnan`, `ninf`: a diverging model must give a NaN loss
    "error_model": "numpy",  # no checks for division by zero
}
_ENTRY = types.void(types.intp, types.intp, types.CPointer(types.voidptr), types.CPointer(types.intp))
# Compiled, and so cached, where it is made and not at the first call
_LAUNCH = types.void(types.int64, types.int64, types.int64, types.int64, types.int64[::1], types.int64)
_ONE_THREAD = CFUNCTYPE(None, c_ssize_t, c_ssize_t, c_void_p, c_void_p)
_NOTHING: Any = c_char * 0
_lock = threading.Lock()
_given_up: set[Path] = set()  # folders that cannot hold a cache; one warning each
log = logging.getLogger("ngcn.ops")


class Kernel:
    """A compiled function of one share of the work. It is compiled when called with arrays of new types.

    Args:
        function: called as ``function(share, *arrays, *numbers)``, with arrays in C order and integers. It must write
            to different memory for each share.

    Attributes:
        compiled: for each combination of array types, the result of ``numba.cfunc``.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        self.compiled: dict[tuple[Any, ...], Any] = {}
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, shares: int, arrays: Sequence[np.ndarray], *numbers: int, turns: int = 1) -> None:
        """Run shares 0 to ``turns * shares - 1``: in each turn `shares` of them in parallel, the turns in order.

        A thread takes neighbouring shares, the same for every kernel: what it wrote before may be in its cache.
        """
        key = tuple([array.dtype for array in arrays])
        compiled = self.compiled.get(key) or self.compile(key, [array.ndim for array in arrays], len(numbers))
        try:
            packed = [addressof(_NOTHING.from_buffer(array)) for array in arrays]  # 3 times as fast as `.ctypes.data`
        except (TypeError, ValueError):  # read-only, or not in C order
            packed = [array.ctypes.data for array in arrays]
            if not all(array.flags.c_contiguous for array in arrays):
                raise ValueError(f"{self.__name__} needs arrays in C order.") from None
        for array in arrays:
            packed += array.shape
        packed += numbers
        values = np.array(packed, np.int64)
        if alone():  # such as after a fork, where OpenMP ends a process that uses it
            _ONE_THREAD(compiled.address)(0, turns * shares, values.ctypes.data, values[len(arrays) :].ctypes.data)
        else:
            _launcher()(turns, shares, follow_torch(), compiled.address, values, len(arrays))

    def compile(self, key: tuple[np.dtype, ...], dimensions: list[int], numbers: int) -> Any:
        """Compile a function with the signature that the launcher calls: it unpacks the arguments of a range of shares.

        The code of the function for two arrays and a number, as an example::

            def entry(first, stop, pointers, numbers):
                a0 = carray(pointers[0], (numbers[0], numbers[1], ), np.float32)
                a1 = carray(pointers[1], (numbers[2], ), np.int64)
                for share in range(first, stop):
                    function(share, a0, a1, numbers[3])
        """
        lines, arguments, used = [], [], 0
        for i, (dtype, axes) in enumerate(zip(key, dimensions, strict=True)):
            shape = "".join(f"numbers[{used + axis}], " for axis in range(axes))
            lines.append(f"a{i} = carray(pointers[{i}], ({shape}), np.{dtype})")
            arguments.append(f"a{i}")
            used += axes
        arguments += [f"numbers[{used + i}]" for i in range(numbers)]
        lines += ["for share in range(first, stop):", f"    function(share, {', '.join(arguments)})"]
        name = "_".join([self.__name__, *map(str, key)])
        source = "\n    ".join([f"def {name}(first, stop, pointers, numbers):", *lines])
        inlined = numba.njit(inline="always")(self.function)
        scope: dict[str, Any] = {"carray": numba.carray, "np": np, "function": inlined}
        scope["__name__"] = self.function.__module__
        # In the name of the kernel's own file: Numba compiles anew when that has changed.
        exec(builtins.compile(source, inspect.getfile(self.function), "exec"), scope)
        with _lock:
            if key not in self.compiled:
                self.compiled[key] = _cached(partial(numba.cfunc, _ENTRY, **OPTIONS), scope[name])
        return self.compiled[key]


kernel = Kernel  # as a decorator


def helper(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that kernels can call. It becomes part of each kernel that calls it."""
    return numba.njit(forceinline=True, **OPTIONS)(function)


@intrinsic
def _call(typing_context: Any, address: Any, first: Any, stop: Any, packed: Any, pointers: Any) -> Any:
    """Call the function at this address; `packed` has its pointers first, then its numbers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        address, first, stop, _, pointers = args
        whole, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [whole, whole, pointer.as_pointer(), whole.as_pointer()])
        data = context.make_array(packed)(context, builder, args[3]).data
        function = builder.inttoptr(address, kind.as_pointer())
        arrays, numbers = builder.bitcast(data, pointer.as_pointer()), builder.gep(data, [pointers])
        builder.call(function, [first, stop, arrays, numbers])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64, packed, types.int64), generate


def _run(turns: int, shares: int, threads: int, address: int, packed: np.ndarray, pointers: int) -> None:
    for turn in range(turns):
        for thread in numba.prange(threads):
            first, stop = -(-thread * shares // threads), -(-(thread + 1) * shares // threads)
            _call(address, turn * shares + first, turn * shares + stop, packed, pointers)


@cache
def _launcher() -> Any:
    with threads_as_before():  # numba may make its threads here, see `follow_torch`
        return _cached(partial(numba.njit, _LAUNCH, parallel=True, nogil=True), _run)


def _cached(compiler: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """The compiled function, from Numba's cache if possible. A cache that cannot be read or written is given up, with
    one warning."""
    with _cache() as folder:
        if folder is None or folder in _given_up:
            return compiler()(function)
        try:
            remove_damaged(folder)
            compiled = compiler(cache=True)(function)
            add_checksums(folder)
            return compiled
        except Exception as error:  # whatever a damaged pickle or a full disk raises
            compiled = compiler()(function)  # an error of the kernel itself is raised here
            _given_up.add(folder)
            if "no locator available" not in str(error):  # no cache for this file, such as one in a notebook
                log.warning(
                    f"Compiled code cannot be cached in {folder} ({type(error).__name__}), so every start takes "
                    "longer; free some space, or delete that folder."
                )
            return compiled


@contextmanager
def _cache() -> Iterator[Path | None]:
    """Let Numba cache in a folder named by a hash of these sources; None if no folder can be written.

    Numba compiles a function anew when its own file has changed, but a kernel also has parts from other files.
    """
    config: Any = numba.config
    before, folder = config.CACHE_DIR, None
    with suppress(OSError, RuntimeError):  # RuntimeError: there is no home folder
        folder = _cache_root(before) / f"kernels-{_sources()}"
        folder.mkdir(parents=True, exist_ok=True)
        config.CACHE_DIR = str(folder)
    try:
        yield folder if folder and os.access(folder, os.W_OK) else None
    finally:
        config.CACHE_DIR = before


def _cache_root(numba_cache: str) -> Path:
    if root := numba_cache or os.environ.get("NGCN_CACHE"):
        return Path(root)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ngcn"


def _sources() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
