"""Lowering pieces with the policy NEXT or LAST: one operator follows the runs, negations filter its matches."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from stretto.errors import PlanError
from stretto.pattern.comparisons import equal
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece, Place
from stretto.pattern.predicates import Expr, Which, columns_of
from stretto.pattern.repetition_terms import fit
from stretto.plan.build import Builder, Part
from stretto.plan.combine import Source
from stretto.plan.draft import Draft
from stretto.plan.forbid import forbid
from stretto.plan.ops import Last, Next, StepGap


def follow_next(piece: Piece, builder: Builder, begun: Source | None = None) -> Part:
    """Add the operators of a piece whose slots are the steps of a run; `begun`: the runs over the first of them."""
    rows = Draft(
        piece, [_step(piece, slot, builder) for slot in range(len(piece.slots))], frozenset(), builder
    )
    bounds = tuple((slot.low, slot.high) for slot in piece.slots)
    rows.sets = tuple(bound != (1, 1) for bound in bounds)
    known = 1 if begun is None else len(begun.columns)
    # What can be judged of the first steps alone has been.
    terms, having = (
        tuple(term for term in some if begun is None or max(columns_of(term)) >= known)
        for some in ((*_same_terms(piece, builder), *piece.terms), piece.having)
    )
    steps = tuple(part.op for part in rows.parts)
    rows.joined, rows.pending = len(steps), piece.negations
    if begun is not None:
        steps = (begun.made.op, *steps[known:])
    follow = Next(steps, bounds, piece.window, fit(terms, rows.sets), fit(having, rows.sets), known)
    rows.add(follow, "follow_next" if begun is None else "continue_runs")
    for negation in sorted(piece.negations, key=lambda n: n.place.waits):
        forbid(rows, negation, range(len(rows.parts)))
    return rows.part()


def follow_last(piece: Piece, builder: Builder) -> Part:
    """The same where only the latest partial match of each length is kept: a NOT between steps ends it."""
    slots = range(len(piece.slots))
    rows = Draft(piece, [_step(piece, slot, builder) for slot in slots], frozenset(), builder)
    rows.sets = (False,) * len(slots)
    between = [negation for negation in piece.negations if negation.place is Place.BETWEEN]
    rows.joined, rows.pending = len(slots), tuple(n for n in piece.negations if n not in between)
    operator = Last(
        tuple(part.op for part in rows.parts),
        piece.window,
        tuple(builder.ref(0, name) for name in piece.same),
        piece.terms,
        tuple(StepGap(builder.scan(n.stream, piece.same), max(n.after), n.terms) for n in between),
    )
    rows.add(operator, "follow_last")
    for negation in sorted(rows.pending, key=lambda n: n.place.waits):
        forbid(rows, negation, slots)
    return rows.part()


def _step(piece: Piece, slot: int, builder: Builder) -> Part:
    step = piece.slots[slot]
    if not isinstance(step.source, Stream):
        raise PlanError("a step of a run is a repeated group")
    part = builder.scan_part(step.source, piece.same)
    return part if step.low else replace(part, always=())


def _same_terms(piece: Piece, builder: Builder) -> Iterator[Expr]:
    """All events agree: every two steps, whichever a run takes, and neighbours in a repeated one.

    A run judges a term once its variables are bound; equality with one chosen step alone would let a run take
    an event that disagrees before it reaches that step. Only a first step of one event is before all others: what
    agrees with it agrees.
    """
    first, *others = piece.slots
    if (first.low, first.high) == (1, 1):
        pairs = ((name, number) for name in piece.same for number in range(1, len(others) + 1))
        yield from (equal(builder.ref(0, name), builder.ref(number, name)) for name, number in pairs)
        return
    for name in piece.same:
        for one, other in combinations(range(len(piece.slots)), 2):
            yield equal(builder.ref(one, name), builder.ref(other, name))
        for number, slot in enumerate(piece.slots):
            if slot.high != 1:
                current = builder.ref(number, name, Which.CURRENT)
                yield equal(current, builder.ref(number, name, Which.PREVIOUS))
