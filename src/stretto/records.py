"""`dataclass` as in `dataclasses`, for a package that has hundreds: a method is compiled when it is first called.

The one of the library compiles six methods for every class when its module is imported, which took a third of the time
in which a small file is read, planned for and run. Of these classes a run compares some, and makes few.
"""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from dataclasses import dataclass as described
from typing import TYPE_CHECKING, Any, cast

__all__ = ["dataclass"]

Method = Callable[..., Any]


def _record(
    cls: type | None = None,
    /,
    *,
    frozen: bool = False,
    slots: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002 - as the library has it
    kw_only: bool = False,
) -> Any:
    """A class of records, with the meaning that the library gives these words."""

    def decorated(cls: type) -> type:
        own = dict(vars(cls))
        made: Any = described(cls, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)
        if "__init__" not in own:
            _later(made, "__init__", _init)
        if eq:
            if "__eq__" not in own:
                _later(made, "__eq__", _eq)
            if frozen and own.get("__hash__") is None:
                _later(made, "__hash__", _hash)
            elif "__hash__" not in own:
                made.__hash__ = None
        methods: dict[str, Method] = {}
        if repr:
            methods["__repr__"] = _shown
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
            if slots:
                methods |= {"__getstate__": _state, "__setstate__": _restore}
        for name in methods.keys() - own.keys():
            setattr(made, name, methods[name])
        return cast("type", made)

    return decorated if cls is None else decorated(cls)


def _later(cls: type, name: str, compiled: Callable[[type], Method]) -> None:
    """Give a class a method that puts the real one in its place when it is called."""
    made: list[Method] = []

    def first(self: Any, /, *args: Any, **named: Any) -> Any:
        if not made:
            made.append(compiled(cls))
            # Who has wrapped it, so as to keep what it says, stays in its place.
            if vars(cls).get(name) is first:
                setattr(cls, name, made[0])
        return made[0](self, *args, **named)

    first.__name__, first.__qualname__ = name, f"{cls.__qualname__}.{name}"
    setattr(cls, name, first)


def _init(cls: type) -> Method:
    known: dict[str, Any] = {"missing": MISSING}
    given: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    frozen = cls.__setattr__ is _refuse
    for one in fields(cls):
        value = one.name
        if one.default_factory is not MISSING:
            known[f"new_{one.name}"] = one.default_factory
            value = f"new_{one.name}()" + (f" if {one.name} is missing else {one.name}" if one.init else "")
        if one.init:
            (named if one.kw_only else given).append(_parameter(one, known))
        elif one.default_factory is MISSING:
            continue
        lines.append(_assignment(cls, one.name, value, known) if frozen else f"self.{one.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *given, *(["*", *named] if named else [])])
    return _compiled(cls, "__init__", f"({parameters}):\n " + "\n ".join(lines or ["pass"]), known)


def _parameter(one: Field[Any], known: dict[str, Any]) -> str:
    if one.default_factory is not MISSING:
        return f"{one.name}=missing"
    if one.default is MISSING:
        return one.name
    known[f"default_{one.name}"] = one.default
    return f"{one.name}=default_{one.name}"


def _assignment(cls: type, name: str, value: str, known: dict[str, Any]) -> str:
    """What sets a field of a record that refuses to be changed; a slot can do it by itself."""
    slot = getattr(vars(cls).get(name), "__set__", None)
    if slot is None:
        known["put"] = object.__setattr__
        return f"put(self, {name!r}, {value})"
    known[f"put_{name}"] = slot
    return f"put_{name}(self, {value})"


def _eq(cls: type) -> Method:
    same = f"{_compared(cls, 'self')} == {_compared(cls, 'other')}"
    text = f"(self, other):\n return {same} if other.__class__ is self.__class__ else NotImplemented"
    return _compiled(cls, "__eq__", text, {})


def _hash(cls: type) -> Method:
    hashed = (one.name for one in fields(cls) if (one.compare if one.hash is None else one.hash))
    return _compiled(cls, "__hash__", f"(self):\n return hash({_values('self', hashed)})", {})


def _compared(cls: type, record: str) -> str:
    return _values(record, (one.name for one in fields(cls) if one.compare))


def _values(record: str, names: Iterable[str]) -> str:
    return "(" + "".join(f"{record}.{name}," for name in names) + ")"


def _compiled(cls: type, name: str, text: str, known: dict[str, Any]) -> Method:
    """A method of which we know the text: the names in it are those of fields, in our own modules."""
    exec(f"def {name}{text}", known)  # noqa: S102 - as the library does
    method: Method = known[name]
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _shown(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: Any, name: str, _value: object = None) -> None:
    raise FrozenInstanceError(f"cannot change field {name!r} of a {type(self).__name__}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _record
