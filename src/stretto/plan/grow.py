"""Growing the repetitions of a piece's slots, one slot after another, each term where it can first be judged.

A term quantifies over the repetitions of every slot it names. A repetition added to one slot is judged
against the grown sets of the slots before it and the last repetitions of those still to grow, so that each
combination is judged exactly when the last of its repetitions is added.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from stretto.pattern.branches import NotPlannable
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import Expr, Reduce, Ref, Which, rewrite
from stretto.pattern.repetition_terms import Duty, Use, fit, neighbours, survives_flattening
from stretto.plan.draft import Draft
from stretto.plan.ops import Repeat


def growth_order(piece: Piece, growing: frozenset[int], duties: Sequence[Duty]) -> list[int]:
    """The growing slots in the order they can be grown in: as written, where the terms allow it.

    Once a group has grown, its repetitions are no longer apart; so it grows after all slots that it shares a
    term with, if the term needs them apart. A slot whose neighbours a term relates to other repeated slots
    grows after those.
    """
    after: dict[int, set[int]] = {slot: set() for slot in growing}
    late: set[int] = set()
    for duty in duties:
        involved = duty.soft | duty.hard
        late.update(s for s, use in duty.uses.items() if use is Use.ADJACENT and len(involved) > 1)
        for slot in duty.soft:
            if not flattens(piece, slot, duty.term):
                after[slot] |= involved - {slot}
    order: list[int] = []
    while len(order) < len(growing):
        ready = [s for s in growing if s not in order and after[s] <= set(order)]
        if not ready:
            raise NotPlannable("a term that relates the repetitions of several groups")
        order.append(min(ready, key=lambda s: (s in late, s)))
    return order


def flattens(piece: Piece, slot: int, term: Expr) -> bool:
    """Whether a term can still be judged once the slot's repetitions are one set."""
    is_stream = isinstance(piece.slots[slot].source, Stream)
    return is_stream or survives_flattening(term, piece.columns(slot))


def grow_slot(
    rows: Draft, slot: int, duties: Sequence[Duty], because: str, *, agreeing: bool = False
) -> None:
    """Add the earlier repetitions of one slot, then check the terms that needed its whole set.

    `agreeing`: they are taken from rows that agree in all else, which have passed the terms on single repetitions.
    """
    part = rows.parts[slot]
    start, width = rows.starts[slot], len(rows.sets)
    element = rows.sets + part.sets
    soft = [d.term for d in duties if slot in d.soft and d.hard <= rows.grown]
    hard = [d for d in duties if slot in d.hard and d.hard - rows.grown == {slot}]
    adjacent = [d.term for d in hard if d.uses[slot] is Use.ADJACENT and neighbours(d.term) == {start}]
    first = [d.term for d in hard if d.uses[slot] is Use.FIRST and not neighbours(d.term)]
    whole = [d.term for d in hard if d.term not in adjacent and d.term not in first]
    others = [other for other in range(rows.joined) if other != slot]
    if agreeing:
        (final,) = rows.piece.columns(slot)
        moved = fit([_moved(term, rows, slot, _as_first) for term in first], (*rows.sets, False))
        bounds = rows.piece.slots[slot]
        whole_row = rows.op, rows.op, (final,), bounds.low, bounds.high, rows.piece.window
        repeat = Repeat(*whole_row, start=moved, agreeing=True)
        _grown_by(rows, slot, repeat, whole, because)
        return
    repeat = Repeat(
        base=rows.op,
        element=part.op,
        final=tuple(rows.piece.columns(slot)),
        low=rows.piece.slots[slot].low,
        high=rows.piece.slots[slot].high,
        window=rows.piece.window,
        terms=(
            *rows.after_terms(rows.predecessors(slot), [width + c for c in part.entries], element),
            *rows.same_terms((slot, *others), part, width, element),
            *fit([_moved(term, rows, slot, _as_element) for term in soft], element),
        ),
        adjacent=fit([_moved(term, rows, slot, _as_neighbour) for term in adjacent], element + part.sets),
        start=fit([_moved(term, rows, slot, _as_first) for term in first], element),
        distinct=tuple(rows.clashes(slot)),
    )
    _grown_by(rows, slot, repeat, whole, because)


def _grown_by(rows: Draft, slot: int, repeat: Repeat, whole: Sequence[Expr], because: str) -> None:
    """The operator, and then a filter by the terms that need the whole set."""
    rows.sets = tuple(held or column in repeat.final for column, held in enumerate(rows.sets))
    rows.grown.add(slot)
    rows.add(repeat, because, tuple(whole))
    rows.filter(fit(whole, rows.sets))


# Where a reference to a growing slot goes: an offset from the element's first column, or None for the base.
Target = Callable[[Ref], int | None]


def _as_element(ref: Ref) -> int | None:
    """Every repetition is the element; LAST is the last one, which the base has."""
    return None if ref.which is Which.LAST else 0


def _as_neighbour(ref: Ref) -> int | None:
    return {Which.PREVIOUS: 0, Which.CURRENT: 1}.get(ref.which)


def _as_first(ref: Ref) -> int | None:
    return 0 if ref.which is Which.FIRST else None


def _moved(term: Expr, rows: Draft, slot: int, target: Target) -> Expr:
    """A term with the references to one slot moved from the base to the element.

    Of a group every reference means the element, and FIRST, COUNT and so on its own sets.
    """
    columns, width = rows.piece.columns(slot), len(rows.sets)
    is_stream = isinstance(rows.piece.slots[slot].source, Stream)

    def moved(node: Expr) -> Expr | None:
        if not isinstance(node, Ref | Reduce) or node.column not in columns:
            return None
        if not is_stream:
            return replace(node, column=width + node.column - columns.start)
        if isinstance(node, Ref) and (offset := target(node)) is not None:
            return replace(node, column=width + offset, which=Which.EACH)
        return None

    return rewrite(term, moved)
