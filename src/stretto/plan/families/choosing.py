"""How a family runs: its template over events paired with constants, or over plain events, with members found last.

Where neither is right, each member is a query of its own, and the reason is told.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from stretto.pattern.nodes import Atom, Combine, Pattern, Policy, Query, Repeat, Stream, atoms_of
from stretto.pattern.predicates import Apply, Expr, Param, Reduce, Ref, columns_of, walk
from stretto.records import dataclass


class NoTemplate(Exception):  # noqa: N818 - caught where members become queries
    """Why the members of a family cannot run as one template."""


@dataclass(frozen=True, slots=True)
class Late:
    """Matches of the template without `terms` find their members when they are complete."""

    terms: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Early:
    """Events of one variable are paired with the constants that they pass `terms` of; `plain` are its other terms."""

    variable: int
    source: Stream
    terms: tuple[Expr, ...]
    plain: tuple[Expr, ...]


def chosen(query: Query, pairs: Callable[[Early], float] | None = None) -> Late | Early:
    """How a template runs; NoTemplate says why it cannot. `pairs`: how many there are, where constants are known."""
    if query.thinning is not None:
        raise NoTemplate("KEEP and LIMIT go by the matches of each member")
    terms = tuple(term for term in query.terms if has_constants(term))
    having = tuple(term for term in query.having if has_constants(term))
    if not terms and not having:
        return Late(())
    if query.policy is Policy.LAST:
        raise NoTemplate("events of one member would take the places of another's")
    late = _late(query, terms) if not having else "HAVING ends runs by constants of each member"
    if not late:
        return Late(terms)
    early = [_early(query, variable, source) for variable, source in _carriers(query)]
    if _counts(query):
        raise NoTemplate(f"{late}, and positions are counted among plain events")
    if not early:
        raise NoTemplate(
            f"{late}, and no variable is bound once in every match and told apart from the others"
        )
    if pairs is None or len(early) == 1:
        return max(early, key=lambda one: _selective(one.terms))
    return min(early, key=pairs)


def _counts(query: Query) -> bool:
    """Whether it counts positions, which paired events do not have."""
    return query.policy is Policy.STRICT or query.window.unit == "events"


def has_constants(expr: Expr) -> bool:
    return any(isinstance(node, Param) for node in walk(expr))


def _late(query: Query, terms: Sequence[Expr]) -> str:
    """Why the terms cannot be judged on complete matches; nothing if they can, and should be."""
    for term in terms:
        variables = [query.variables[number] for number in columns_of(term)]
        if any(variable.negated for variable in variables):
            return "constants of each member say which events are forbidden"
        if any(variable.groups for variable in variables):
            return "terms inside of a repeated group read constants of each member"
    if query.policy is Policy.NEXT:
        first = _first(query.pattern)
        alone = first is not None and all(columns_of(term) <= {first.variable} for term in terms)
        return "" if alone else "the run of each member takes other events"
    if _counts(query):
        return ""
    if isinstance(query.pattern, Atom):
        return ""
    if any(_selective(_early(query, *one).terms) > (0, 0) for one in _carriers(query)):
        return "events that concern no member are left out at once"
    repeated = any(query.variables[number].kleene for term in terms for number in columns_of(term))
    return "repetitions that no member wants are not tried" if repeated else ""


def _first(pattern: Pattern) -> Atom | None:
    """The first step of a sequence, if it is a single event."""
    if isinstance(pattern, Combine) and pattern.word == "SEQ":
        first = next((part for part in pattern.parts if not _is_not(part)), None)
        return None if first is None else _first(first)
    return pattern if isinstance(pattern, Atom) else None


def _is_not(pattern: Pattern) -> bool:
    return not isinstance(pattern, Atom | Combine | Repeat)


def _carriers(query: Query) -> Iterator[tuple[int, Stream]]:
    """The variables whose events may be paired with constants, with their streams.

    One is bound to one event in every match, and no other variable can be bound to that event too: what is paired is
    another event to the plan. A run of NEXT has its constants from the first step on.
    """
    first = _first(query.pattern)
    for atom in _required(query.pattern):
        if query.policy is Policy.NEXT and atom is not first:
            continue
        if _told_apart(query.pattern, atom):
            yield atom.variable, atom.stream


def _required(node: Pattern) -> Iterator[Atom]:
    if isinstance(node, Atom):
        yield node
    elif isinstance(node, Combine) and node.word in ("SEQ", "AND"):
        for part in node.parts:
            yield from _required(part)


def _told_apart(node: Pattern, atom: Atom) -> bool:
    """Whether all other variables of its type come in order with it: they are other events then."""
    if not isinstance(node, Combine):
        return True
    own = next(part for part in node.parts if any(one is atom for one in atoms_of(part)))
    others = [one for part in node.parts if part is not own for one in atoms_of(part)]
    if node.word != "SEQ" and any(one.stream.type == atom.stream.type for one in others):
        return False
    return _told_apart(own, atom)


def _early(query: Query, variable: int, source: Stream) -> Early:
    mine = [term for term in query.terms if columns_of(term) <= {variable}]
    plain = tuple(term for term in mine if not has_constants(term) and columns_of(term))
    return Early(variable, source, tuple(term for term in mine if has_constants(term)), plain)


def _selective(terms: Sequence[Expr]) -> tuple[int, int]:
    """How much terms leave out, roughly: equalities first, then other comparisons."""
    words = [term.op for term in terms if isinstance(term, Apply)]
    equal = sum(word in ("=", "in") for word in words)
    return equal, len(terms) - equal


def read_attributes(exprs: Sequence[Expr], variable: int) -> dict[str, Ref | Reduce]:
    """The attributes of one variable that expressions read, each with a node that does."""
    return {
        node.attribute: node
        for expr in exprs
        for node in walk(expr)
        if isinstance(node, Ref | Reduce) and node.column == variable and node.attribute
    }


def without(query: Query, terms: Sequence[Expr]) -> Query:
    """The query without some of its terms."""
    gone = {id(term) for term in terms}
    return replace(query, terms=tuple(term for term in query.terms if id(term) not in gone))
