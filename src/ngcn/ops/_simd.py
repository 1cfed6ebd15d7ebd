"""The two vector instructions that the compiler does not find by itself, written as LLVM IR.

Inner loops over one tower's columns are short (16, say), and for short loops over arrays that might overlap the
compiler falls back to scalars. These emit the vector code directly.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic


def _add_scaled(lanes: int) -> Any:
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
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = context.get_value_type(out.dtype)
            vector = ir.VectorType(number, lanes)
            at = context.cast(builder, args[1], column, types.intp)

            def pointer(argument: int) -> Any:
                return _vector_pointer(context, builder, signature.args[argument], args[argument], at, vector)

            total = builder.load(pointer(0), align=_bytes(number), typ=vector)
            for argument in (2, 4, 6, 8):
                scalar = context.cast(builder, args[argument], signature.args[argument], out.dtype)
                row = builder.load(pointer(argument + 1), align=_bytes(number), typ=vector)
                product = builder.fmul(_splat(builder, scalar, vector), row, flags=("contract",))
                total = builder.fadd(total, product, flags=("contract",))
            builder.store(total, pointer(0), align=_bytes(number))
            return context.get_dummy_value()

        return types.void(out, column, a0, row0, a1, row1, a2, row2, a3, row3), generate

    return add_scaled


# out[c] += a0 * row0[c] + a1 * row1[c] + a2 * row2[c] + a3 * row3[c] for the 8 or 16 columns c from `column` on
add_scaled_8 = _add_scaled(8)
add_scaled_16 = _add_scaled(16)


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
