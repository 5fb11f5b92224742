"""The one order of events: by time, then by the ids behind them, the name of their stream, and that of each id.

Positions are counted in it, and it says which of several events of one time comes first to a run of NEXT.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from stretto.engine.kernels.merging import merged_order
from stretto.engine.kernels.when_to_compile import is_due
from stretto.engine.results.leaf_ids import leaf_ids, side_by_side
from stretto.engine.results.match_chunks import NO_ID
from stretto.engine.stream.arena import Block, concat_blocks, ids_at
from stretto.plan.front.leaves import StreamLeaf
from stretto.records import dataclass
from stretto.values.rows import I64, Sets
from stretto.values.strings import Strings

MOST_MERGED = 4
"""So many parts are merged one after another; more are sorted."""


@dataclass(frozen=True, slots=True)
class RankedEvents:
    """Events to be put in order: `ranks` are those of their streams' names, `leaves` what tells derived ones apart.

    `events` are in the same columns as all others, `source` has the columns of the leaves.
    """

    events: Block
    source: Block
    ranks: I64
    leaves: tuple[StreamLeaf, ...] = ()


def in_total_order(parts: Sequence[RankedEvents], strings: Strings, *, text_ids: bool) -> Block:
    """All events in their one order; the parts have the same columns, and each is in order of time.

    `text_ids`: ids are codes of texts, which order as these do.
    """
    parts = [part for part in parts if len(part.events)] or parts[:1]
    if len(parts) == 1 and not parts[0].leaves:
        return parts[0].events
    whole = concat_blocks([part.events for part in parts])
    order = None if text_ids else _merged(parts, whole)
    return whole.take(_sorted(parts, whole, strings, text_ids=text_ids) if order is None else order)


def _merged(parts: Sequence[RankedEvents], whole: Block) -> I64 | None:
    """The order of all events, found in one pass, where parts are few and each is in order, as they most often are."""
    if len(parts) > MOST_MERGED or any(part.leaves for part in parts) or not is_due(merged_order, len(whole)):
        return None
    ends = np.cumsum([len(part.events) for part in parts])
    ranks = np.concatenate([part.ranks for part in parts])
    order, good = merged_order(whole.ts, np.asarray(whole.ids), ranks, ends)
    return order if good else None


def _sorted(parts: Sequence[RankedEvents], whole: Block, strings: Strings, *, text_ids: bool) -> I64:
    """The order of all events."""
    order = _by_time(whole.ts, len(parts[0].events))
    ts = whole.ts[order]
    same = ts[1:] == ts[:-1]
    if not same.any():
        return order
    tied = np.zeros(len(ts), np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    # Only events that share their time need more than it: places of the order that they take stay theirs.
    rows = np.sort(order[tied])
    ids, names, ranks = _keys(parts, whole, rows, strings)
    if text_ids:
        ids = Sets(ids.offsets, strings.ranks_among(ids.values))
    columns = [whole.ts[rows], *_columns(ids), ranks, *_columns(names)]
    order[tied] = rows[np.lexsort(columns[::-1])]
    return order


def _by_time(ts: I64, first: int) -> I64:
    """All in order of time, of one time as they stand; the `first` ones, most often nearly all, are in order."""
    others = first + np.argsort(ts[first:], kind="stable")
    at = np.searchsorted(ts[:first], ts[others], side="right") + np.arange(len(others))
    order = np.empty(len(ts), np.int64)
    mine = np.ones(len(ts), np.bool_)
    mine[at] = False
    order[at], order[mine] = others, np.arange(first)
    return order


def _keys(parts: Sequence[RankedEvents], whole: Block, rows: I64, strings: Strings) -> tuple[Sets, Sets, I64]:
    """The ids behind some of all events, the ranks of their names in the stream, and those of the streams."""
    if not any(part.leaves for part in parts):
        alone = Sets(np.arange(len(rows) + 1), ids_at(whole.ids, rows))
        return alone, _none_of(len(rows)), np.concatenate([part.ranks for part in parts])[rows]
    found: list[Sets] = []
    names: list[Sets] = []
    ranks: list[I64] = []
    start = 0
    for part in parts:
        end = start + len(part.events)
        own = rows[(rows >= start) & (rows < end)] - start
        ids, named = _ids(part, own, strings)
        found.append(ids)
        names.append(named)
        ranks.append(part.ranks[own])
        start = end
    return _one_after_another(found), _one_after_another(names), np.concatenate(ranks)


def _one_after_another(parts: Sequence[Sets]) -> Sets:
    ends = np.concatenate([[0], *(part.lengths for part in parts)]).cumsum()
    return Sets(ends, np.concatenate([part.values for part in parts]))


def _ids(part: RankedEvents, rows: I64, strings: Strings) -> tuple[Sets, Sets]:
    """The ids behind events, and the ranks of the names that they go by; raw events have but one."""
    if not part.leaves:
        return Sets(np.arange(len(rows) + 1), ids_at(part.source.ids, rows)), _none_of(len(rows))
    columns = part.source.attributes
    ids = [leaf_ids(leaf, columns[leaf.column].take(rows), strings) for leaf in part.leaves]
    ranks = np.argsort(np.argsort([leaf.path for leaf in part.leaves]))
    names = [Sets(of.offsets, np.full(len(of.values), rank)) for of, rank in zip(ids, ranks, strict=True)]
    return side_by_side(ids, len(rows)), side_by_side(names, len(rows))


def _none_of(count: int) -> Sets:
    return Sets(np.zeros(count + 1, np.int64), np.zeros(0, np.int64))


def _columns(sets: Sets) -> Iterator[I64]:
    """The first value of each, the second, and so on; a shorter list comes before those that go on."""
    for place in range(int(sets.lengths.max(initial=0))):
        has = sets.lengths > place
        column = np.full(len(has), NO_ID)
        column[has] = sets.values[sets.offsets[:-1][has] + place]
        yield column
