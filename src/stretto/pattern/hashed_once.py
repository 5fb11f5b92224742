"""Frozen values that are looked up again and again: their hash, which takes a walk over all they hold, is kept."""

from typing import TypeVar

Value = TypeVar("Value", bound="HashedOnce")


class HashedOnce:
    """The base of such values. The hash is no field, so it is not pickled: texts hash otherwise in another process."""

    __slots__ = ("_hash",)
    _hash: int


def hashed_once(cls: type[Value]) -> type[Value]:
    """Let the objects of a frozen dataclass keep the hash that it defines."""
    compute = cls.__hash__

    def kept(self: Value) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", compute(self))
            return self._hash

    cls.__hash__ = kept  # type: ignore[method-assign,assignment]  # what dataclass made, asked once
    return cls
