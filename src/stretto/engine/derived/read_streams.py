"""Which streams a plan and the front before it read, and what of them."""

from collections.abc import Collection, Iterator

from stretto.engine.live_plan import streams_of
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Expr
from stretto.plan.dag import Plan
from stretto.plan.front.stages import (
    Aggregation,
    Counted,
    Detections,
    Encoding,
    Front,
    Projection,
    SharedAggregation,
)

FEW = 4
"""Selections of a stream that are judged before its events are put in order with others."""


def selections(read: Collection[Stream]) -> dict[str, list[tuple[Expr, ...]]]:
    """What is selected of each stream that is not read as a whole, if few terms say it."""
    found: dict[str, list[tuple[Expr, ...]]] = {}
    for stream in read:
        found.setdefault(stream.type, []).append(stream.where)
    return {name: wheres for name, wheres in found.items() if all(wheres) and len(wheres) <= FEW}


def kept_streams(plan: Plan) -> dict[str, frozenset[tuple[Expr, ...]] | None]:
    """The derived streams whose events stand among the raw ones, and what is selected of each; None: everything."""
    front = plan.front
    if front is None:
        return {}
    read = streams_of(plan).values()
    wheres = selections(read) if front.selective else {}
    names = {*(stream.type for stream in read), *source_types(front)} & front.names
    return {name: frozenset(wheres[name]) if name in wheres else None for name in names}


def source_types(front: Front) -> Iterator[str]:
    """The types and streams that stages read."""
    for stage in front.stages:
        match stage:
            case Projection() | Encoding():
                yield stage.source.type
            case Aggregation():
                yield stage.stream.source.type
            case SharedAggregation():
                yield stage.parts[0].stream.source.type
            case Detections():
                yield from _read_by(stage.plan, stage.counted)
    for side in front.sides:
        yield from _read_by(side.plan, side.counted)


def _read_by(plan: Plan, counted: Counted | None) -> Iterator[str]:
    yield from (stream.type for stream in streams_of(plan).values())
    yield from counted or ()
