"""A piece that claims less serves one that claims more."""

from collections.abc import Iterator
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.ways import Kind, Way
from stretto.memo.weaker_pieces import Alike, Weaker, alike

CLOSEST: Final = 2  # sources with the fewest facts missing
WIDEST: Final = 2  # sources that serve the most pieces


def relax_terms(memo: Memo) -> Iterator[tuple[int, Way]]:
    """P  ≡  σ[facts of P that Q lacks](Q)  for a piece Q over the same types that claims less

    Less: fewer terms or weaker ones, fewer one-variable terms, less order, fewer negations, a wider window. Of many
    such pieces those that lack least are taken, and those that serve most others.

    Law: L4. Requires: skip-till-any; equal `[attr]`. Source: ours; MOTTO, sec. IV-C and IV-D, for order and window.
    """
    for shelf in alike(memo):
        for source in _chosen(shelf, memo):
            kind = Kind.FORBID if source.missing and not source.missing & ~shelf.absences else Kind.FILTER
            yield source.reader.number, Way(kind, (source.input(memo),), "relax_terms")


def _chosen(shelf: Alike, memo: Memo) -> Iterator[Weaker]:
    """For each piece a few of those that can serve it."""
    found = [[] if memo.ends() else list(shelf.weaker_than(reader)) for reader in range(len(shelf.held))]
    served = [0] * len(shelf.held)
    for sources in found:
        for place, _ in sources:
            served[place] += 1
    for sources in found:
        closest = sorted(sources, key=lambda s: (s[1].missing.bit_count(), s[1].source.window))[:CLOSEST]
        widest = sorted(sources, key=lambda s: -served[s[0]])[:WIDEST]
        yield from dict((*closest, *widest)).values()
