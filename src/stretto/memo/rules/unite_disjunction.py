"""An ANY, one stream after another: n - 1 joins, where its alternatives are 2^n - n - 1."""

from collections.abc import Callable, Iterator
from typing import Final

from stretto.memo.explore import WorkloadRule
from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.ways import Way, WayKind
from stretto.pattern.disjunction import FEWEST, disjunction, streams_of
from stretto.pattern.nodes import Stream
from stretto.pattern.piece import Piece

RULE: Final = "unite_disjunction"
MOST_SETS: Final = 8
"""Sets of streams that other queries read, the largest ones, by which an ANY may come."""

Streams = frozenset[Stream]
Rate = Callable[[Memo, int], float]
"""How many rows a piece has."""


def unite_disjunction(memo: Memo) -> Iterator[tuple[int, Way]]:
    """ANY(L)  ≡  ANY(L ∖ e) ∪ e ∪ AND(ANY(L ∖ e), e)  for a stream e of L

    The last one of L is e; or the last one of those that are not in S, for sets S of which another query has ANY(S),
    AND(S) or SEQ(S): so the ANY comes by ANY(S), and those can be read from that. The same of every ANY that is read.

    Law: L21. Requires: single events of different types, no terms between them. Source: MOTTO, sec. II and IV-A (DISJ).
    """
    yield from _united(memo, lambda _memo, _number: 0.0)


def commonest_last(pricing: Pricing) -> WorkloadRule:
    """The rule where rates are known: e is the stream with the most events, as what is joined early is kept longest."""

    def rule(memo: Memo) -> Iterator[tuple[int, Way]]:
        yield from _united(memo, pricing.rows)

    rule.__name__ = RULE
    return rule


def _united(memo: Memo, rate: Rate) -> Iterator[tuple[int, Way]]:
    wanted: list[tuple[Piece, Streams]] | None = None
    number = 0
    while number < len(memo):  # what the ways read is behind, and has its turn too
        piece = memo.pieces[number]
        streams = streams_of(piece)
        if streams is not None and len(streams) >= FEWEST:
            wanted = _sets_read(memo) if wanted is None else wanted
            rates = [rate(memo, memo.input(disjunction([one], piece.window)).piece) for one in streams]
            kept = [frozenset[Stream](), *_inside(frozenset(streams), piece, wanted)]
            last = [
                max((rates[c], c) for c, stream in enumerate(streams) if stream not in some)[1]
                for some in kept
            ]
            for column in dict.fromkeys(last):
                way = memo.one_stream_more(number, column, RULE)
                yield number, way
                yield way.pieces[-1], _both_sides(memo, way.pieces[-1])
        number += 1


def _both_sides(memo: Memo, joined: int) -> Way:
    """The sets of fewer streams joined with the events of one more."""
    return Way(WayKind.JOIN, (memo.part(joined, (0,)), memo.part(joined, (1,))), RULE)


def _sets_read(memo: Memo) -> list[tuple[Piece, Streams]]:
    """What queries ask for, where it is about single events of different types; with the streams of those."""
    found: dict[int, Streams] = {}
    for root in memo.roots:
        number = root.piece
        if memo.grows(number):
            number = memo.ways[number][0].pieces[0]
        streams = single_streams(memo.pieces[number])
        if streams is not None:
            found[number] = frozenset(streams)
    return [(memo.pieces[number], streams) for number, streams in found.items()]


def single_streams(piece: Piece) -> tuple[Stream, ...] | None:
    """The streams of a piece that is an ANY, or binds one event of each of different types; by its columns."""
    if not piece.is_plain:
        return streams_of(piece)
    streams = tuple(slot.source for slot in piece.slots if isinstance(slot.source, Stream))
    return None if piece.same or len({stream.type for stream in streams}) < len(streams) else streams


def _inside(streams: Streams, piece: Piece, wanted: list[tuple[Piece, Streams]]) -> list[Streams]:
    """The sets of several of these streams that are read within no more than the window, the largest first."""
    found = {own for read, own in wanted if len(own) > 1 and own < streams and is_within(read, piece)}
    return sorted(found, key=lambda own: (-len(own), sorted(map(repr, own))))[:MOST_SETS]


def is_within(reader: Piece, source: Piece) -> bool:
    """Whether the window of a piece is no wider than another one's."""
    return reader.window.unit == source.window.unit and reader.window.size <= source.window.size
