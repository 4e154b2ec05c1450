# mypy: allow-untyped-calls, allow-untyped-decorators
"""The prefetch instruction, for kernels: the processor loads an element of an array into its caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from graphwright.kernels.compiled import library


def _instruction() -> Any:
    """Return the function that numba compiles to the instruction."""
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def prefetch(context: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            place = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
            number = ir.IntType(32)
            declared = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, number, number, number])
            instruction = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], declared)
            builder.call(instruction, [place, number(0), number(3), number(1)])  # for reading, to all caches, data
            return context.get_dummy_value()

        return types.void(array, index), generate

    return intrinsic(prefetch)


# The library has the instruction in its kernels; nothing calls it from Python.
prefetch = cast(Callable[[Any, Any], None], None if library() else _instruction())
