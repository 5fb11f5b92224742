"""Patterns of types, SEQ and `+` as position automata (Glushkov's): one state per variable.

No part of such a pattern is empty, so that each begins with one variable and ends with one. A SEQ gives a step from
the end of a part to the beginning of the next, a `+` a loop from the end of its part back to the beginning. Steps go
forward in the pattern and loops back: only loops of several `+` around one part can meet in one edge.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import field, replace
from itertools import chain, pairwise

from stretto.pattern.canonical.terms import canonical_conditions
from stretto.pattern.nodes import Atom, Combine, Pattern, Repeat, Stream, TrendQuery
from stretto.pattern.predicates import Expr, Ref, Which, columns_of, rewrite, walk
from stretto.pattern.split_conjunctions import separated
from stretto.records import dataclass
from stretto.trends.plan import Automaton, Condition, Edge, Entry

Pair = tuple[int, int]


def automaton(query: TrendQuery) -> Automaton:
    """The automaton whose paths are the trends of a query, each trend one path."""
    walked = _Walked()
    first, last = walked.ends(query.pattern)
    terms = _sorted_out(query, walked)
    edges = {step: terms.on_step(step) for step in walked.steps}
    loops: dict[Pair, list[list[Expr]]] = defaultdict(list)
    for loop, own in walked.loops:
        loops[loop].append(terms.adjacent[loop[0]] if own else terms.on_border(loop))
    edges |= {loop: condition_of(alternatives) for loop, alternatives in loops.items()}
    ordered = sorted(edges)
    return Automaton(
        tuple(terms.filtered(walked.streams[state], state) for state in sorted(walked.streams)),
        (Entry(first, condition_of([terms.first[first]])),),
        (Entry(last, condition_of([terms.last[last]])),),
        tuple(Edge(*pair, edges[pair]) for pair in ordered),
        frozenset(number for number, pair in enumerate(ordered) if pair in loops),
    )


def condition_of(alternatives: Iterable[Iterable[Expr]]) -> Condition | None:
    """Alternatives in one form; None where one of them asks for nothing. What implies another is left out."""
    found = {frozenset(canonical_conditions(terms)): None for terms in alternatives}
    least = [terms for terms in found if not any(other < terms for other in found)]
    if frozenset() in found:
        return None
    return tuple(sorted((canonical_conditions(terms) for terms in least), key=repr))


@dataclass(slots=True)
class _Walked:
    """What a pattern says of neighbours: steps of SEQs, and loops with whether they are a variable's own."""

    streams: dict[int, Stream] = field(default_factory=dict)
    steps: list[Pair] = field(default_factory=list)
    loops: list[tuple[Pair, bool]] = field(default_factory=list)

    def ends(self, pattern: Pattern) -> Pair:
        """The variables that a part begins and ends with."""
        match pattern:
            case Atom(variable, stream):
                self.streams[variable] = stream
                return variable, variable
            case Combine("SEQ", parts):
                ends = [self.ends(part) for part in parts]
                self.steps.extend((left[1], right[0]) for left, right in pairwise(ends))
                return ends[0][0], ends[-1][1]
            case Repeat(part, 1, None):
                first, last = self.ends(part)
                self.loops.append(((last, first), isinstance(part, Atom)))
                return first, last
        raise AssertionError(pattern)


@dataclass(slots=True)
class _Terms:
    """The terms of a query by what they are conditions on, over column 0, or over columns 0 and 1 of an edge."""

    single: dict[int, list[Expr]] = field(default_factory=lambda: defaultdict(list))
    first: dict[int, list[Expr]] = field(default_factory=lambda: defaultdict(list))
    last: dict[int, list[Expr]] = field(default_factory=lambda: defaultdict(list))
    adjacent: dict[int, list[Expr]] = field(default_factory=lambda: defaultdict(list))
    between: dict[Pair, list[Expr]] = field(default_factory=lambda: defaultdict(list))
    always: list[Expr] = field(default_factory=list)

    def on_border(self, pair: Pair) -> list[Expr]:
        """What an edge asks that leaves one variable for good and begins another, or the same anew."""
        begins = [_read(term, {0: 1}) for term in self.first[pair[1]]]
        return [*self.last[pair[0]], *begins]

    def on_step(self, pair: Pair) -> Condition | None:
        return condition_of([[*self.on_border(pair), *self.between[pair]]])

    def filtered(self, stream: Stream, variable: int) -> Stream:
        return Stream(
            stream.type, canonical_conditions([*stream.where, *self.single[variable], *self.always])
        )


def _sorted_out(query: TrendQuery, walked: _Walked) -> _Terms:
    """Every term of a query at the place where it is a condition."""
    found = _Terms()
    steps = set(walked.steps)
    every = frozenset(walked.streams)
    for term in chain.from_iterable(separated(term, every) for term in query.terms):
        columns = sorted(columns_of(term))
        if len(columns) == 2:
            pair = (columns[0], columns[1])
            pair = pair if pair in steps else (pair[1], pair[0])
            assert pair in steps, term
            found.between[pair].append(_read(term, {pair[0]: 0, pair[1]: 1}))
        elif columns:
            _put_single(term, columns[0], found, kleene=query.variables[columns[0]].kleene)
        else:
            found.always.append(term)
    return found


def _put_single(term: Expr, variable: int, found: _Terms, *, kleene: bool) -> None:
    """A term over one variable. A variable that is not repeated is its own FIRST and LAST."""
    which = {node.which for node in walk(term) if isinstance(node, Ref)}
    if which & {Which.CURRENT, Which.PREVIOUS}:
        assert which == {Which.CURRENT, Which.PREVIOUS}, term
        found.adjacent[variable].append(_read_neighbours(term))
        return
    moved = _read(term, {variable: 0})
    if not kleene or which == {Which.EACH}:
        found.single[variable].append(moved)
    elif which == {Which.FIRST}:
        found.first[variable].append(moved)
    else:
        assert which == {Which.LAST}, term
        found.last[variable].append(moved)


def _read(term: Expr, to: dict[int, int]) -> Expr:
    """The term over one event per column, columns renumbered."""

    def moved(node: Expr) -> Expr | None:
        return replace(node, column=to[node.column], which=Which.EACH) if isinstance(node, Ref) else None

    return rewrite(term, moved)


def _read_neighbours(term: Expr) -> Expr:
    """The term with the earlier neighbour as column 0 and the later one as column 1."""

    def moved(node: Expr) -> Expr | None:
        if not isinstance(node, Ref):
            return None
        return replace(node, column=int(node.which is Which.CURRENT), which=Which.EACH)

    return rewrite(term, moved)
