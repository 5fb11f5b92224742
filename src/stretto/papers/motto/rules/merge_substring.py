"""A whole query as one operand of another whose operands hold it as a substring."""

from collections.abc import Iterator

from stretto.memo.memo import Memo
from stretto.memo.ways import Way
from stretto.papers.motto.merging import contained


def merge_substring(memo: Memo) -> Iterator[tuple[int, Way]]:
    """OP(X, L, Y)  ≡  OP(X, OP(L), Y)

    Law: L2. Requires: the same operator and window; the operands of an AND are sorted.
    Source: MOTTO, sec. IV-A, substring case.
    """
    for found in contained(memo):
        same = memo.pieces[found.source].window == memo.pieces[found.reader.owner].window
        if same and found.contiguous:
            yield found.reader.owner, found.way(memo, "merge_substring")
