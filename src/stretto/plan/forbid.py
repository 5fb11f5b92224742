"""Placing the negations of a piece: each as soon as the rows it judges are known."""

from collections.abc import Sequence

from stretto.pattern.branches import NotPlannable
from stretto.pattern.core import judged_by_last
from stretto.pattern.piece import Negation, Piece
from stretto.pattern.predicates import Changed
from stretto.pattern.project import slots_inside
from stretto.pattern.repetition_terms import duty, fit
from stretto.plan.draft import Draft
from stretto.plan.grow import flattens
from stretto.plan.ops import Forbid


def forbid_known(rows: Draft, pending: Sequence[Negation]) -> list[Negation]:
    """Check the negations that no repetition still to grow can change, for rows that bind all slots of a piece.

    Those still pending come back, and all that wait.
    """
    ungrown = rows.growing - rows.grown
    left: list[Negation] = []
    for negation in pending:
        if not negation.place.waits and judged_by_last(negation, rows.piece, ungrown):
            forbid(rows, negation, slots_inside(negation, rows.piece))
        else:
            left.append(negation)
    return left


def forbid(rows: Draft, negation: Negation, inside: Sequence[int], because: str | None = None) -> None:
    """Drop the rows with a forbidden event; only slots in `inside` can bind events of its interval."""
    column = len(rows.sets)
    events = rows.builder.scan(negation.stream, rows.piece.same)
    to = Changed({rows.piece.width: column})
    terms = [term.moved(to) for term in negation.terms]
    sets = (*rows.sets, False)
    operator = Forbid(
        input=rows.op,
        events=events,
        place=negation.place,
        window=rows.piece.window,
        after=tuple(c for slot in negation.after for c in rows.exits(slot)),
        before=tuple(c for slot in negation.before for c in rows.entries(slot)),
        terms=(*rows.agreeing(rows.anchors(range(rows.joined)), (column,), sets), *fit(terms, sets)),
        distinct=tuple(
            c for slot in inside for c in rows.piece.columns(slot) if negation.stream.type in rows.types[c]
        ),
    )
    rows.pending = tuple(other for other in rows.pending if other != negation)
    when = "forbid_when_certain" if negation.place.waits else "forbid_when_known"
    rows.add(operator, because or when)


def refuse_entangled(piece: Piece, growing: frozenset[int]) -> None:
    """Refuse negated terms that need the repetitions of a group apart: they are judged on the grown sets."""
    for negation in piece.negations:
        for term in negation.terms:
            uses = duty(term, piece, growing).uses
            if not all(flattens(piece, slot, term) for slot in uses):
                raise NotPlannable("a term that relates each repetition of a group with a forbidden event")
