"""The two vector instructions that the compiler does not find by itself, written as LLVM IR.

Inner loops over one tower's columns are short (16, say), and for short loops over arrays that might overlap the
compiler falls back to scalars. These emit the vector code directly.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

LANES = 8  # columns that `add_scaled` handles at a time


@intrinsic
def add_scaled(
    typing_context: Any,
    out: Any,
    column: Any,
    a0: Any,
    row0: Any,
    a1: Any,
    row1: Any,
    a2: Any,
    row2: Any,
    a3: Any,
    row3: Any,
) -> Any:
    """``out[c] += a0 * row0[c] + a1 * row1[c] + a2 * row2[c] + a3 * row3[c]`` for the LANES columns from `column`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = context.get_value_type(out.dtype)
        vector = ir.VectorType(number, LANES)
        at = context.cast(builder, args[1], column, types.intp)

        def pointer(array_type: Any, array: Any) -> Any:
            return _vector_pointer(context, builder, array_type, array, at, vector)

        target = pointer(out, args[0])
        total = builder.load(target, align=_bytes(number), typ=vector)
        for argument in (2, 4, 6, 8):
            factor = _splat(builder, context.cast(builder, args[argument], signature.args[argument], out.dtype), vector)
            row = builder.load(
                pointer(signature.args[argument + 1], args[argument + 1]), align=_bytes(number), typ=vector
            )
            total = builder.fadd(total, builder.fmul(factor, row, flags=("contract",)), flags=("contract",))
        builder.store(total, target, align=_bytes(number))
        return context.get_dummy_value()

    return types.void(out, column, a0, row0, a1, row1, a2, row2, a3, row3), generate


@intrinsic
def spread_bits(typing_context: Any, out: Any, column: Any, bits: Any, value: Any) -> Any:
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
        target = _vector_pointer(context, builder, out, args[0], at, vector)
        builder.store(result, target, align=_bytes(number))
        return context.get_dummy_value()

    return types.void(out, column, types.uint32, value), generate


def _bytes(number: Any) -> int:
    return 4 if isinstance(number, ir.FloatType) else 8


def _vector_pointer(context: Any, builder: Any, array_type: Any, array: Any, offset: Any, vector: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [offset]), vector.as_pointer())


def _splat(builder: Any, scalar: Any, vector: Any) -> Any:
    undefined = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, zeros)
