"""`RETURN *` and `RETURN a.*`: whole events, as a column for each of their attributes."""

from collections.abc import Iterator

from stretto.pattern.binding.scope import Known, Scope
from stretto.pattern.nodes import EventField, Return
from stretto.pattern.predicates import Expr, Reduce, Ref
from stretto.schema import Kind
from stretto.text import syntax

LIST = "LIST"
"""The values of an attribute over all events of a variable, in time order."""
_LISTED = {
    Kind.STRING: Kind.STRINGS,
    Kind.FLOAT: Kind.FLOATS,
    Kind.FLOATS: Kind.STRINGS,
    Kind.INTS: Kind.STRINGS,
}
_LISTED |= {Kind.STRINGS: Kind.STRINGS}


def starred(node: syntax.Star, scope: Scope) -> list[Known] | None:
    """The variables that a `*` means; None: it names one that is none."""
    if node.variable is None:
        return [known for known in scope.variables.values() if not known.negated]
    known = scope.variables.get(node.variable)
    return None if known is None else [known]


def whole_event(known: Known, record: str, scope: Scope) -> Iterator[Return]:
    """The time and the attributes of a variable's events; the id is among the match's ids."""
    assert scope.schema is not None
    kinds = {"ts": Kind.TIME, **(known.attributes or {})}
    kinds.pop(scope.schema.special.id, None)
    for field, kind in kinds.items():
        value: Expr = Ref(known.number, field, kind)
        listed = kind
        if known.listed:
            listed = _LISTED.get(kind, Kind.INTS)
            value = Reduce(LIST, known.number, field, listed)
        yield Return(f"{record}.{field}", value, listed, part=EventField(record, field, kind, known.listed))
