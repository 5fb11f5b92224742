"""Runs that begin with an event of some members: its class says of which, so that they are followed once for all.

Under NEXT, where constants of members are compared with the first event alone, whatever follows is the same for all
(docs/laws.md, L17). So the first events are a channel: each has the set of the combinations of constants that it
passes, and a run that is reported has it from there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from stretto.memo.mops.patterns import first_atom, is_of, with_first
from stretto.pattern.derived.families import written
from stretto.pattern.nodes import Policy, Query, Return, Stream
from stretto.pattern.predicates import Expr, Ref, Value, columns_of
from stretto.plan.families.choosing import Late, has_constants, read_attributes, without
from stretto.plan.families.members import Constants
from stretto.plan.front.channel_streams import EncodedSelections, class_of
from stretto.schema import Kind

MOST: Final = 2_048
"""Combinations that a class may list: each class is kept once, with all of them."""


def begins_with_class(query: Query, how: Late, entries: Constants) -> bool:
    """Whether first events can have classes: constants are theirs alone, and all runs from one event are the same."""
    atom = first_atom(query)
    if atom is None or atom is query.pattern or query.policy is not Policy.NEXT:
        return False
    if query.window.unit == "events" or not 1 < len(entries) <= MOST:
        return False
    return bool(how.terms) and all(columns_of(term) == {atom.variable} for term in how.terms)


def over_classes(
    query: Query, how: Late, entries: Constants, kinds: Mapping[str, Kind]
) -> tuple[Query, EncodedSelections, Expr]:
    """The template over first events that have classes, their stream, and where a match has its class.

    `kinds`: the attributes of these events.
    """
    atom = first_atom(query)
    assert atom is not None
    number = atom.variable
    plain = tuple(term for term in query.terms if is_of(term, number) and not has_constants(term))
    left = without(query, (*how.terms, *plain))
    exprs = (*left.terms, *left.having, *(item.value for item in left.returns))
    read = dict.fromkeys((*left.same, *read_attributes(exprs, number)))
    to_event = {number: 0}
    name = f"{query.name} {query.variables[number].name}"
    stream = EncodedSelections(
        name,
        Stream(atom.stream.type, (*atom.stream.where, *(term.moved(to_event) for term in plain))),
        tuple(Return(one, Ref(0, one, kinds[one]), kinds[one]) for one in read if one in kinds),
        _members([term.moved(to_event) for term in how.terms], entries),
    )
    positive = [place for place, variable in enumerate(query.variables) if not variable.negated]
    template = replace(left, pattern=with_first(query.pattern, Stream(name)))
    return template, stream, class_of(name, positive.index(number))


def _members(terms: Sequence[Expr], entries: Constants) -> tuple[tuple[Expr, ...], ...]:
    """The terms of each combination, with its constants written in."""
    columns = {name: _values(column, entries.kinds[name]) for name, column in entries.columns.items()}
    rows = ({name: values[row] for name, values in columns.items()} for row in range(len(entries)))
    return tuple(tuple(written(term, row) for term in terms) for row in rows)


def _values(column: pa.Array, kind: Kind) -> list[Value]:
    plain = column.cast(pa.int64()) if kind in (Kind.TIME, Kind.DURATION) else column
    found: list[Value] = plain.to_pylist()
    return found
