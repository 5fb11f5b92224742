"""Joining the slots of a piece from left to right."""

from collections.abc import Sequence

from stretto.pattern.duties import Duty, fit, joinable
from stretto.pattern.predicates import Expr, move_columns
from stretto.plan.draft import Draft
from stretto.plan.ops import Filter, Join


def join_next_slot(rows: Draft, duties: Sequence[Duty]) -> None:
    """Join the next slot, by its last repetition, and check all terms that can be judged with it.

    A term over this slot alone is checked before the join, one over sets (neighbours, aggregates) after it.
    """
    slot = rows.joined
    part = rows.parts[slot]
    due = [d for d in duties if not d.hard and max(d.slots, default=0) == slot]
    right = _own_rows(rows, slot, [d.term for d in due if d.slots <= {slot}])
    if slot == 0:
        rows.op = right
        rows.sets = part.sets
        rows.joined = 1
        return
    sets = rows.sets + part.sets
    terms = fit([d.term for d in due if not d.slots <= {slot}], sets)
    before = all((other, slot) in rows.order for other in range(slot))
    join = Join(
        left=rows.op,
        right=right,
        window=rows.piece.window,
        order="before" if before else "any",
        terms=(
            *(() if before else _order_terms(rows, slot, sets)),
            *rows.same_terms(range(slot), part, rows.starts[slot], sets),
            *(term for term in terms if joinable(term)),
        ),
        distinct=tuple(rows.clashes(slot)),
    )
    rows.add(join, "join_left_to_right")
    rows.sets = sets
    rows.joined += 1
    rows.filter(tuple(term for term in terms if not joinable(term)))


def _own_rows(rows: Draft, slot: int, terms: Sequence[Expr]) -> int:
    """The slot's own rows that pass the terms over it alone."""
    part, start = rows.parts[slot], rows.starts[slot]
    own = fit([move_columns(term, lambda column: column - start) for term in terms], part.sets)
    return rows.builder.add(Filter(part.op, own), "filter_terms") if own else part.op


def _order_terms(rows: Draft, slot: int, sets: Sequence[bool]) -> list[Expr]:
    part, start = rows.parts[slot], rows.starts[slot]
    return [
        *rows.after_terms(rows.predecessors(slot), [start + c for c in part.entries], sets),
        *rows.before_terms(rows.successors(slot), [start + c for c in part.exits], sets),
    ]
