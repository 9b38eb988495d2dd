"""Four words at once, as a type that numba compiles: what a loop over arrays leaves to luck."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types

LANES = 4
_vector = ir.VectorType(ir.IntType(64), LANES)
compiler: Any = extending  # only some of it has types

Typed = tuple[Any, Callable[..., Any]]


class VectorType(types.Type):
    """Four words of 64 bits, which fill a register where the machine has registers that wide."""

    def __init__(self) -> None:
        super().__init__(name="four words")


VECTOR = VectorType()


def _model(manager: Any, kind: Any) -> Any:
    return compiler.models.PrimitiveModel(manager, kind, _vector)


compiler.register_model(VectorType)(_model)


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    return builder.bitcast(builder.gep(data, [arguments[1]]), _vector.as_pointer())


def _load(_: Any, array: Any, index: Any) -> Typed:
    """Read four words from a contiguous array, beginning with the item of this index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature, arguments), align=1)

    return VECTOR(array, types.intp), generate


def _store(_: Any, array: Any, index: Any, vector: Any) -> Typed:
    """Write four words to a contiguous array, beginning with the item of this index."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments)
        builder.store(arguments[2], place, align=1)
        return context.get_dummy_value()

    return types.void(array, types.intp, VECTOR), generate


def _zero(_: Any) -> Typed:
    return VECTOR(), lambda *_: ir.Constant(_vector, None)


def _popcounts(_: Any, vector: Any) -> Typed:
    """Count the ones of each of the four words."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        module, name = builder.module, f"llvm.ctpop.v{LANES}i64"
        known = module.globals.get(name)
        count = known or ir.Function(module, ir.FunctionType(_vector, [_vector]), name)
        return builder.call(count, arguments)

    return VECTOR(VECTOR), generate


def _shifted(builder: Any, vector: Any, by: Any) -> Any:
    shifts = ir.Constant(_vector, ir.Undefined)
    for lane in range(LANES):
        shifts = builder.insert_element(shifts, by, ir.IntType(32)(lane))
    return builder.shl(vector, shifts)


def _operator(operation: Any, right: Any, emit: Callable[..., Any]) -> None:
    """Let an operator between a vector and what is to its right write these instructions."""

    def typing(_: Any) -> Callable[..., Any]:
        def typer(a: Any, b: Any) -> Any:
            return VECTOR if a is VECTOR and b == right else None

        return typer

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return emit(builder, *arguments)

    compiler.type_callable(operation)(typing)
    compiler.lower_builtin(operation, VECTOR, right)(generate)


load, store, zero, popcounts = map(compiler.intrinsic, (_load, _store, _zero, _popcounts))
_operator(operator.and_, VECTOR, ir.IRBuilder.and_)
_operator(operator.or_, VECTOR, ir.IRBuilder.or_)
_operator(operator.xor, VECTOR, ir.IRBuilder.xor)
_operator(operator.add, VECTOR, ir.IRBuilder.add)
_operator(operator.lshift, types.int64, _shifted)
