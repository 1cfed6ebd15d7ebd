"""The two inner loops that the compiler does not vectorise by itself, written as LLVM IR.

The rows that are summed are short (16 columns of a tower, say), and for short loops over arrays that might overlap the
compiler falls back to scalars, or to sums that go through memory. These emit the vector code directly.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

LANES = 8
LINE = 64  # bytes that a cache takes at a time


def _gather(groups: int, vectors: int, lanes: int = LANES, ahead: int = 0) -> Any:
    """A sum of scaled rows that stays in registers: `groups` neighbouring pieces of a row, `vectors` for each piece.

    Piece g is `width` columns wide and has a factor of its own::

        out[at + g * width + c] = start + sum over e from begin to stop of
            factors[first + e * stride + g * step] * source[rows[e], column + g * width + c]     for c < width

    where the start is 0 if `fresh`, else what stands there. A piece takes ``vectors * lanes`` columns at most and
    `lanes` at least: its last vectors move left until they end where it does, and then write some columns twice, with
    the same value.

    With `ahead`, the row that will be read so many entries later is asked for in advance: worth it if `source` does not
    fit into the cache of a core, and `rows` goes on after `stop` with what will be read then.
    """

    @intrinsic
    def add_gathered(
        typing_context: Any,
        out: Any,
        at: Any,
        source: Any,
        column: Any,
        rows: Any,
        begin: Any,
        stop: Any,
        factors: Any,
        first: Any,
        stride: Any,
        step: Any,
        width: Any,
        fresh: Any,
    ) -> Any:
        signature = types.void(out, at, source, column, rows, begin, stop, factors, first, stride, step, width, fresh)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number, whole = context.get_value_type(out.dtype), context.get_value_type(types.intp)
            vector = ir.VectorType(number, lanes)
            out_, source_, rows_, factors_ = (
                context.make_array(signature.args[i])(context, builder, args[i]) for i in (0, 2, 4, 7)
            )
            at_, column_, begin_, stop_, first_, stride_, step_, width_ = (
                context.cast(builder, args[i], signature.args[i], types.intp) for i in (1, 3, 5, 6, 8, 9, 10, 11)
            )

            def vector_at(array: Any, offset: Any) -> Any:
                return builder.bitcast(builder.gep(array.data, [offset]), vector.as_pointer())

            def load(array: Any, offset: Any) -> Any:
                return builder.load(vector_at(array, offset), align=_bytes(number), typ=vector)

            last = builder.sub(width_, whole(lanes))
            offsets = []
            for i in range(groups * vectors):
                inside = whole(i % vectors * lanes)
                inside = builder.select(builder.icmp_signed("<", inside, last), inside, last)
                offsets.append(builder.add(builder.mul(whole(i // vectors), width_), inside))
            sums = [cgutils.alloca_once(builder, vector) for _ in offsets]  # the compiler makes registers of them
            is_fresh, zero = context.is_true(builder, fresh, args[12]), ir.Constant(vector, [0.0] * lanes)
            for total, offset in zip(sums, offsets, strict=True):
                builder.store(builder.select(is_fresh, zero, load(out_, builder.add(at_, offset))), total)
            pitch = cgutils.unpack_tuple(builder, source_.shape)[1]
            last_entry = builder.sub(cgutils.unpack_tuple(builder, rows_.shape)[0], whole(1))

            def start_of_row(e: Any) -> Any:
                row = context.cast(builder, builder.load(builder.gep(rows_.data, [e])), rows.dtype, types.intp)
                return builder.add(builder.mul(row, pitch), column_)

            with cgutils.for_range_slice(builder, begin_, stop_, whole(1), whole) as (e, _):
                left = start_of_row(e)
                if ahead:
                    later = builder.add(e, whole(ahead))
                    later = builder.select(builder.icmp_signed("<", later, last_entry), later, last_entry)
                    begins = start_of_row(later)
                    lines = [whole(c) for c in range(0, vectors * lanes, LINE // _bytes(number))]
                    for column_in_line in (*lines, builder.sub(width_, whole(1))):
                        _prefetch(builder, builder.gep(source_.data, [builder.add(begins, column_in_line)]))
                first_factor = builder.add(first_, builder.mul(e, stride_))
                for i, (total, offset) in enumerate(zip(sums, offsets, strict=True)):
                    if i % vectors == 0:
                        place = builder.add(first_factor, builder.mul(whole(i // vectors), step_))
                        factor = _splat(builder, builder.load(builder.gep(factors_.data, [place])), vector)
                    product = builder.fmul(factor, load(source_, builder.add(left, offset)), flags=("contract",))
                    builder.store(builder.fadd(builder.load(total), product, flags=("contract",)), total)
            for total, offset in zip(sums, offsets, strict=True):
                pointer = vector_at(out_, builder.add(at_, offset))
                builder.store(builder.load(total), pointer, align=_bytes(number))
            return context.get_dummy_value()

        return signature, generate

    return add_gathered


gather_64, gather_32, gather_16 = _gather(1, 8), _gather(1, 4), _gather(1, 2)  # one piece, up to so many columns
gather_8, gather_3 = _gather(1, 2, lanes=4), _gather(1, 3, lanes=1)
gather_4x16 = _gather(4, 2)
AHEAD = 16  # entries
far_64, far_32, far_16 = _gather(1, 8, ahead=AHEAD), _gather(1, 4, ahead=AHEAD), _gather(1, 2, ahead=AHEAD)


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
