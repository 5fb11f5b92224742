"""What loops do with eight neighbours of an array at once.

Numba makes vector instructions of long loops only. Of ranges of a few candidates each, which is what most joins have,
they come out one by one, with a branch to guess at the end of each range. So the few operations on eight numbers are
told to LLVM in its own words, which are the same for every processor. Nothing asks whether the eight are inside of the
array, nor whether they lie side by side: whoever calls these sees to it. Numba keeps what it compiled by the file of
the loop that calls: after a change here, remove the `.nbi` files beside it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stretto.values.loops import operation
from stretto.values.rows import I64

EIGHT = 8
ALL = np.uint64(0xFF)
"""The bits of all eight."""
_PLACES = [[k for k in range(EIGHT) if bits >> k & 1] for bits in range(1 << EIGHT)]
PLACES = np.array([sum(k << (8 * n) for n, k in enumerate(places)) for places in _PLACES], np.uint64)
"""Per set of bits, the places of those that are set, ascending, a byte each, from the lowest on."""
COUNT = np.array([len(places) for places in _PLACES], np.uint64)
"""Per set of bits, how many are set."""


def _compared(how: str, *, counted: bool) -> Callable[..., tuple[Any, Any]]:
    """The bits, or the count, of those of the eight keys from a place on that compare so with a bound."""

    def build(_: Any, keys: Any, __: Any, ___: Any) -> tuple[Any, Any]:
        from numba import types  # noqa: PLC0415 - loaded by the first loop that is called

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            found = builder.load(_address(context, builder, signature, args), align=8)
            holds = builder.icmp_signed(how, found, _eight_times(builder, args[2]))
            bits = builder.zext(builder.bitcast(holds, _int(EIGHT)), _int(64))
            return builder.ctpop(bits) if counted else bits

        given = types.int64 if counted else types.uint64
        return given(keys, types.uint64, types.int64), generate

    return build


@operation(_compared("<=", counted=False))
def at_most(keys: I64, at: int, bound: int) -> int:
    """Bits of the eight keys from `at` on: which are at most the bound."""
    return sum(int(keys[int(at) + k] <= bound) << k for k in range(EIGHT))


@operation(_compared("<", counted=True))
def count_below(keys: I64, at: int, bound: int) -> int:
    """How many of the eight keys from `at` on are less than the bound."""
    return int((keys[int(at) : int(at) + EIGHT] < bound).sum())


def _build_fill(_: Any, array: Any, __: Any, ___: Any) -> tuple[Any, Any]:
    from numba import types  # noqa: PLC0415 - likewise

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _store(context, builder, signature, args, _eight_times(builder, args[2]))
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.int64), generate


@operation(_build_fill)
def fill(array: I64, at: int | np.uint64, value: int) -> None:
    """Write a value eight times, from `at` on; of an array with 32 bits, the lower ones."""
    array[int(at) : int(at) + EIGHT] = value


def _copied(how: str) -> Callable[..., tuple[Any, Any]]:
    """Eight values from a place on, those that compare so with a bound, and it for the others; less something."""

    def build(_: Any, array: Any, __: Any, values: Any, ___: Any, ____: Any, _____: Any) -> tuple[Any, Any]:
        from numba import types  # noqa: PLC0415 - likewise

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            bound, less = (_eight_times(builder, value) for value in args[4:])
            found = builder.load(_address(context, builder, signature, args, first=2), align=8)
            holds = builder.icmp_signed(how, found, bound)
            _store(context, builder, signature, args, builder.sub(builder.select(holds, found, bound), less))
            return context.get_dummy_value()

        at, number = types.uint64, types.int64
        return types.void(array, at, values, at, number, number), generate

    return build


@operation(_copied("<"))
def copy_least(array: I64, at: int | np.uint64, values: I64, start: int, bound: int, less: int) -> None:
    """Write eight values from `start` on, or the bound where it is less, to an array from `at` on, less so much."""
    array[int(at) : int(at) + EIGHT] = np.minimum(values[int(start) : int(start) + EIGHT], bound) - less


@operation(_copied(">"))
def copy_most(array: I64, at: int | np.uint64, values: I64, start: int, bound: int, less: int) -> None:
    """Likewise, or the bound where it is greater."""
    array[int(at) : int(at) + EIGHT] = np.maximum(values[int(start) : int(start) + EIGHT], bound) - less


def _build_fill_places(_: Any, array: Any, __: Any, ___: Any, ____: Any) -> tuple[Any, Any]:
    from llvmlite import ir  # noqa: PLC0415 - likewise
    from numba import types  # noqa: PLC0415 - likewise

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        places = builder.bitcast(args[3], ir.VectorType(_int(8), EIGHT))
        wide = builder.zext(places, ir.VectorType(_int(64), EIGHT))
        moved = builder.add(wide, _eight_times(builder, args[2]))
        _store(context, builder, signature, args, moved)
        return context.get_dummy_value()

    return types.void(array, types.uint64, types.int64, types.uint64), generate


@operation(_build_fill_places)
def fill_places(array: I64, at: int | np.uint64, start: int, places: int) -> None:
    """Write eight numbers from `at` on: `start` and the places, a byte each, that follow it."""
    for k in range(EIGHT):
        array[int(at) + k] = start + (int(places) >> (8 * k) & 0xFF)


def _address(context: Any, builder: Any, signature: Any, args: Any, first: int = 0) -> Any:
    """Where eight numbers of an argument, an array of integers, lie from the place on that is the next argument."""
    from llvmlite import ir  # noqa: PLC0415 - likewise

    kind = signature.args[first]
    array = context.make_array(kind)(context, builder, args[first])
    begin = builder.gep(array.data, [args[first + 1]])
    return builder.bitcast(begin, ir.VectorType(_int(kind.dtype.bitwidth), EIGHT).as_pointer())


def _store(context: Any, builder: Any, signature: Any, args: Any, values: Any) -> None:
    """Write eight numbers to the first argument, as many bits of each as it has, from the second one on."""
    address = _address(context, builder, signature, args)
    narrow = address.type.pointee != values.type
    values = builder.trunc(values, address.type.pointee) if narrow else values
    builder.store(values, address, align=signature.args[0].dtype.bitwidth // 8)


def _eight_times(builder: Any, value: Any) -> Any:
    from llvmlite import ir  # noqa: PLC0415 - likewise

    vector = ir.Constant(ir.VectorType(value.type, EIGHT), ir.Undefined)
    first = builder.insert_element(vector, value, ir.Constant(_int(32), 0))
    return builder.shuffle_vector(first, vector, ir.Constant(ir.VectorType(_int(32), EIGHT), [0] * EIGHT))


def _int(bits: int) -> Any:
    from llvmlite import ir  # noqa: PLC0415 - likewise

    return ir.IntType(bits)
