"""Lowering a detection into operators, as its text says it: left to right, every branch for itself.

The slots of a piece are joined from left to right, a repeated slot by its last repetition alone; then the
earlier repetitions are grown, slot by slot. Negations are checked as soon as the rows they depend on are
known, those that wait come last. Columns of the rows are the piece's columns, as slots are joined in order.
"""

from stretto.pattern.duties import duty, tighten
from stretto.pattern.nodes import Policy, Stream
from stretto.pattern.piece import Branch, Detection, Group, Piece, Slot
from stretto.plan.build import Builder, Part
from stretto.plan.draft import Draft
from stretto.plan.follow import follow_next
from stretto.plan.forbid import forbid, forbid_known, refuse_entangled
from stretto.plan.grow import grow_slot, growth_order
from stretto.plan.join import join_next_slot
from stretto.plan.ops import Emit, Union


def lower(detection: Detection, builder: Builder) -> int:
    """Add the operators of one query; the number of its Emit comes back.

    Raises NotPlannable for the few terms on the repetitions of groups that no operator can judge.
    """
    branches = detection.branches
    emit = Emit(
        query=detection.name,
        variables=detection.variables,
        kleene=detection.kleene,
        parts=tuple(_lower_piece(b.piece, builder, ambiguous=detection.ambiguous).op for b in branches),
        columns=tuple(branch.columns for branch in branches),
        waits=tuple(any(n.place.waits for n in branch.piece.negations) for branch in branches),
        window=branches[0].piece.window,
        distinct=detection.ambiguous,
        returns=detection.returns,
    )
    return builder.add(emit, "emit_matches")


def _lower_piece(piece: Piece, builder: Builder, *, ambiguous: bool) -> Part:
    if piece.policy is Policy.NEXT:
        return follow_next(piece, builder)
    piece = tighten(piece)
    growing = frozenset(i for i, slot in enumerate(piece.slots) if slot.high != 1)
    duties = tuple(duty(term, piece, growing) for term in piece.terms)
    order = growth_order(piece, growing, duties)
    refuse_entangled(piece, growing)
    parts = [_lower_slot(slot, piece, builder, ambiguous=ambiguous) for slot in piece.slots]
    rows = Draft(piece, parts, growing, builder)
    pending = list(piece.negations)
    for _ in parts:
        join_next_slot(rows, duties)
        pending = forbid_known(rows, pending)
    for slot in order:
        grow_slot(rows, slot, duties)
        pending = forbid_known(rows, pending)
    for negation in pending:
        forbid(rows, negation, range(len(parts)))
    return rows.part()


def _lower_slot(slot: Slot, piece: Piece, builder: Builder, *, ambiguous: bool) -> Part:
    """One event or one repetition of a slot."""
    if isinstance(slot.source, Stream):
        return builder.scan_part(slot.source, piece.same)
    return _lower_group(slot.source, builder, ambiguous=ambiguous)


def _lower_group(group: Group, builder: Builder, *, ambiguous: bool) -> Part:
    """The repetitions of a group: the rows of its alternatives, united."""
    found = [(b, _lower_piece(b.piece, builder, ambiguous=ambiguous)) for b in group.branches]
    if len(found) == 1 and found[0][0].columns == tuple(range(group.width)):
        return found[0][1]
    sets = [False] * group.width
    types: list[frozenset[str]] = [frozenset()] * group.width
    for branch, part in found:
        for column, held, own in zip(branch.columns, part.sets, part.types, strict=True):
            sets[column] |= held
            types[column] |= own
    union = Union(
        parts=tuple(part.op for _, part in found),
        columns=tuple(branch.columns for branch, _ in found),
        width=group.width,
        sets=tuple(sets),
        distinct=ambiguous and len(found) > 1,
    )
    return Part(
        op=builder.add(union, "unite_alternatives"),
        sets=tuple(sets),
        types=tuple(types),
        always=tuple(sorted(set.intersection(*(_moved(b, part.always) for b, part in found)))),
        entries=tuple(sorted(set.union(*(_moved(b, part.entries) for b, part in found)))),
        exits=tuple(sorted(set.union(*(_moved(b, part.exits) for b, part in found)))),
    )


def _moved(branch: Branch, columns: tuple[int, ...]) -> set[int]:
    return {branch.columns[column] for column in columns}
