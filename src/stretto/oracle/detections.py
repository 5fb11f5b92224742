"""What a detection query means, by brute force: the judge of every plan and every engine.

Written from docs/semantics.md alone, slow on purpose, and sharing nothing with the normal form, the plans or
the engine. Every way to bind events to the pattern is tried (`bindings`); terms, `[attr]`, negations
and the policy are then judged on whole matches. The values of expressions are Python's (`values`).
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise, product

from stretto.oracle.bindings import Binding, Gap, Path, Search, Taken, gaps_of
from stretto.oracle.keeping import thinned
from stretto.oracle.latest import latest
from stretto.oracle.values import Chosen, Event, Sets, evaluate
from stretto.pattern.nodes import Atom, Combine, Not, Pattern, Policy, Query, Repeat
from stretto.pattern.predicates import Expr, Reduce, Ref, Value, Which, columns_of, walk
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """`events`: names of the bound positive variables to the ids of their events, in time order.

    A variable of a join or of a pattern stream has an entry per leaf, such as `h.a`. `lacks_position`: the match waits
    for the last position of a window in EVENTS, and the input ends before it.
    """

    start: int
    end: int
    detected: int
    events: Mapping[str, tuple[int, ...]]
    returned: Mapping[str, Value]
    lacks_position: bool = field(default=False, compare=False)


Step = tuple[Atom, int, int | None]  # what a step takes, and the bounds of its repetition
Run = tuple[Binding, int, int]


def matches(query: Query, events: Sequence[Event], decided_by: int | None = None) -> list[Match]:
    """Every match of `query` once, in no promised order; positions go by time, then by id.

    `decided_by`: the time of the last event of the whole input. Matches that are undecided there are left out.
    """
    found = bound_matches(query, events, decided_by)
    if query.thinning is None:
        return [match for match, _ in found]
    reported = thinned(query, found)
    return [match for match in reported if decided_by is None or match.detected <= decided_by]


def bound_matches(
    query: Query, events: Sequence[Event], decided_by: int | None = None
) -> list[tuple[Match, Sets]]:
    """The same with the events of each variable, in time order."""
    judge = _Judge(query, sorted(events, key=lambda event: event.order))
    found: dict[Hashable, tuple[Match, Sets]] = {}
    for binding in judge.all_of(query.policy):
        if binding.taken and judge.accepts(binding):
            match, sets = judge.report(binding)
            if decided_by is not None and (match.detected > decided_by or match.lacks_position):
                continue
            # By positions, not by ids: of two events of one stream, other events may be behind the same ids.
            bound = frozenset((taken.variable, taken.position) for taken in binding.taken)
            known, _ = found.setdefault(bound, (match, sets))
            # Certain as soon as one way to read the match is.
            if (match.lacks_position, match.detected) < (known.lacks_position, known.detected):
                found[bound] = match, sets
    return list(found.values())


class _Judge(Search):
    """What is asked of a binding beyond its shape."""

    def __init__(self, query: Query, events: Sequence[Event]) -> None:
        super().__init__(query, events)
        negated = frozenset(i for i, variable in enumerate(query.variables) if variable.negated)
        self.terms = [term for term in query.terms if not columns_of(term) & negated]

    def all_of(self, policy: Policy) -> Iterator[Binding]:
        """What a policy lets events be bound to, before terms and negations are judged."""
        if policy is Policy.NEXT:
            return self.runs()
        return latest(self) if policy is Policy.LAST else self.bindings()

    # ---- skip till next match ----------------------------------------------------------------------------

    def runs(self) -> Iterator[Binding]:
        """The states of all runs; a run is a binding, its step, and how many events that step has."""
        steps = _steps(self.query.pattern)
        open_runs: list[Run] = []
        for position in range(len(self.events)):
            moves = self.moves(steps, (Binding(), -1, 0), position)
            waiting: list[Run] = []
            for run in open_runs:
                extended = self.moves(steps, run, position)
                moves += extended
                waiting += [] if extended else [run]
            new = [run for run, goes_on in moves if goes_on]
            open_runs = waiting + new
            for binding, step, count in new:
                if count >= steps[step][1] and all(low == 0 for _, low, _ in steps[step + 1 :]):
                    yield Binding(binding.taken, tuple(self.gaps_under(self.query.pattern, binding)))

    def gaps_under(self, node: Pattern, binding: Binding) -> Iterator[Gap]:
        """The NOTs of a run, each placed by the SEQ that directly holds it."""
        if isinstance(node, Combine):
            taken = [{atom.variable for atom, _, _ in _steps(part)} for part in node.parts]
            times = [[self.ts[t.position] for t in binding.taken if t.variable in part] for part in taken]
            yield from gaps_of(node.parts, times)
            for part in node.parts:
                yield from self.gaps_under(part, binding)

    def moves(self, steps: Sequence[Step], run: Run, position: int) -> list[tuple[Run, bool]]:
        """The run extended by the event, once for every step that accepts it, and whether HAVING lets it go on."""
        binding, step, count = run
        accepted = []
        for target, (atom, _, high) in enumerate(steps):
            again = target == step and (high is None or count < high)
            later = target > step and (step < 0 or count >= steps[step][1])
            if not (again or (later and all(low == 0 for _, low, _ in steps[step + 1 : target]))):
                continue
            after = self.ts[binding.taken[-1].position] if binding.taken else None
            if self.may_take(binding, position, after) and self.is_of(atom.stream, position):
                longer = Binding((*binding.taken, Taken(atom.variable, (), position)))
                open_steps = {other.variable for other, low, top in steps[target:] if (low, top) != (1, 1)}
                if self.agree(longer) and self.hold(self.terms, longer, open_steps):
                    goes_on = self.hold(self.query.having, longer, open_steps)
                    accepted.append(((longer, target, count + 1 if again else 1), goes_on))
        return accepted

    def hold(self, terms: Sequence[Expr], run: Binding, open_steps: set[int]) -> bool:
        """Whether the terms that are decidable while some steps are open hold for a run."""
        return all(self.holds(term, run) for term in terms if not _whole_sets(term) & open_steps)

    # ---- whole matches -----------------------------------------------------------------------------------

    def accepts(self, binding: Binding) -> bool:
        """Whether `[attr]`, the terms, STRICT and the negations allow what has been bound."""
        return (
            self.agree(binding)
            and all(self.holds(term, binding) for term in (*self.terms, *self.query.having))
            and (self.query.policy is not Policy.STRICT or self.is_consecutive(binding))
            and not any(self.is_broken(gap, binding) for gap in binding.gaps)
        )

    def agree(self, binding: Binding) -> bool:
        """`[attr]`: one value, not null, in all events."""
        bound = [self.events[taken.position] for taken in binding.taken]
        return all(
            event.value(name) is not None and event.value(name) == bound[0].value(name)
            for name in self.query.same
            for event in bound
        )

    def holds(self, term: Expr, binding: Binding) -> bool:
        """Whether the term is true for every joint choice of repetitions that binds all of its variables."""
        columns = sorted(columns_of(term))
        paths = [dict.fromkeys(t.path for t in binding.taken if t.variable == column) for column in columns]
        for choice in product(*paths):
            repetitions: dict[int, int] = {}  # of one group, all variables mean the same repetition
            if all(repetitions.setdefault(group, n) == n for path in choice for group, n in path):
                scopes = zip(columns, choice, strict=True)
                sets = {column: self.bound(binding, column, path) for column, path in scopes}
                if not all(evaluate(term, sets, chosen) is True for chosen in _choices(term, sets)):
                    return False
        return True

    def bound(self, binding: Binding, variable: int, path: Path) -> list[Event]:
        """The events that one repetition of the groups around a variable binds to it, in time order."""
        return [self.events[t.position] for t in binding.taken if t.variable == variable and t.path == path]

    def is_consecutive(self, binding: Binding) -> bool:
        """STRICT: no position is left out, among the events that agree with the match on every `[attr]`."""
        positions = {taken.position for taken in binding.taken}
        one = self.events[min(positions)]
        partition = [
            position
            for position in range(min(positions), max(positions) + 1)
            if all(self.events[position].value(name) == one.value(name) for name in self.query.same)
        ]
        return len(partition) == len(positions)

    def is_broken(self, gap: Gap, binding: Binding) -> bool:
        return any(self.is_forbidden(gap, binding, position) for position in range(len(self.events)))

    def is_forbidden(self, gap: Gap, binding: Binding, position: int) -> bool:
        """Whether the event at `position` breaks the match: in the gap, and of those that its terms allow."""
        bound = [taken.position for taken in binding.taken]
        if position in bound or not self.is_of(gap.atom.stream, position):
            return False
        if not self.is_inside(gap, min(bound), max(bound), position):
            return False
        variable = gap.atom.variable
        with_it = Binding((*binding.taken, Taken(variable, (), position)))
        terms = [term for term in self.query.terms if variable in columns_of(term)]
        return self.agree(with_it) and all(self.holds(term, with_it) for term in terms)

    def is_inside(self, gap: Gap, first: int, last: int, position: int) -> bool:
        ts, size = self.ts[position], self.query.window.size
        by_count = self.query.window.unit == "events"
        if gap.after is not None:
            late_enough = ts > gap.after
        elif gap.before is None:
            late_enough = ts >= self.ts[first]
        else:
            late_enough = position >= last - size + 1 if by_count else ts >= self.ts[last] - size
        if gap.before is not None:
            return late_enough and ts < gap.before
        return late_enough and (position <= first + size - 1 if by_count else ts <= self.ts[first] + size)

    def report(self, binding: Binding) -> tuple[Match, Sets]:
        sets: dict[int, list[Event]] = {}
        for taken in sorted(binding.taken, key=lambda taken: taken.position):
            sets.setdefault(taken.variable, []).append(self.events[taken.position])
        bound = [taken.position for taken in binding.taken]
        first, last, size = min(bound), max(bound), self.query.window.size
        detected, lacks_position = self.ts[last], False
        if any(gap.waits for gap in binding.gaps):
            by_count = self.query.window.unit == "events"
            # Where undecided events end the input, `detected` alone puts the match behind all decided ones.
            lacks_position = by_count and first + size > len(self.ts) and not self.events[-1].is_after_input
            detected = self.ts[min(first + size, len(self.ts)) - 1] if by_count else self.ts[first] + size
        single = {(variable, Which.EACH): chosen[0] for variable, chosen in sets.items()}
        listed: dict[str, tuple[int, ...]] = {}
        for variable in sorted(sets):
            for event in sets[variable]:
                for name, ids in event.leaves_of(self.query.variables[variable].name):
                    listed[name] = (*listed.get(name, ()), *ids)
        returned = {item.name: evaluate(item.value, sets, single) for item in self.query.returns}
        return Match(self.ts[first], self.ts[last], detected, listed, returned, lacks_position), sets


def _steps(node: Pattern) -> list[Step]:
    """The steps of a SEQ, nested ones opened, NOTs left out."""
    if isinstance(node, Combine):
        return [step for part in node.parts for step in _steps(part)]
    if isinstance(node, Not):
        return []
    repeated = node if isinstance(node, Repeat) else Repeat(node, 1, 1)
    assert isinstance(repeated.part, Atom), "NEXT takes a SEQ of types and repeated types"
    return [(repeated.part, repeated.low, repeated.high)]


def _whole_sets(term: Expr) -> set[int]:
    """The columns whose whole set a term reads."""
    ends = (Which.FIRST, Which.LAST)
    return {
        node.column
        for node in walk(term)
        if isinstance(node, Reduce) or (isinstance(node, Ref) and node.which in ends)
    }


def _choices(term: Expr, sets: Sets) -> Iterator[Chosen]:
    """Every choice of an event per plainly named column, and of two neighbours per column named by [i]."""
    named = {(node.column, node.which) for node in walk(term) if isinstance(node, Ref)}
    options: list[list[dict[tuple[int, Which], Event]]] = []
    for column, bound in sets.items():
        if (column, Which.EACH) in named:
            options.append([{(column, Which.EACH): event} for event in bound])
        if {(column, Which.CURRENT), (column, Which.PREVIOUS)} & named:
            pairs = pairwise(bound)
            options.append([{(column, Which.PREVIOUS): a, (column, Which.CURRENT): b} for a, b in pairs])
    for parts in product(*options):
        yield {key: event for part in parts for key, event in part.items()}
