"""The front of a plan as rows of an explanation: a row for each derived stream, and one for each query of a side."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from stretto.explain.model import Meaning, Row
from stretto.pattern.derived.streams import WindowedValue
from stretto.pattern.describe import conjunction_text, stream_text, term_text, window_text
from stretto.pattern.nodes import Return, Stream, Window
from stretto.plan.families.members import Pairing
from stretto.plan.front.leaves import ID
from stretto.plan.front.stages import (
    Aggregation,
    Detections,
    Encoding,
    Front,
    Projection,
    SharedAggregation,
)
from stretto.plan.ops import Scan

if TYPE_CHECKING:
    from stretto.plan.dag import Plan

STREAM = "stream"
"""The kind of a row that makes the events of a derived stream."""
SIDE = "side"
"""The kind of a row that answers a query which counts positions, in a plan of its own."""
EVENT = ("it",)
FEW = 4
"""Members of a channel that are shown; of the others it is said how many they are."""


def front_rows(plan: "Plan", first: int) -> list[Row]:
    """The rows of a front, numbered from `first` on: streams, each after those it reads, then queries of sides."""
    front = plan.front
    assert front is not None
    places: dict[str, int] = {}
    rows: list[Row] = []
    for name, reads, text, known, usual in _streams(front):
        because = front.because.get(name, usual)
        inputs = tuple(sorted({places[one] for one in reads if one in places}))
        places.setdefault(name, first + len(rows))
        served = _readers(plan, front, name)
        rows.append(_row(first + len(rows), STREAM, inputs, f"stream {name}: {text}", served, because, known))
    for side in front.sides:
        for query, number in side.plan.queries.items():
            inputs = tuple(sorted({places[one] for one in _scanned(side.plan, query) if one in places}))
            among = ", ".join(side.counted) or "all raw events"
            text = f"query {query}: {side.plan.pieces[number]}  positions among {among}"
            known = side.plan.records[number].rows, side.plan.records[number].cost
            rows.append(_row(first + len(rows), SIDE, inputs, text, (query,), "count_positions", known))
    return rows


Known = tuple[float | None, float | None]
StreamRow = tuple[str, Sequence[str], str, Known, str]


def _row(
    number: int,
    kind: str,
    inputs: tuple[int, ...],
    text: str,
    serves: Sequence[str],
    because: str,
    known: Known,
) -> Row:
    meaning = Meaning(lambda: text, lambda: text)
    return Row(number, kind, inputs, text, meaning, tuple(serves), because, *known, is_shared=len(serves) > 1)


def _streams(front: Front) -> Iterator[StreamRow]:
    """Of each stream its name, what it reads, what it does, its rows and cost, and by which rule."""
    for stage in front.stages:
        match stage:
            case Projection():
                columns = ", ".join(_column(item) for item in stage.columns if ID not in _read(item))
                text, rule = f"{columns} {_of(stage.source)}", "derive_events"
                if stage.pairing is not None:
                    text, rule = f"{_of(stage.source)[3:]} {_paired(stage.pairing)}", "pair_with_constants"
                yield stage.name, (stage.source.type,), text, (stage.rows, stage.cost), rule
            case Encoding():
                known = stage.rows, stage.cost
                yield stage.name, (stage.source.type,), _encoded(stage), known, "classify_events"
            case Aggregation():
                yield _aggregated(stage)
            case SharedAggregation(parts):
                yield from map(_aggregated, parts)
            case Detections(plan, streams):
                for one in streams:
                    number = plan.queries[one.name]
                    known = plan.records[number].rows, _cost(plan, one.name)
                    yield one.name, _scanned(plan, one.name), plan.pieces[number], known, "detect_events"


def _encoded(stage: Encoding) -> str:
    """A channel: what its events have, of what they are made, and how many members there are, with the first few."""
    columns = ", ".join(_column(item) for item in stage.columns if ID not in _read(item))
    wheres = [conjunction_text(of, ("",)) for of in stage.members]
    shown = "; ".join(wheres[:FEW]) + (f"; .. ({len(wheres) - FEW} more)" if len(wheres) > FEW else "")
    return f"channel of {len(wheres)}: {columns} {_of(stage.source)} where {shown}"


def _aggregated(stage: Aggregation) -> StreamRow:
    stream = stage.stream
    columns = ", ".join(_column(item) for item in stream.columns)
    groups = ", ".join(term_text(group, EVENT).removeprefix("it.") for group in stream.groups)
    text = f"{columns} {_of(stream.source)}{f' by {groups}' if groups else ''}"
    text += f"  within {window_text(Window(stream.window_us))}"
    return stream.name, (stream.source.type,), text, (stage.rows, stage.cost), "aggregate_window"


def _cost(plan: "Plan", query: str) -> float | None:
    """What the operators cost that serve a query; a shared one is counted for the first query that it serves."""
    costs = [
        record.cost
        for number, record in enumerate(plan.records)
        if record.cost is not None and plan.serves(number)[:1] == (query,)
    ]
    return sum(costs) if costs else None


def _column(item: Return | WindowedValue) -> str:
    if isinstance(item, Return):
        text = term_text(item.value, EVENT).replace("it.", "")
        return text if text == item.name else f"{text} as {item.name}"
    value = "*" if item.value is None else term_text(item.value, EVENT).replace("it.", "")
    return f"{item.function}({value}) as {item.name}"


def _read(item: Return) -> str:
    return term_text(item.value, EVENT)


def _of(stream: Stream) -> str:
    return f"of {stream_text(stream)}"


def _paired(pairing: Pairing) -> str:
    terms = conjunction_text(pairing.terms, ("",))
    where = f", looked up by {terms}" if terms else ""
    return f"paired with {len(pairing.entries):,} combinations of constants{where}"


def _scanned(plan: "Plan", query: str) -> tuple[str, ...]:
    """The types and streams that a query of a plan reads."""
    scans = ((number, op.stream.type) for number, op in enumerate(plan.ops) if isinstance(op, Scan))
    return tuple(dict.fromkeys(name for number, name in scans if query in plan.serves(number)))


def _readers(plan: "Plan", front: Front, name: str) -> tuple[str, ...]:
    """The queries that read a stream, through others too."""
    reads: Mapping[str, Sequence[str]] = {made: read for made, read, *_ in _streams(front)}
    found = []
    for one in (plan, *(side.plan for side in front.sides)):
        for query in one.queries:
            below = set(_scanned(one, query))
            while more := {further for made in below for further in reads.get(made, ())} - below:
                below |= more
            found += [query] if name in below else []
    trends = () if plan.trends is None else plan.trends.queries
    named = {node.stream.type for node in plan.trends.nodes} if plan.trends is not None else set()
    found += [query.name for query in trends if name in named]
    return tuple(found)
