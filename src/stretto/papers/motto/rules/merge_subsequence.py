"""A whole query as one operand of another whose operands hold it with others in between."""

from collections.abc import Iterator

from stretto.memo.memo import Memo
from stretto.memo.ways import Way
from stretto.papers.motto.merging import contained


def merge_subsequence(memo: Memo) -> Iterator[tuple[int, Way]]:
    """SEQ(L')  ≡  σ[order](AND(SEQ(L), L' ∖ L)),   AND(L')  ≡  AND(AND(L), L' ∖ L)   for a subsequence L of L'

    Law: L3. Requires: the same operator and window; the order around the operands in between is checked by the join.
    Source: MOTTO, sec. IV-A, non-substring case, Example 1.
    """
    for found in contained(memo):
        same = memo.pieces[found.source].window == memo.pieces[found.reader.owner].window
        if same and not found.contiguous:
            yield found.reader.owner, found.way(memo, "merge_subsequence")
