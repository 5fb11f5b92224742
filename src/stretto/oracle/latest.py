"""SELECT LAST from its definition: the most recent partial match of each number of steps, event by event."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Protocol

from stretto.oracle.bindings import Binding, Gap, Taken, gaps_of, is_of
from stretto.oracle.values import Event
from stretto.pattern.nodes import Atom, Combine, Not, Query
from stretto.pattern.predicates import Expr


class Verdicts(Protocol):
    """What is asked of the oracle for whole matches."""

    query: Query
    events: Sequence[Event]
    ts: list[int]
    terms: list[Expr]

    def agree(self, binding: Binding) -> bool: ...

    def holds(self, term: Expr, binding: Binding) -> bool: ...

    def may_take(self, so_far: Binding, position: int, after: int | None) -> bool: ...

    def is_forbidden(self, gap: Gap, binding: Binding, position: int) -> bool: ...


def latest(judge: Verdicts) -> Iterator[Binding]:
    """The partial matches of all steps, each with the NOTs that are judged of whole matches."""
    pattern = judge.query.pattern
    parts = pattern.parts if isinstance(pattern, Combine) else (pattern,)
    steps = [part for part in parts if isinstance(part, Atom)]
    before = [sum(isinstance(part, Atom) for part in parts[:place]) for place in range(len(parts))]
    nots = [(count, part.part) for count, part in zip(before, parts, strict=True) if isinstance(part, Not)]
    stand: dict[Hashable, list[Binding | None]] = {}
    for position, event in enumerate(judge.events):
        key = tuple(event.value(name) for name in judge.query.same)
        if not judge.agree(Binding((Taken(0, (), position),))):
            continue  # no value of its own: it is in no match
        row = stand.setdefault(key, [Binding(), *[None] * len(steps)])
        for count in range(1, len(steps)):
            if _is_forbidden(judge, row[count], [atom for after, atom in nots if after == count], position):
                row[count] = None
        for count in range(len(steps), 0, -1):
            longer = _moved(judge, row[count - 1], steps[count - 1], position)
            if longer is not None:
                row[count] = longer
                if count > 1:
                    row[count - 1] = None
        complete, row[len(steps)] = row[len(steps)], None
        if complete is not None:
            bound = iter(complete.taken)
            times = [[judge.ts[next(bound).position]] if isinstance(part, Atom) else [] for part in parts]
            yield Binding(complete.taken, tuple(gaps_of(parts, times)))


def _moved(judge: Verdicts, partial: Binding | None, step: Atom, position: int) -> Binding | None:
    """A partial match with the event as its next one, if that one satisfies the step."""
    if partial is None:
        return None
    after = judge.ts[partial.taken[-1].position] if partial.taken else None
    if not judge.may_take(partial, position, after):
        return None
    longer = Binding((*partial.taken, Taken(step.variable, (), position)))
    accepted = is_of(judge.events[position], step.stream) and judge.agree(longer)
    # A term that names a variable which is not bound yet does not apply.
    return longer if accepted and all(judge.holds(term, longer) for term in judge.terms) else None


def _is_forbidden(judge: Verdicts, partial: Binding | None, nots: Sequence[Atom], position: int) -> bool:
    """Whether an event that a NOT forbids lies between the last step of a partial match and now."""
    if partial is None:
        return False
    since, now = judge.ts[partial.taken[-1].position], judge.ts[position]
    gaps = [Gap(atom, since, now) for atom in nots]
    return any(judge.is_forbidden(gap, partial, other) for gap in gaps for other in range(position))
