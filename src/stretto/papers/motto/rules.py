"""MOTTO's rules; the tuples at the end name those that each variant of it uses.

A whole query is merged into another that holds its operands (`merge_*`), what two queries have in common is computed
once for both (`decompose_common`), a sequence is read off a conjunction (`transform_operator`), and queries with
different windows meet at the window mark-point (`widen_window`, `narrow_window`).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from stretto.memo.explore import PieceRule, Rules, WorkloadRule
from stretto.memo.memo import Memo
from stretto.memo.rules import DISJUNCTION
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.ways import Input, Way, WayKind
from stretto.papers.motto.common_substrings import interesting, longest_common
from stretto.papers.motto.merging import Contained, contained, read_as_operand, several_windows
from stretto.papers.motto.subqueries import share_common, wider_window

NEAREST: Final = 4  # sources of one part of a query, by their windows


def merge_substring(memo: Memo) -> Iterator[tuple[int, Way]]:
    """OP(X, L, Y)  ≡  OP(X, OP(L), Y)

    Law: L2. Requires: the same operator and window; the operands of an AND are sorted.
    Source: MOTTO, sec. IV-A, substring case.
    """
    for found in contained(memo):
        if found.contiguous and not found.excess(memo):
            yield found.reader.owner, found.way(memo, "merge_substring")


def merge_subsequence(memo: Memo) -> Iterator[tuple[int, Way]]:
    """SEQ(L')  ≡  σ[order](AND(SEQ(L), L' ∖ L)),   AND(L')  ≡  AND(AND(L), L' ∖ L)   for a subsequence L of L'

    Law: L3. Requires: the same operator and window; the order around the operands in between is checked by the join.
    Source: MOTTO, sec. IV-A, non-substring case, Example 1.
    """
    for found in contained(memo):
        if not found.contiguous and not found.excess(memo):
            yield found.reader.owner, found.way(memo, "merge_subsequence")


def decompose_common(memo: Memo) -> Iterator[tuple[int, Way]]:
    """OP(X, L, Y)  ≡  OP(L) → OP(X, {L}, Y)  for the strings L that two operand lists have in common

    Common substrings of two and more operands, and the long strings that single common operands add up to in the
    order of both lists. The sub-queries found are compared with each other in turn. Nested queries are divided
    first: an inner query is a list of its own, and one operand of the list around it.

    Law: L2. Requires: the same operator, window and terms.
    Source: MOTTO, sec. IV-B, Examples 2-4; sec. IV-D, Example 7.
    """
    yield from share_common(memo, "decompose_common", interesting)


def transform_operator(memo: Memo) -> Iterator[tuple[int, Way]]:
    """SEQ(L)  ≡  σ[order](AND(L)),   AND(L)  ≡  σ[full](ANY(L)),   SEQ(L)  ≡  σ[order](σ[full](ANY(L)))

    A SEQ is read as an AND, and then merged with the ANDs that it holds and decomposed against those that it has
    operands in common with. Where ANY(L) is computed by its alternatives, AND(L) is one of them, and a sequence is
    filtered from it; where it is a chain of joins, `keep_complete` reads AND(L) from that.

    Law: L7. Requires: skip-till-any; the same window and terms. Source: MOTTO, sec. IV-C, Table I, Examples 5 and 6.
    """
    yield from share_common(memo, "transform_operator", interesting, relaxed=True)
    for found in contained(memo, relaxed=True):
        if not found.excess(memo):
            yield found.reader.owner, found.way(memo, "transform_operator")


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
        if found.excess(memo) < 0:
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


def narrow_window(memo: Memo) -> Iterator[tuple[int, Way]]:
    """P within w  ≡  σ[last - first <= w](P within w')  for w <= w'

    The source may be the piece itself or one operand of it; in a join the window of the reader is checked anyway.

    Law: L5. Requires: windows of one unit. Source: MOTTO, sec. IV-D, case 1.
    """
    if not several_windows(memo):
        return
    found: dict[tuple[int, tuple[int, ...]], list[Contained]] = {}
    for one in chain(contained(memo), contained(memo, relaxed=True)):
        if one.excess(memo) > 0:
            found.setdefault((one.reader.owner, one.slots), []).append(one)
    for sources in found.values():
        sources.sort(key=lambda one: one.excess(memo))
        yield from ((one.reader.owner, one.way(memo, "narrow_window")) for one in sources[:NEAREST])


def share_longest_common(memo: Memo) -> Iterator[tuple[int, Way]]:
    """OP(X, L, Y)  ≡  OP(L) → OP(X, {L}, Y)  for the longest substring L that two operand lists have in common

    Law: L2. Requires: the same operator, window and terms. Source: MOTTO, sec. VII-A (the technique LCSE).
    """
    yield from share_common(memo, "share_longest_common", longest_common, again=False)


MOTTO: Final = Rules(
    (join_left_to_right,),
    (
        merge_substring,  # whole queries first; what the others invent is merged when the rules are applied again
        merge_subsequence,
        decompose_common,
        transform_operator,
        widen_window,
        narrow_window,
    ),
    first=DISJUNCTION,
)
MOTTO_MST: Final = Rules((join_left_to_right,), (merge_substring, merge_subsequence))
LCSE: Final = Rules((join_left_to_right,), (share_longest_common,))

ALL: Final[tuple[PieceRule | WorkloadRule, ...]] = (*MOTTO.workload, *LCSE.workload)
