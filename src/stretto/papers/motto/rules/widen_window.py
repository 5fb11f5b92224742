"""The window mark-point where the source has the narrower window: it is widened and then serves both."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from stretto.memo.memo import Memo
from stretto.memo.ways import Input, Way, WayKind
from stretto.papers.motto.common_substrings import interesting
from stretto.papers.motto.merging import Contained, contained, read_as_operand, several_windows
from stretto.papers.motto.subqueries import share_common, wider_window


def widen_window(memo: Memo) -> Iterator[tuple[int, Way]]:
    """P within w  ≡  σ[last - first <= w](P within w'),  and P within w' serves what has P as an operand within w'

    The widened piece is new: a whole query that another one contains, or a sub-query that queries with different
    windows have in common.

    Law: L5. Requires: windows of one unit. Source: MOTTO, sec. IV-D, case 2.
    """
    if not several_windows(memo):
        return
    yield from share_common(memo, "widen_window", interesting, wider_window)
    yield from share_common(memo, "widen_window", interesting, wider_window, relaxed=True)
    for found in list(chain(contained(memo), contained(memo, relaxed=True))):
        if memo.pieces[found.source].window.size < memo.pieces[found.reader.owner].window.size:
            yield from _widened(found, memo)


def _widened(found: Contained, memo: Memo) -> Iterator[tuple[int, Way]]:
    """The source within its reader's window, from scratch, and both as its readers."""
    narrow, reader = memo.pieces[found.source], found.reader.owner
    wide = memo.invent(replace(narrow, window=memo.pieces[reader].window), found.source)
    yield wide.piece, memo.alone(wide.piece)
    yield found.source, Way(WayKind.FILTER, (wide,), "widen_window")
    columns = found.columns(memo)
    source = Input(wide.piece, tuple(columns[column] for column in wide.columns))
    if wide.piece != reader:
        yield reader, read_as_operand(memo, reader, source, found.slots, "widen_window")
