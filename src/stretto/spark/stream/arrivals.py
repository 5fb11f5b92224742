"""What arrived at a target in one micro-batch: late and bad events set apart, the others in one order.

That order depends on the events alone. Neither the cut into chunks nor the order in which those come through a shuffle
shows in it, so that a batch that is run again gives the same ids and the same matches.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stretto.data.json_write import json_texts
from stretto.engine.stream.intake import Intake, set_apart
from stretto.engine.stream.reorder import is_in_order, order_of, with_equals
from stretto.records import dataclass
from stretto.schema import Kind, Special, kind_of
from stretto.spark.packed import from_payload, joined
from stretto.values.rows import I64, Bool
from stretto.values.strings import Strings


@dataclass(frozen=True, slots=True)
class Arrivals:
    """`events`: the good ones in time order, with their times and ids (None: there are none); `payload`: theirs, if it
    can be used as it came. `late` ones, and `rejected` ones with their `reason`, as they came. `rows`: how many are
    counted here, of all kinds.
    """

    events: pa.RecordBatch | None = None
    ts: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    payload: bytes | None = None
    late: tuple[pa.RecordBatch, ...] = ()
    rejected: tuple[pa.RecordBatch, ...] = ()
    rows: int = 0

    @property
    def late_rows(self) -> int:
        return sum(batch.num_rows for batch in self.late)

    @property
    def rejected_rows(self) -> int:
        return sum(batch.num_rows for batch in self.rejected)


@dataclass(frozen=True, slots=True)
class Numbering:
    """Ids for events that have none: `given` were given by this target, which is one of so many."""

    given: int = 0
    target: int = 0
    targets: int = 1

    def ids(self, count: int) -> I64:
        return np.arange(self.given, self.given + count, dtype=np.int64) * self.targets + self.target


def arrivals(
    payloads: Sequence[bytes],
    special: Special,
    before_us: int,
    numbering: Numbering,
    counted: Callable[[pa.RecordBatch], Bool] | None = None,
) -> Arrivals:
    """What came in these payloads; events before `before_us` are late.

    `counted`: which events are counted here, of those that other targets see too; None: all.
    """
    if not payloads:
        return Arrivals()
    batch = from_payload(payloads[0]) if len(payloads) == 1 else _one_batch(payloads)
    mine = None if counted is None else counted(batch)
    strings = Strings()
    block, rows, bad = Intake({}, {}, special, strings).convert(batch, 0)
    rejected = tuple(set_apart(batch, _counted(bad, mine)))
    late = block.ts < before_us
    behind: tuple[pa.RecordBatch, ...] = ()
    some_late = bool(late.any())
    if some_late:
        rows = np.arange(batch.num_rows) if rows is None else rows
        behind = _taken(batch, rows[late], mine)
        rows = rows[~late]
    has_ids = special.id in batch.schema.names
    good = batch if rows is None else batch.take(pa.array(rows))
    ts: I64 = np.asarray(block.ts)[~late] if some_late else np.asarray(block.ts)
    ids: I64 | None = np.asarray(block.ids)[~late] if has_ids else None
    if ids is not None and kind_of(batch.schema.field(special.id).type) is Kind.STRING:
        ids = strings.ranks_among(ids)  # of one batch: numbers that order as the texts do
    order = _order(good, ts, ids, special)
    if order is not None:
        good, ts = good.take(pa.array(order)), ts[order]
    if not has_ids:
        good = good.append_column(special.id, pa.array(numbering.ids(len(ts))))
    untouched = len(payloads) == 1 and rows is None and order is None and has_ids
    payload = payloads[0] if untouched else None
    count = batch.num_rows if mine is None else int(np.count_nonzero(mine))
    if not len(ts):
        return Arrivals(late=behind, rejected=rejected, rows=count)
    return Arrivals(good, ts, payload, behind, rejected, count)


def _counted(bad: Iterable[tuple[I64, str]], mine: Bool | None) -> Iterator[tuple[I64, str]]:
    """Of bad events those that are counted here."""
    for index, reason in bad:
        kept = index if mine is None else index[mine[index]]
        if len(kept):
            yield kept, reason


def _taken(batch: pa.RecordBatch, index: I64, mine: Bool | None) -> tuple[pa.RecordBatch, ...]:
    """Those of some events that are counted here, if there are any."""
    kept = index if mine is None else index[mine[index]]
    return (batch.take(pa.array(kept)),) if len(kept) else ()


def _one_batch(payloads: Sequence[bytes]) -> pa.RecordBatch:
    table = joined([from_payload(payload) for payload in payloads])
    found = table.to_batches()
    if len(found) > 1:  # more text than offsets of 32 bits can address
        wide = [f.with_type(pa.large_string()) if pa.types.is_string(f.type) else f for f in table.schema]
        found = table.cast(pa.schema(wide)).combine_chunks().to_batches()
    return found[0] if found else pa.RecordBatch.from_pylist([], schema=table.schema)


def _order(events: pa.RecordBatch, ts: I64, ids: I64 | None, special: Special) -> I64 | None:
    """The order by time, then by id, then by content; None where they are in it already."""
    if (ts[1:] > ts[:-1]).all():
        return None
    if ids is None:
        order: I64 = np.argsort(ts, kind="stable")
        tied = with_equals(ts[order])
    else:
        order = order_of(ts, ids)
        tied = with_equals(ts[order]) & with_equals(ids[order])
        if not tied.any() and is_in_order(ts, ids):
            return None
    if tied.any():
        among = order[tied]
        order[tied] = among[_by_content(events.take(pa.array(among)), ts[among], special)]
    return order


def _by_content(events: pa.RecordBatch, ts: I64, special: Special) -> I64:
    """The order by time, by id where there is one, and then by all that a query can read.

    Events that are equal in it are equal to every query.
    """
    columns = {"0": pa.array(ts)}
    fields = sorted(enumerate(events.schema), key=lambda numbered: numbered[1].name != special.id)
    for number, column in fields:
        if column.name != special.ts and kind_of(column.type) is not None:
            columns[str(number + 1)] = _sortable(events.column(number))
    keys = [(name, "ascending") for name in columns]
    order: I64 = pc.sort_indices(pa.table(columns), sort_keys=keys).to_numpy().astype(np.int64)
    return order


def _sortable(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_nested(column.type):
        return json_texts(column)
    return column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
