"""Attributes on which all events of a match, or of a total, agree: events with other values may be elsewhere."""

from collections.abc import Sequence

from stretto.pattern.derived.streams import DerivedStream
from stretto.pattern.nodes import Query, TrendQuery, streams_of
from stretto.pattern.normal import normalize
from stretto.pattern.piece import Detection, Piece
from stretto.pattern.predicates import Ref
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit
from stretto.plan.spread.key_flow import key_flow, read_streams, why_untied_piece
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a plan computes of its workload: detections (templates of families too), trends, and streams they read."""

    detections: Sequence[Detection]
    trends: Sequence[TrendQuery]
    streams: Sequence[DerivedStream]

    @property
    def pieces(self) -> list[Piece]:
        return [branch.piece for detection in self.detections for branch in detection.branches]


def tying_attributes(plan: Plan) -> tuple[str, ...]:
    """The attributes on which every query of a plan ties all of its events, forbidden ones too."""
    if plan.workload is None:
        return ()
    asked = _asked(plan)
    return tuple(name for name in sorted(plan.schema.attributes) if _first_reason(asked, name) is None)


def key_attributes(plan: Plan) -> tuple[str, ...]:
    """Those of the attributes that tie a plan's queries by which one of them says that its events agree.

    A query about single events is tied by every attribute, as it asks for none: it names no key.
    """
    if plan.workload is None:
        return ()
    asked = _asked(plan)
    return tuple(
        name
        for name in tying_attributes(plan)
        if asked.trends
        or asked.streams
        or any(name in piece.same or not _is_single(piece) for piece in asked.pieces)
    )


def of_single_events(plan: Plan) -> bool:
    """Whether no query relates an event to another one, so that each may be anywhere."""
    if plan.workload is None:
        return False
    asked = _asked(plan)
    if any(detection.thinning is not None for detection in asked.detections):
        return False
    return not asked.trends and not asked.streams and all(map(_is_single, asked.pieces))


def _is_single(piece: Piece) -> bool:
    return piece.width == 1 and not piece.slots[0].repeats and not piece.negations


def why_untied(plan: Plan, attributes: tuple[str, ...]) -> str | None:
    """Why events that differ in one of the attributes could still meet in a result; None if they cannot."""
    if plan.workload is None:
        return "the plan does not hold the workload that it was made for"
    asked = _asked(plan)
    for attribute in attributes:
        if attribute not in plan.schema.attributes:
            return f"the events have no attribute `{attribute}`"
        reason = _first_reason(asked, attribute)
        if reason is not None:
            return reason
    return None


def _asked(plan: Plan) -> _Asked:
    assert plan.workload is not None
    bound = plan.workload.bind(plan.schema)
    templates = [family.template for family in bound.templates]
    detections = (*bound.normal_forms(), *map(normalize, templates)) if plan.queries else ()
    trends = () if plan.trends is None else bound.trends
    queries: list[Query | TrendQuery] = [*(bound.detections if detections else ()), *templates, *trends]
    return _Asked(detections, trends, read_streams(queries, bound.streams))


def _first_reason(asked: _Asked, attribute: str) -> str | None:
    flow = key_flow(attribute, asked.streams)
    if flow.broken is not None:
        return flow.broken
    for query in asked.trends:
        holders = frozenset.intersection(*map(flow.holders, streams_of(query)))
        if holders.isdisjoint(query.groups):
            return f"query `{query.name}` {_ungrouped(query, attribute)}"
    for detection in asked.detections:
        derived = {stream.name for stream in asked.streams}
        slots = [slot for branch in detection.branches for slot in branch.piece.slots]
        over_streams = any(not derived.isdisjoint(slot.types) for slot in slots)
        thinned = _thinned(detection, attribute, over_streams=over_streams)
        if thinned is not None:
            return f"query `{detection.name}` {thinned}"
        for branch in detection.branches:
            reason = why_untied_piece(branch.piece, flow.holders, attribute)
            if reason is not None:
                return f"query `{detection.name}` {reason}"
    return None


def _thinned(detection: Detection, attribute: str, *, over_streams: bool) -> str | None:
    """Why KEEP or LIMIT looks at matches of several values of an attribute, as the rest of a sentence."""
    thinning = detection.thinning
    if thinning is None:
        return None
    if thinning.most:
        return "has a LIMIT over the matches of all keys"
    per = [item.value for item in detection.returns if item.hidden]
    by_key = any(isinstance(one, Ref) and one.attribute == attribute for one in per) and not over_streams
    if thinning.word == "LONGEST" or by_key:
        return None
    return f"has a KEEP over the matches of all keys; write `PER v.{attribute}`"


def why_thinned(plan: Plan) -> str | None:
    """Why a plan's matches must be looked at in one order; None if they need not."""
    for op in plan.ops:
        if isinstance(op, Emit) and op.thinning is not None:
            return f"query `{op.query}` has KEEP or LIMIT, which goes by the matches before, wherever these were found"
    return None


def _ungrouped(query: TrendQuery, attribute: str) -> str:
    """Why the totals of a trend query are over several values of an attribute, as the rest of a sentence about it."""
    what = "trends of all values of" if attribute in query.same else "trends over all values of"
    return f"adds up {what} `{attribute}`; write `GROUP BY {', '.join((*query.groups, attribute))}`"
