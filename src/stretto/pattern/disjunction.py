"""ANY over single events, as one piece: every non-empty set of events of some streams, all inside the window.

Its rows have a column per stream, unbound where the set lacks it. So it is one repetition of a group whose alternatives
are the conjunctions of the streams; what makes it special is that it can be had from an ANY of fewer streams.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Final

from stretto.pattern.nodes import Policy, Stream, Window
from stretto.pattern.order import NO_ORDER
from stretto.pattern.piece import Branch, Detection, Group, Piece, Slot

FEWEST: Final = 3
"""Streams from which on a query's ANY is one piece: of two there is one conjunction, which is joined in any case."""


def conjunction(streams: Sequence[Stream], window: Window) -> Piece:
    """An event of each stream, in no order."""
    return Piece(tuple(map(Slot, streams)), NO_ORDER, (), (), (), window)


def disjunction(streams: Sequence[Stream], window: Window) -> Piece:
    """ANY of some streams, one column for each; of a single one its events."""
    return (
        conjunction(streams, window)
        if len(streams) == 1
        else Piece((Slot(_group(tuple(streams), window)),), NO_ORDER, (), (), (), window)
    )


@lru_cache(maxsize=256)
def _group(streams: tuple[Stream, ...], window: Window) -> Group:
    return Group(
        len(streams),
        tuple(
            Branch(conjunction([streams[column] for column in columns], window), columns)
            for size in range(1, len(streams) + 1)
            for columns in combinations(range(len(streams)), size)
        ),
    )


def one_more(streams: Sequence[Stream], stream: Stream, window: Window) -> Piece:
    """The sets of ANY that hold an event of one stream and of at least one of the others, whose columns come first."""
    (others,) = disjunction(streams, window).slots
    return Piece((others, Slot(stream)), NO_ORDER, (), (), (), window)


def streams_of(piece: Piece) -> tuple[Stream, ...] | None:
    """The streams of a piece that is an ANY of single events, by its columns; None of another one."""
    if (
        len(piece.slots) != 1
        or piece.terms
        or piece.same
        or piece.negations
        or piece.policy is not Policy.ANY
    ):
        return None
    (slot,) = piece.slots
    if isinstance(slot.source, Stream) or (slot.low, slot.high) != (1, 1):
        return None
    return streams_of_group(slot.source)


@lru_cache(maxsize=1 << 10)
def streams_of_group(group: Group) -> tuple[Stream, ...] | None:
    """The streams of a group that repeats an ANY of single events; None of another one."""
    windows = {branch.piece.window for branch in group.branches if len(branch.columns) > 1}
    return _all_sets(group.width, group.branches, windows.pop()) if len(windows) == 1 else None


def _all_sets(width: int, branches: Sequence[Branch], window: Window) -> tuple[Stream, ...] | None:
    """The streams of alternatives that are all the sets of single events of as many streams; else None."""
    if len(branches) != (1 << width) - 1:
        return None
    streams = dict(_single_streams(branches))
    if len(streams) != width or len({stream.type for stream in streams.values()}) != width:
        return None
    # So many different sets of columns, each of them not empty, are all there are.
    if len({frozenset(branch.columns) for branch in branches}) != len(branches):
        return None
    for branch in branches:
        wanted = conjunction([streams[column] for column in branch.columns], window)
        if branch.piece != (
            wanted if len(branch.columns) > 1 else replace(wanted, window=branch.piece.window)
        ):
            return None
    return tuple(streams[column] for column in range(width))


def _single_streams(branches: Sequence[Branch]) -> Iterator[tuple[int, Stream]]:
    for branch in branches:
        if len(branch.columns) == len(branch.piece.slots) == 1:
            source = branch.piece.slots[0].source
            if isinstance(source, Stream):
                yield branch.columns[0], source


def as_one_piece(detection: Detection) -> Detection:
    """The same query with its ANY of single events as one branch, if that is what it is."""
    width = len(detection.variables)
    if width < FEWEST or len(detection.branches) != (1 << width) - 1 or detection.ambiguous:
        return detection
    window = detection.branches[-1].piece.window
    if _all_sets(width, detection.branches, window) is None:
        return detection
    whole = Piece((Slot(Group(width, detection.branches)),), NO_ORDER, (), (), (), window)
    return replace(detection, branches=(Branch(whole, tuple(range(width))),))


def all_sets(piece: Piece) -> tuple[tuple[Stream, ...], tuple[Stream, ...]] | None:
    """For a piece that is an ANY, or `one_more`: the streams of the ANY, and the one that is in every set, if any."""
    streams = streams_of(piece)
    if streams is not None:
        return streams, ()
    plain = not (piece.order or piece.terms or piece.same or piece.negations)
    for slot, other in ((0, 1), (1, 0)) if len(piece.slots) == 2 and plain else ():
        streams, last = streams_of(replace(piece, slots=(piece.slots[slot],))), piece.slots[other].source
        if streams is not None and isinstance(last, Stream) and not piece.slots[other].repeats:
            return streams, (last,)
    return None
