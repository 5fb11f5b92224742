"""Sequences from conjunctions."""

from collections.abc import Iterator

from stretto.memo.memo import Memo
from stretto.memo.ways import Way
from stretto.papers.motto.common_substrings import interesting
from stretto.papers.motto.merging import contained
from stretto.papers.motto.subqueries import share_common


def transform_operator(memo: Memo) -> Iterator[tuple[int, Way]]:
    """SEQ(L)  ≡  σ[order](AND(L)),   AND(L)  ≡  σ[full](ANY(L)),   SEQ(L)  ≡  σ[order](σ[full](ANY(L)))

    A SEQ is read as an AND, and then merged with the ANDs that it holds and decomposed against those that it has
    operands in common with. ANY is split into its alternatives before: AND(L), the alternative of full composites, is
    a piece of its own, so an equal conjunction is that piece and a sequence is filtered from it.

    Law: L7. Requires: skip-till-any; the same window and terms. Source: MOTTO, sec. IV-C, Table I, Examples 5 and 6.
    """
    yield from share_common(memo, "transform_operator", interesting, relaxed=True)
    for found in contained(memo, relaxed=True):
        if memo.pieces[found.source].window == memo.pieces[found.reader.owner].window:
            yield found.reader.owner, found.way(memo, "transform_operator")
