"""Options of a command as one frozen record: typer sees a parameter for each field, the command takes the record."""

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

R = TypeVar("R")


def takes(record: type[R]) -> Callable[[Callable[[R], None]], Callable[..., None]]:
    """Make a command for typer of a function that takes one record.

    A field that is a record itself is a group of options: its own fields take its place in the list.
    """

    def made(command: Callable[[R], None]) -> Callable[..., None]:
        def run(**given: Any) -> None:
            command(_filled(record, given))

        parameters = list(_parameters(record))
        run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # what inspect reads, and typer with it
        return run

    return made


def given(record: Any) -> dict[str, Any]:
    """The options of a record that were given, by name."""
    values = {one.name: getattr(record, one.name) for one in fields(record)}
    return {name: value for name, value in values.items() if value is not None}


def _parameters(record: type[Any]) -> Iterator[Parameter]:
    hints = get_type_hints(record, include_extras=True)
    for one in fields(record):
        if is_dataclass(hints[one.name]):
            yield from _parameters(hints[one.name])
        else:
            default = Parameter.empty if one.default is MISSING else one.default
            yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[one.name])


def _filled(record: type[R], values: dict[str, Any]) -> R:
    hints = get_type_hints(record)
    return record(
        **{
            one.name: _filled(hints[one.name], values) if is_dataclass(hints[one.name]) else values[one.name]
            for one in fields(record)  # type: ignore[arg-type]  # a record is a dataclass
        }
    )
