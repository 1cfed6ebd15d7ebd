"""Inner loops that the compiler does not vectorise by itself, written as LLVM IR.

The rows to add are short, such as the 16 hidden units of a tower. For short loops over arrays that might overlap, the
compiler falls back to scalars, or to sums that go through memory. These functions emit the vector code directly.

As intrinsics they are also quick to compile: to Numba, a sum over rows of any width is a single call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 8
LINE = 64  # bytes in a cache line
AHEAD = 16  # entries to prefetch in advance

WHOLE = ir.IntType(64)


class _Sum:
    """Emits a sum of scaled rows that stays in registers; the arguments are those of :func:`add_rows`."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, ahead: int) -> None:
        self.builder, self.ahead, self.number = builder, ahead, context.get_value_type(signature.args[0].dtype)
        arrays = [context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 2, 5, 8)]
        self.out, self.source, self.rows, self.factors = arrays
        integers = [context.cast(builder, args[i], signature.args[i], types.intp) for i in (1, 3, 4, 6, 7, 9, 10)]
        self.at, self.column, self.width, self.begin, self.stop, self.first, self.stride = integers
        self.fresh = context.is_true(builder, signature.args[11], args[11])
        self.pitch = cgutils.unpack_tuple(builder, self.source.shape)[1]
        self.last_entry = builder.sub(cgutils.unpack_tuple(builder, self.rows.shape)[0], WHOLE(1))
        self.to_whole = lambda row: context.cast(builder, row, signature.args[5].dtype, types.intp)

    def emit(self, c: Any, width: Any, vectors: int, lanes: int = LANES, groups: int = 1, step: Any = None) -> None:
        """Add columns c to c + width: `groups` neighbouring pieces of this width, each with factors `step` further on.

        A piece takes between `lanes` and ``vectors * lanes`` columns: its last vectors move left until they end where
        it ends, and then write some columns twice, with the same value.
        """
        builder, vector = self.builder, ir.VectorType(self.number, lanes)
        size = _bytes(self.number)

        def vector_at(array: Any, offset: Any) -> Any:
            return builder.bitcast(builder.gep(array.data, [offset]), vector.as_pointer())

        def load(array: Any, offset: Any) -> Any:
            return builder.load(vector_at(array, offset), align=size, typ=vector)

        def start_of_row(e: Any) -> Any:
            row = self.to_whole(builder.load(builder.gep(self.rows.data, [e])))
            return builder.add(builder.mul(row, self.pitch), column)

        at, column = builder.add(self.at, c), builder.add(self.column, c)
        last = builder.sub(width, WHOLE(lanes))
        offsets = []
        for i in range(groups * vectors):
            inside = WHOLE(i % vectors * lanes)
            inside = builder.select(builder.icmp_signed("<", inside, last), inside, last)
            offsets.append(builder.add(builder.mul(WHOLE(i // vectors), width), inside))
        sums = [cgutils.alloca_once(builder, vector) for _ in offsets]  # the compiler makes registers of them
        zero = ir.Constant(vector, [0.0] * lanes)
        for total, offset in zip(sums, offsets, strict=True):
            builder.store(builder.select(self.fresh, zero, load(self.out, builder.add(at, offset))), total)
        with cgutils.for_range_slice(builder, self.begin, self.stop, WHOLE(1), WHOLE) as (e, _):
            left = start_of_row(e)
            if self.ahead and lanes == LANES:
                later = builder.add(e, WHOLE(self.ahead))
                later = builder.select(builder.icmp_signed("<", later, self.last_entry), later, self.last_entry)
                begins = start_of_row(later)
                lines = [WHOLE(column) for column in range(0, vectors * lanes, LINE // size)]
                for column_in_line in (*lines, builder.sub(width, WHOLE(1))):
                    _prefetch(builder, builder.gep(self.source.data, [builder.add(begins, column_in_line)]))
            place = builder.add(self.first, builder.mul(e, self.stride))
            for i, (total, offset) in enumerate(zip(sums, offsets, strict=True)):
                if i % vectors == 0:
                    if i:
                        place = builder.add(place, step)
                    factor = _splat(builder, builder.load(builder.gep(self.factors.data, [place])), vector)
                product = builder.fmul(factor, load(self.source, builder.add(left, offset)), flags=("contract",))
                builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
        for total, offset in zip(sums, offsets, strict=True):
            builder.store(builder.load(total), vector_at(self.out, builder.add(at, offset)), align=size)

    def emit_any_width(self) -> None:
        """Emit code for all widths. A constant width is up to 20 % faster than a variable one, and no loop than one."""
        builder, width = self.builder, self.width
        rest = builder.and_(width, WHOLE(63))
        c = builder.sub(width, rest)

        def blocks() -> None:
            with cgutils.for_range_slice(builder, WHOLE(0), c, WHOLE(64), WHOLE) as (block, _):
                self.emit(block, WHOLE(64), 8)

        self._choose((width, "==", 64, lambda: self.emit(WHOLE(0), WHOLE(64), 8)), otherwise=blocks)
        self._choose(
            (rest, "==", 0, lambda: None),
            (rest, ">", 32, lambda: self.emit(c, rest, 8)),
            (rest, ">", 16, lambda: self.emit(c, rest, 4)),
            (rest, "==", 16, lambda: self.emit(c, WHOLE(16), 2)),
            (rest, ">=", 8, lambda: self.emit(c, rest, 2)),
            (rest, ">=", 4, lambda: self.emit(c, rest, 2, lanes=4)),
            otherwise=lambda: self.emit(c, rest, 3, lanes=1),
        )

    def _choose(self, *cases: tuple[Any, str, int, Callable[[], None]], otherwise: Callable[[], None]) -> None:
        """Emit the code of the first case that holds."""
        if not cases:
            otherwise()
            return
        (value, comparison, limit, emit), *others = cases
        with self.builder.if_else(self.builder.icmp_signed(comparison, value, WHOLE(limit))) as (yes, no):
            with yes:
                emit()
            with no:
                self._choose(*others, otherwise=otherwise)


def _sum(emit: Callable[[_Sum], None], ahead: int = 0) -> Any:
    """An intrinsic whose code `emit` emits."""

    @intrinsic
    def add_rows(
        typing_context: Any, out: Any, at: Any, source: Any, column: Any, width: Any,
        rows: Any, begin: Any, stop: Any, factors: Any, first: Any, stride: Any, fresh: Any,
    ) -> Any:  # fmt: skip
        """A sum of scaled rows.

        ``out[at + c] = start + sum over e from begin to stop of
        factors[first + e * stride] * source[rows[e], column + c]`` for c < width.
        The start is 0 if `fresh`, else the current value.
        """

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            emit(_Sum(context, builder, signature, args, ahead))
            return context.get_dummy_value()

        arguments = out, at, source, column, width, rows, begin, stop, factors, first, stride, fresh
        return types.void(*arguments), generate

    return add_rows


add_rows = _sum(_Sum.emit_any_width)
add_far_rows = _sum(_Sum.emit_any_width, ahead=AHEAD)  # prefetches: faster if `source` is larger than a core's cache
# For four towers of 16 columns at once. Its `width` is how much further on the factors of the next tower are.
add_rows_4x16 = _sum(lambda total: total.emit(WHOLE(0), WHOLE(16), 2, groups=4, step=total.width))


@intrinsic
def spread_32(typing_context: Any, out: Any, column: Any, bits: Any, value: Any) -> Any:
    """``out[column + b] = value if bit b of bits is set else 0`` for the 32 bits of a uint32."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = context.get_value_type(out.dtype)
        vector, integers = ir.VectorType(number, 32), ir.VectorType(ir.IntType(32), 32)
        at = context.cast(builder, args[1], column, types.intp)
        masks = ir.Constant(integers, [1 << b for b in range(32)])
        chosen = builder.and_(_splat(builder, args[2], integers), masks)
        is_set = builder.icmp_unsigned("!=", chosen, ir.Constant(integers, [0] * 32))
        value_cast = context.cast(builder, args[3], value, out.dtype)
        result = builder.select(is_set, _splat(builder, value_cast, vector), ir.Constant(vector, [0.0] * 32))
        data = context.make_array(out)(context, builder, args[0]).data
        pointer = builder.bitcast(builder.gep(data, [at]), vector.as_pointer())
        builder.store(result, pointer, align=_bytes(number))
        return context.get_dummy_value()

    return types.void(out, column, types.uint32, value), generate


def _prefetch(builder: Any, pointer: Any) -> None:
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(prefetch, [builder.bitcast(pointer, byte), word(0), word(3), word(1)])  # to read, into all caches


def _bytes(number: Any) -> int:
    return 4 if isinstance(number, ir.FloatType) else 8


def _splat(builder: Any, scalar: Any, vector: Any) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)
