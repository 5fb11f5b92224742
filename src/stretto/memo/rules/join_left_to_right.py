"""The order that the query's text gives."""

from collections.abc import Iterator

from stretto.memo.memo import Memo
from stretto.memo.ways import Way


def join_left_to_right(number: int, memo: Memo) -> Iterator[Way]:
    """P  ≡  (..((s1 ⋈ s2) ⋈ s3) ..) ⋈ sn  in the order of the text

    Law: L1. Requires: skip-till-any. Source: every engine that runs a query alone.
    """
    if number in memo.own_order:
        yield memo.alone(number)
