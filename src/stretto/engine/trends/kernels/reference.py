"""Tuples of many arrays, handed to compiled loops by their address.

Numba hands a tuple over as all its numbers, several for each array. With dozens of arrays these are functions of
hundreds of arguments, which take a minute to compile. A loop that gets `by_reference(record)` is compiled with one
pointer, and reads from there what it needs of `record.field`: nested tuples, arrays (in C order) and integers. Fields
cannot be set, only what is in their arrays.
"""

from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, models, register_model, unbox
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype, from_dtype

SLOT = 8
"""Bytes of a number in a record: an integer, the address of an array, or one of its sizes."""

Fields = TypeVar("Fields", bound=tuple[Any, ...])


class Field(NamedTuple):
    """A field, and the number of its first slot."""

    type: Any
    slot: int


class RecordType(types.Type):
    """What a compiled loop knows of a record."""

    def __init__(self, name: str, fields: dict[str, Field], slots: int) -> None:
        self.fields, self.slots = fields, slots
        described = ", ".join(f"{name}: {field.type}" for name, field in fields.items())
        super().__init__(f"Record({name}: {described})")


class Reference:
    """The address of a record's numbers, which are kept here with its arrays."""

    __slots__ = ("_numba_type_", "_record", "_slots", "address")

    def __init__(self, record: tuple[Any, ...]) -> None:
        kind = _type_of(record)
        self._numba_type_, self._record = kind, record
        self._slots = np.array(_numbers(record, kind), np.int64)
        self.address = self._slots.ctypes.data


def by_reference(record: Fields) -> Fields:
    """The same named tuple, as compiled loops take it. They read from the arrays that it has now."""
    return cast("Fields", Reference(record))


def _type_of(record: tuple[Any, ...]) -> RecordType:
    names: tuple[str, ...] = type(record)._fields  # type: ignore[attr-defined] # a named tuple
    fields = tuple((name, _field_type(name, value)) for name, value in zip(names, record, strict=True))
    return _record_type(type(record).__name__, fields)


def _field_type(name: str, value: Any) -> Any:
    if isinstance(value, tuple):
        return _type_of(value)
    if isinstance(value, int):
        return types.int64
    if not value.flags.c_contiguous:
        raise ValueError(f"the array `{name}` is not in C order")
    return _array_type(value.dtype, value.ndim)


@cache
def _array_type(dtype: Any, ndim: int) -> Any:
    return types.Array(from_dtype(dtype), ndim, "C")


@cache
def _record_type(name: str, fields: tuple[tuple[str, Any], ...]) -> RecordType:
    placed: dict[str, Field] = {}
    slot = 0
    for field, kind in fields:
        placed[field] = Field(kind, slot)
        slot += kind.slots if isinstance(kind, RecordType) else getattr(kind, "ndim", 0) + 1
    return RecordType(name, placed, slot)


def _numbers(record: tuple[Any, ...], kind: RecordType) -> list[int]:
    found: list[int] = []
    for value, field in zip(record, kind.fields.values(), strict=True):
        if isinstance(value, tuple):
            found += _numbers(value, field.type)
        elif isinstance(value, int):
            found.append(value)
        else:
            found += (value.ctypes.data, *value.shape)
    return found


@register_model(RecordType)
class _Pointer(models.OpaqueModel):
    pass


@unbox(RecordType)
def _address_of(_: RecordType, given: Any, c: Any) -> Any:
    address = c.pyapi.object_getattr_string(given, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer, is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _FieldTypes(AttributeTemplate):
    key = RecordType

    def generic_resolve(self, record: RecordType, name: str) -> Any:  # type: ignore[override] # numba looks it up by name
        field = record.fields.get(name)
        return None if field is None else field.type


@lower_getattr_generic(RecordType)
def _read(context: Any, builder: Any, record: RecordType, pointer: Any, name: str) -> Any:
    field = record.fields[name]
    if isinstance(field.type, RecordType):
        return cgutils.pointer_add(builder, pointer, field.slot * SLOT)
    if not isinstance(field.type, types.Array):
        return _number(builder, pointer, field.slot)
    dtype = field.type.dtype
    data = builder.inttoptr(_number(builder, pointer, field.slot), context.get_data_type(dtype).as_pointer())
    shape = [_number(builder, pointer, field.slot + 1 + axis) for axis in range(field.type.ndim)]
    itemsize = as_dtype(dtype).itemsize
    strides = [ir.Constant(ir.IntType(64), itemsize)]
    for size in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], size))
    array = make_array(field.type)(context, builder)
    populate_array(array, data, shape, strides, itemsize, meminfo=None)
    return array._getvalue()  # noqa: SLF001 - as every array is made in numba


def _number(builder: Any, pointer: Any, slot: int) -> Any:
    """A slot, which nothing changes while a loop runs: the compiler may keep it."""
    place = cgutils.pointer_add(builder, pointer, slot * SLOT, ir.IntType(64).as_pointer())
    number = builder.load(place)
    number.set_metadata("invariant.load", builder.module.add_metadata([]))
    return number
