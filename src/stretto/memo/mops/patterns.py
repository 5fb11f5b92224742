"""A query taken apart: what its first event must be, how runs go on from there, what is checked of them in the end.

Runs from one event are the same run for all queries that go on alike, whichever of them the event is for. So what is
left of a query without its first terms, and without what is checked last, is what queries can share.
"""

from collections.abc import Hashable
from dataclasses import replace

from stretto.pattern.nodes import (
    Atom,
    Combine,
    Not,
    Pattern,
    Policy,
    Query,
    Repeat,
    Stream,
    atoms_of,
    streams_of,
)
from stretto.pattern.predicates import Changed, Expr, Reduce, Ref, Which, columns_of, walk
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Parts:
    """`first`: the stream of the first event, with the terms on it alone; None where the pattern begins otherwise.

    `streams`: what is read, that of the first event first. `definition`: how runs go on. `reported`: terms that can be
    checked of what is reported. `extent`: the window, where that can be too. `repeats`: whether some event is repeated.
    `single`: the first event is all there is.
    """

    first: Stream | None
    streams: tuple[str, ...]
    definition: Hashable
    reported: tuple[Expr, ...]
    extent: int | None
    repeats: bool
    single: bool = False


def parts_of(query: Query, *, as_stream: bool = False) -> Parts:
    """The parts of a query; one that is a stream reports as it is defined: others read its events."""
    atom = first_atom(query)
    repeats = _repeats(query.pattern)
    counts = query.policy in (Policy.STRICT, Policy.LAST) or query.window.unit == "events"
    if atom is None or counts or query.thinning is not None:
        kept = (query.pattern, frozenset(query.terms), frozenset(query.having))
        return Parts(None, streams_of(query), (*kept, *_rest(query), query.window), (), None, repeats)
    number = atom.variable
    own = [term for term in (*query.terms, *query.having) if is_of(term, number)]
    first = Stream(
        atom.stream.type, (*atom.stream.where, *(term.moved(Changed({number: 0})) for term in own))
    )
    reported = [] if as_stream else [term for term in (*query.terms, *query.having) if _is_last(term, query)]
    apart = {*own, *reported}
    terms = frozenset(term for term in query.terms if term not in apart)
    having = frozenset(term for term in query.having if term not in apart)
    wide = not as_stream and not _negates(query.pattern)
    definition = (
        with_first(query.pattern, Stream("")),
        terms,
        having,
        *_rest(query),
        None if wide else query.window,
        query.returns if as_stream else None,
    )
    others = dict.fromkeys(one.stream.type for one in atoms_of(query.pattern) if one is not atom)
    extent = query.window.size if wide else None
    names, single = (atom.stream.type, *others), atom is query.pattern
    return Parts(first, names, definition, tuple(reported), extent, repeats, single)


def first_atom(query: Query) -> Atom | None:
    """The single event that a pattern begins with, if that is how it begins and no NOT is about its stream."""
    node = query.pattern
    if isinstance(node, Combine) and node.word == "SEQ":
        node = node.parts[0]
    if not isinstance(node, Atom):
        return None
    return None if node.stream.type in _forbidden(query.pattern) else node


def with_first(pattern: Pattern, stream: Stream) -> Pattern:
    """A pattern that begins with one event, with another stream for it."""
    if isinstance(pattern, Atom):
        return replace(pattern, stream=stream)
    assert isinstance(pattern, Combine)
    first, *others = pattern.parts
    return replace(pattern, parts=(with_first(first, stream), *others))


def _rest(query: Query) -> tuple[Hashable, ...]:
    kinds = tuple((one.negated, one.kleene, one.groups) for one in query.variables)
    return kinds, frozenset(query.same), query.policy


def _forbidden(node: Pattern) -> list[str]:
    """The streams of negated events."""
    match node:
        case Not(part):
            return [part.stream.type]
        case Combine(_, parts):
            return [name for part in parts for name in _forbidden(part)]
    return []


def _repeats(node: Pattern) -> bool:
    match node:
        case Combine(_, parts):
            return any(_repeats(part) for part in parts)
        case Repeat(_, low, high):
            return (low, high) != (0, 1)
    return False


def _negates(node: Pattern) -> bool:
    return bool(_forbidden(node))


def is_of(term: Expr, number: int) -> bool:
    """Whether a term is about one event alone."""
    if columns_of(term) != {number}:
        return False
    return all(not isinstance(node, Ref) or node.which is Which.EACH for node in walk(term))


def _is_last(term: Expr, query: Query) -> bool:
    """Whether a term of a NEXT query is judged where a run reports, and there costs the report alone.

    So is a HAVING term on a last step of one event, and any term that reads a repeated last step as a whole.
    """
    steps = query.pattern.parts if isinstance(query.pattern, Combine) else (query.pattern,)
    last = steps[-1]
    if query.policy is not Policy.NEXT or any(query.variables[column].negated for column in columns_of(term)):
        return False
    if isinstance(last, Atom):
        return last.variable in columns_of(term) and term in query.having and _singles(query)
    if not isinstance(last, Repeat) or not isinstance(last.part, Atom) or last.low == 0 or last.high == 1:
        return False
    number = last.part.variable
    reads = [node for node in walk(term) if isinstance(node, Ref | Reduce) and node.column == number]
    whole = all(isinstance(node, Reduce) or node.which in (Which.FIRST, Which.LAST) for node in reads)
    return bool(reads) and whole


def _singles(query: Query) -> bool:
    """Whether every step is one event: then none is left when a run reports, and no other way leads there."""
    steps = query.pattern.parts if isinstance(query.pattern, Combine) else (query.pattern,)
    return all(isinstance(step, Atom | Not) for step in steps)
