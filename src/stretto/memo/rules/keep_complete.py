"""The rows of an ANY in which nothing is missing are those of the AND."""

from collections.abc import Iterator
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.rules.unite_disjunction import RULE as UNITED
from stretto.memo.rules.unite_disjunction import Streams, is_within, single_streams
from stretto.memo.ways import Input, Way, WayKind
from stretto.pattern.disjunction import conjunction, streams_of
from stretto.pattern.predicates import numbered

RULE: Final = "keep_complete"


def keep_complete(memo: Memo) -> Iterator[tuple[int, Way]]:
    """AND(L)  ≡  σ[all bound](AND(ANY(L ∖ e), e)),   SEQ(L)  ≡  σ[order](AND(L))   where there is ANY(L)

    No other rows of the ANY can bind all of L. What binds an event of each stream of L inside of the window, whatever
    its order, terms and negations, can be filtered from the AND.

    Law: L7. Requires: as `unite_disjunction`. Source: MOTTO, sec. IV-C, Table I (Filter_cd, Filter_sc).
    """
    readers: dict[Streams, list[int]] | None = None
    for number in range(len(memo)):
        piece, last = memo.pieces[number], [way.inputs[-1] for way in memo.ways[number] if way.rule == UNITED]
        streams = streams_of(piece) if last else None
        if streams is None:
            continue
        readers = _by_streams(memo) if readers is None else readers
        asked = [n for n in readers.get(frozenset(streams), ()) if is_within(memo.pieces[n], piece)]
        if not asked:
            continue
        whole = memo.input(conjunction(streams, piece.window))
        place = numbered(whole.columns)
        for rows in last:
            columns = tuple(place[column] for column in rows.columns)
            yield whole.piece, Way(WayKind.COMPLETE, (Input(rows.piece, columns),), RULE)
        for reader in asked:
            if reader != whole.piece:
                own = single_streams(memo.pieces[reader]) or ()
                columns = tuple(own.index(streams[column]) for column in whole.columns)
                yield reader, Way(WayKind.FILTER, (Input(whole.piece, columns),), RULE)


def _by_streams(memo: Memo) -> dict[Streams, list[int]]:
    """The cores that bind one event of each of different types, by their streams."""
    found: dict[Streams, list[int]] = {}
    for number, piece in enumerate(memo.pieces):
        if piece.is_plain and memo.is_core(number):
            streams = single_streams(piece)
            if streams is not None:
                found.setdefault(frozenset(streams), []).append(number)
    return found
