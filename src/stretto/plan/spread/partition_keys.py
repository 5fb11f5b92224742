"""Attributes on which all events of a match, or of a total, agree: events with other values may be elsewhere."""

from collections.abc import Iterator, Sequence

from stretto.pattern.comparisons import equality
from stretto.pattern.nodes import Policy, Stream, TrendQuery
from stretto.pattern.piece import Detection, Piece
from stretto.pattern.predicates import Expr, Ref, partition_of, walk
from stretto.plan.dag import Plan


def tying_attributes(plan: Plan) -> tuple[str, ...]:
    """The attributes on which every query of a plan ties all of its events, forbidden ones too."""
    if plan.workload is None or plan.front is not None:
        return ()
    detections, trends = _queries(plan)
    return tuple(
        name for name in sorted(plan.schema.attributes) if _first_reason(detections, trends, name) is None
    )


def key_attributes(plan: Plan) -> tuple[str, ...]:
    """Those of the attributes that tie a plan's queries by which one of them says that its events agree.

    A query about single events is tied by every attribute, as it asks for none: it names no key.
    """
    detections, trends = _queries(plan) if plan.workload is not None else ((), ())
    pieces = [branch.piece for detection in detections for branch in detection.branches]
    return tuple(
        name
        for name in tying_attributes(plan)
        if trends or any(name in piece.same or not _is_single(piece) for piece in pieces)
    )


def of_single_events(plan: Plan) -> bool:
    """Whether no query relates an event to another one, so that each may be anywhere."""
    if plan.workload is None or plan.front is not None:
        return False
    detections, trends = _queries(plan)
    return not trends and all(_is_single(branch.piece) for one in detections for branch in one.branches)


def _is_single(piece: Piece) -> bool:
    return piece.width == 1 and not piece.slots[0].repeats and not piece.negations


def why_untied(plan: Plan, attributes: tuple[str, ...]) -> str | None:
    """Why events that differ in one of the attributes could still meet in a result; None if they cannot."""
    if plan.workload is None:
        return "the plan does not hold the workload that it was made for"
    if plan.front is not None:
        return "the queries read derived streams, which are not made key by key yet"
    detections, trends = _queries(plan)
    for attribute in attributes:
        if attribute not in plan.schema.attributes:
            return f"the events have no attribute `{attribute}`"
        reason = _first_reason(detections, trends, attribute)
        if reason is not None:
            return reason
    return None


def _queries(plan: Plan) -> tuple[Sequence[Detection], Sequence[TrendQuery]]:
    """What a plan computes of its workload."""
    assert plan.workload is not None
    found = plan.workload.bind(plan.schema).normal_forms() if plan.queries else ()
    return found, () if plan.trends is None else plan.trends.queries


def _first_reason(
    detections: Sequence[Detection], trends: Sequence[TrendQuery], attribute: str
) -> str | None:
    for query in trends:
        if attribute not in query.groups:
            return f"query `{query.name}` {_ungrouped(query, attribute)}"
    for detection in detections:
        for branch in detection.branches:
            reason = _untied(branch.piece, attribute)
            if reason is not None:
                return f"query `{detection.name}` {reason}"
    return None


def _ungrouped(query: TrendQuery, attribute: str) -> str:
    """Why the totals of a trend query are over several values of an attribute, as the rest of a sentence about it."""
    what = "trends of all values of" if attribute in query.same else "trends over all values of"
    return f"adds up {what} `{attribute}`; write `GROUP BY {', '.join((*query.groups, attribute))}`"


def _untied(piece: Piece, attribute: str) -> str | None:
    """Why a piece is not tied by an attribute, as the rest of a sentence about its query."""
    if piece.window.unit == "events":
        return "has a window in EVENTS, which counts those of all keys"
    if any(attribute not in partition_of(name) for name in _positions(piece)):
        return f"is STRICT over the events of all keys; write `[{attribute}]`"
    if attribute in piece.same:
        return None
    if piece.policy is Policy.NEXT:
        return f"takes the next event of any key; write `[{attribute}]`"
    if not _is_connected(piece, attribute):
        return f"does not tie all of its events by `{attribute}`; write `[{attribute}]`"
    for negation in piece.negations:
        tied = {
            column for pair in _pairs(negation.terms, attribute) if piece.width in pair for column in pair
        }
        if len(tied) < 2:
            return f"forbids `{negation.stream.type}` of any `{attribute}`; write `[{attribute}]`"
    return None


def _positions(piece: Piece) -> Iterator[str]:
    """The counts of positions that the terms of a piece read."""
    for term in piece.terms:
        for node in walk(term):
            if isinstance(node, Ref) and node.attribute.startswith("@"):
                yield node.attribute


def _is_connected(piece: Piece, attribute: str) -> bool:
    """Whether equalities between slots lead from every column to every other.

    An equality of a repeated column holds for each of its events, so those agree with each other once they agree with
    an event outside. A group may leave a column unbound, so no way leads on through it.
    """
    singles = {piece.columns(i)[0] for i, slot in enumerate(piece.slots) if isinstance(slot.source, Stream)}
    if not singles:
        return False
    if len(piece.slots) == 1:
        return not piece.slots[0].repeats
    slot_of = piece.slot_of_column
    pairs = [(a, b) for a, b in _pairs(piece.terms, attribute) if slot_of[a] != slot_of[b]]
    reached, pending = {min(singles)}, [min(singles)]
    while pending:
        at = pending.pop()
        linked = {column for pair in pairs if at in pair for column in pair} - reached
        reached |= linked
        pending += linked & singles
    return len(reached) == piece.width


def _pairs(terms: tuple[Expr, ...], attribute: str) -> list[tuple[int, int]]:
    """The columns whose events are said to be equal in an attribute."""
    found = []
    for left, right in filter(None, map(equality, terms)):
        if left.attribute == right.attribute == attribute:
            found.append((left.column, right.column))
    return found
