"""The longest common sub-expression of two queries."""

from collections.abc import Iterator, Sequence

from stretto.memo.memo import Memo
from stretto.memo.ways import Way
from stretto.papers.motto.common_substrings import CommonString, longest_common
from stretto.papers.motto.subqueries import share_common


def share_longest_common(memo: Memo) -> Iterator[tuple[int, Way]]:
    """OP(X, L, Y)  ≡  OP(L) → OP(X, {L}, Y)  for the longest substring L that two operand lists have in common

    Law: L2. Requires: the same operator, window and terms. Source: MOTTO, sec. VII-A (the technique LCSE).
    """
    yield from share_common(memo, "share_longest_common", _longest, again=False)


def _longest(left: Sequence[str], right: Sequence[str]) -> list[CommonString]:
    found = longest_common(left, right)
    return [] if found is None else [found]
