"""Selections and projections need no stream of their own: what reads one reads its source, the definition in place.

An event of `CREATE STREAM p AS SELECT x * 2 AS y FROM A WHERE x > 1` is the A event itself with its time and id, so an
atom `p v` is `A v` with the term `v.x > 1`, and `v.y` is `v.x * 2`. It stays right as long as nobody can tell the two
events apart: see `substituted`.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Final

from stretto.pattern.derived.streams import DerivedStream, Selection
from stretto.pattern.nodes import Atom, Combine, Not, Pattern, Policy, Query, Repeat, Return, Stream, atoms_of
from stretto.pattern.predicates import Apply, Expr, Reduce, Ref, Which, rewrite, walk

Columns = Mapping[str, Expr]  # what each attribute of a stream is, over the raw event as column 0

_TELL_NULLS_APART: Final = frozenset({"is_null", "and", "or", "in", "case", "coalesce"})
"""What may have a value where its operand has none: of an unbound variable the attribute is null, and this is not."""


class _NeedsEventsError(Exception):
    """The stream's events are needed as such."""


def plain_selections(streams: Iterable[DerivedStream]) -> dict[str, Selection]:
    """The selections that stand over raw types, each as one over the raw type itself, by name."""
    found: dict[str, Selection] = {}
    derived: set[str] = set()
    for stream in streams:
        derived.add(stream.name)
        if not isinstance(stream, Selection):
            continue
        below = found.get(stream.source.type)
        if below is None and stream.source.type in derived:
            continue
        if below is None:
            found[stream.name] = stream
            continue
        columns = _columns(below)
        try:
            where = [_written(term, 0, columns) for term in stream.source.where]
            made = tuple(replace(one, value=_written(one.value, 0, columns)) for one in stream.columns)
        except _NeedsEventsError:
            continue
        source = Stream(below.source.type, tuple(dict.fromkeys((*below.source.where, *where))))
        found[stream.name] = Selection(stream.name, source, made)
    return found


def substituted(query: Query, selections: Mapping[str, Selection], derived: Collection[str]) -> Query | None:
    """The query over raw types and other streams of the `derived` ones, or None where it would not mean the same.

    Positions are counted among the streams that a query names, so STRICT and windows of events need them. A raw type
    that comes in by two names gives two different events there, and one here. `[attr]` and SUM, AVG, .. of an attribute
    need one of that name; and what a variable's attribute is must not depend on the alternative. Runs of NEXT and LAST
    read events in their one order, in which an event of another stream may have the same time and id: then the names
    of the streams say which comes first.
    """
    atoms = list(atoms_of(query.pattern))
    names = {atom.stream.type for atom in atoms}
    raw = [selections[name].source.type if name in selections else name for name in names]
    if query.policy is Policy.STRICT or query.window.unit == "events" or len(set(raw)) < len(raw):
        return None
    if query.policy in (Policy.NEXT, Policy.LAST) and any(name in derived for name in raw):
        return None
    columns: dict[int, Columns] = {}
    for atom in atoms:
        own = _columns(selections[atom.stream.type]) if atom.stream.type in selections else {}
        if columns.setdefault(atom.variable, own) != own:
            return None
    if any(not _is_plain(of.get(name), name) for of in columns.values() if of for name in query.same):
        return None
    try:
        return replace(
            query,
            pattern=_pattern(query.pattern, selections),
            terms=tuple(dict.fromkeys(_over(term, columns) for term in query.terms)),
            having=tuple(dict.fromkeys(_over(term, columns) for term in query.having)),
            returns=tuple(_returned(item, columns) for item in query.returns),
        )
    except _NeedsEventsError:
        return None


def _columns(selection: Selection) -> Columns:
    return {column.name: column.value for column in selection.columns}


def _is_plain(value: Expr | None, name: str) -> bool:
    return isinstance(value, Ref) and value.attribute == name


def _pattern(node: Pattern, selections: Mapping[str, Selection]) -> Pattern:
    match node:
        case Atom(variable, stream):
            return Atom(variable, _stream(stream, selections))
        case Combine(word, parts):
            return Combine(word, tuple(_pattern(part, selections) for part in parts))
        case Not(Atom(variable, stream)):
            return Not(Atom(variable, _stream(stream, selections)))
        case Repeat(part, low, high):
            return Repeat(_pattern(part, selections), low, high)
    raise AssertionError(node)


def _stream(stream: Stream, selections: Mapping[str, Selection]) -> Stream:
    if stream.type not in selections:
        return stream
    selection = selections[stream.type]
    where = [_written(term, 0, _columns(selection)) for term in stream.where]
    return Stream(selection.source.type, tuple(dict.fromkeys((*selection.source.where, *where))))


def _returned(item: Return, columns: Mapping[int, Columns]) -> Return:
    value = _over(item.value, columns)
    if value != item.value:
        named = {(node.column, node.attribute) for node in walk(item.value) if isinstance(node, Ref)}
        made = [columns[column][name] for column, name in named if name in columns[column]]
        if any(
            isinstance(node, Apply) and node.op in _TELL_NULLS_APART for one in made for node in walk(one)
        ):
            raise _NeedsEventsError
    return replace(item, value=value)


def _over(expr: Expr, columns: Mapping[int, Columns]) -> Expr:
    """An expression over variables, with what their attributes are in place."""
    for column, own in columns.items():
        if own:
            expr = _written(expr, column, own)
    return expr


def _written(expr: Expr, column: int, columns: Columns) -> Expr:
    """The same for one column. Only what was there is rewritten: what is put in place reads raw attributes."""

    def rule(node: Expr) -> Expr | None:
        match node:
            case Ref(number, attribute, _, which) if number == column and attribute != "ts":
                return _placed(columns[attribute], column, which)
            case Reduce(_, number, attribute, _) if number == column and attribute not in ("", "ts"):
                value = columns[attribute]
                if not isinstance(value, Ref):
                    raise _NeedsEventsError
                return replace(node, attribute=value.attribute)
        return None

    return rewrite(expr, rule)


def _placed(value: Expr, column: int, which: Which) -> Expr:
    """What an attribute is, of the event that a reference means; a constant would no longer name the event."""

    def rule(node: Expr) -> Expr | None:
        return Ref(column, node.attribute, node.kind, which) if isinstance(node, Ref) else None

    if not any(isinstance(node, Ref) for node in walk(value)):
        raise _NeedsEventsError
    return rewrite(value, rule)
