"""Placing the negations of a piece: each as soon as the rows it judges are known."""

from collections.abc import Sequence

from stretto.pattern.branches import NotPlannable
from stretto.pattern.piece import Negation, Piece, Place
from stretto.pattern.predicates import Changed
from stretto.pattern.project import slots_inside
from stretto.pattern.repetition_terms import Use, duty, fit
from stretto.plan.draft import Draft
from stretto.plan.grow import flattens
from stretto.plan.ops import Forbid


def forbid_known(rows: Draft, pending: Sequence[Negation]) -> list[Negation]:
    """Check the negations whose interval and terms the rows settle; those still pending come back."""
    left: list[Negation] = []
    for negation in pending:
        if not negation.place.waits and _settled(rows, negation):
            forbid(rows, negation, slots_inside(negation, rows.piece))
        else:
            left.append(negation)
    return left


def forbid(rows: Draft, negation: Negation, inside: Sequence[int]) -> None:
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
    rows.add(operator, "forbid_when_certain" if negation.place.waits else "forbid_when_known")


def _settled(rows: Draft, negation: Negation) -> bool:
    """Whether later joins and repetitions can no longer change which events are forbidden to a row."""
    if negation.place is Place.FIRST and rows.joined < len(rows.parts):
        return False  # its interval starts from the last event of the match
    if any(slot >= rows.joined for slot in negation.after):
        return False
    needed = {*negation.before, *slots_inside(negation, rows.piece)}
    for term in negation.terms:
        found = duty(term, rows.piece, rows.growing)
        if any(slot >= rows.joined for slot in found.slots):
            return False
        needed |= {slot for slot, use in found.uses.items() if use is not Use.LAST}
    return all(rows.whole(slot) for slot in needed)


def refuse_entangled(piece: Piece, growing: frozenset[int]) -> None:
    """Refuse negated terms that need the repetitions of a group apart: they are judged on the grown sets."""
    for negation in piece.negations:
        for term in negation.terms:
            uses = duty(term, piece, growing).uses
            if not all(flattens(piece, slot, term) for slot in uses):
                raise NotPlannable("a term that relates each repetition of a group with a forbidden event")
