"""Interesting sub-queries: what two queries have in common, computed once for both."""

from collections.abc import Iterator

from stretto.memo.memo import Memo
from stretto.memo.ways import Way
from stretto.papers.motto.common_substrings import interesting
from stretto.papers.motto.subqueries import share_common


def decompose_common(memo: Memo) -> Iterator[tuple[int, Way]]:
    """OP(X, L, Y)  ≡  OP(L) → OP(X, {L}, Y)  for the strings L that two operand lists have in common

    Common substrings of two and more operands, and the long strings that single common operands add up to in the
    order of both lists. The sub-queries found are compared with each other in turn. Nested queries are divided
    first: an inner query is a list of its own, and one operand of the list around it.

    Law: L2. Requires: the same operator, window and terms.
    Source: MOTTO, sec. IV-B, Examples 2-4; sec. IV-D, Example 7.
    """
    yield from share_common(memo, "decompose_common", interesting)
