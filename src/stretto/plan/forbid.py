"""Placing the negations of a piece: each as soon as the rows it judges are known."""

from collections.abc import Sequence

from stretto.pattern.branches import NotPlannable
from stretto.pattern.duties import Use, duty, equal, fit
from stretto.pattern.piece import Negation, Piece, Place
from stretto.pattern.predicates import Expr, Which, move_columns
from stretto.plan.draft import Draft
from stretto.plan.grow import flattens
from stretto.plan.ops import Forbid


def forbid_known(rows: Draft, pending: Sequence[Negation]) -> list[Negation]:
    """Check the negations whose interval and terms the rows settle; those still pending come back."""
    left: list[Negation] = []
    for negation in pending:
        if not negation.place.waits and _settled(rows, negation):
            forbid(rows, negation, slots_inside(rows, negation))
        else:
            left.append(negation)
    return left


def forbid(rows: Draft, negation: Negation, inside: Sequence[int]) -> None:
    """Drop the rows with a forbidden event; only slots in `inside` can bind events of its interval."""
    column = len(rows.sets)
    events = rows.builder.scan(negation.stream, rows.piece.same)
    forbidden = rows.piece.width
    terms = [move_columns(t, lambda c: column if c == forbidden else c) for t in negation.terms]
    operator = Forbid(
        input=rows.op,
        events=events,
        place=negation.place,
        window=rows.piece.window,
        after=tuple(c for slot in negation.after for c in rows.exits(slot)),
        before=tuple(c for slot in negation.before for c in rows.entries(slot)),
        terms=(*_same(rows, column), *fit(terms, (*rows.sets, False))),
        distinct=tuple(
            c for slot in inside for c in rows.piece.columns(slot) if negation.stream.type in rows.types[c]
        ),
    )
    rows.pending = tuple(other for other in rows.pending if other != negation)
    rows.add(operator, "forbid_when_certain" if negation.place.waits else "forbid_when_known")


def _same(rows: Draft, column: int) -> list[Expr]:
    """The forbidden event agrees with the match on the attributes all its events agree on."""
    return [
        equal(rows.edge(anchor, Which.LAST, rows.sets, name), rows.builder.ref(column, name))
        for name in rows.piece.same
        for anchor in rows.anchors(range(rows.joined))
    ]


def _settled(rows: Draft, negation: Negation) -> bool:
    """Whether later joins and repetitions can no longer change which events are forbidden to a row."""
    if negation.place is Place.FIRST and rows.joined < len(rows.parts):
        return False  # its interval starts from the last event of the match
    if any(slot >= rows.joined for slot in negation.after):
        return False
    needed = {*negation.before, *slots_inside(rows, negation)}
    for term in negation.terms:
        found = duty(term, rows.piece, rows.growing)
        if any(slot >= rows.joined for slot in found.slots):
            return False
        needed |= {slot for slot, use in found.uses.items() if use is not Use.LAST}
    return all(rows.whole(slot) for slot in needed)


def slots_inside(rows: Draft, negation: Negation, among: Sequence[int] | None = None) -> list[int]:
    """The slots (of those `among`) that could bind an event of the forbidden type inside the interval."""
    return [
        slot
        for slot in (range(len(rows.parts)) if among is None else among)
        if any(negation.stream.type in types for types in rows.parts[slot].types)
        and not _outside(rows, negation, slot)
    ]


def _outside(rows: Draft, negation: Negation, slot: int) -> bool:
    """Whether the order keeps all events of a slot out of the interval."""
    early = slot in negation.after or any((slot, other) in rows.order for other in negation.after)
    late = slot in negation.before or any((other, slot) in rows.order for other in negation.before)
    return early or late


def refuse_entangled(piece: Piece, growing: frozenset[int]) -> None:
    """Refuse negated terms that need the repetitions of a group apart: they are judged on the grown sets."""
    for negation in piece.negations:
        for term in negation.terms:
            uses = duty(term, piece, growing).uses
            if not all(flattens(piece, slot, term) for slot in uses):
                raise NotPlannable("a term that relates each repetition of a group with a forbidden event")
