"""Runs that go on from those over their first steps, which other queries have in common with them."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from stretto.memo.memo import Memo
from stretto.memo.ways import Way, WayKind
from stretto.pattern.canonical.pieces import canonical
from stretto.pattern.nodes import Policy, Window
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import columns_of

RULE = "continue_runs"


def continue_runs(memo: Memo) -> Iterator[tuple[int, Way]]:
    """NEXT(P, R) within w  ≡  { runs over R from the rows of NEXT(P) within w' that last no longer than w }

    P are first steps that several queries have in common, with all that can be judged of them alone; w' is the widest
    of their windows. What is common to prefixes is had from a shorter one in turn. The longest prefix comes first.

    Law: L22. Requires: P ends with a step of exactly one event, and has no negation: what a NOT forbids is judged of
    whole runs. Source: RUMOR, 4.3 (s_; and s_mu merge the states of common prefixes), Fig. 5 to 8.
    """
    pieces = {root.piece: memo.pieces[root.piece] for root in memo.roots}
    runs = {number: piece for number, piece in pieces.items() if piece.policy is Policy.NEXT}
    longest = max((len(piece.slots) for piece in runs.values()), default=0)
    readers: defaultdict[Piece, dict[int, int]] = defaultdict(dict)
    for number, piece in runs.items():
        for count in boundaries(piece):
            if count < longest:  # of the longest ones nothing is a prefix as a whole
                readers[_form(piece, count)][number] = piece.window.size
    done: set[int] = set()
    for number in runs:
        yield from _ways(number, memo, readers, done)


def boundaries(piece: Piece) -> list[int]:
    """Numbers of first steps after which runs can be handed on, all of them among these; the most first."""
    ends = [count for count in range(2, len(piece.slots) + 1) if _bounds(piece, count - 1) == (1, 1)]
    whole = len(piece.slots)
    return [count for count in reversed(ends) if count < whole or not piece.negations]


def _bounds(piece: Piece, slot: int) -> tuple[int, int | None]:
    return piece.slots[slot].low, piece.slots[slot].high


def _ways(
    number: int, memo: Memo, readers: dict[Piece, dict[int, int]], done: set[int]
) -> Iterator[tuple[int, Way]]:
    """The ways of a piece from its prefixes, and those of the prefixes."""
    if number in done:
        return
    done.add(number)
    piece = memo.pieces[number]
    for count in boundaries(piece):
        if count == len(piece.slots):
            continue
        windows = readers.get(_form(piece, count), {})
        widest = max(windows.values(), default=0)
        # A query that is all of a prefix has it in common with others where they have one window.
        sharing = [n for n, size in windows.items() if size == widest or len(memo.pieces[n].slots) > count]
        if len(sharing) > 1 and widest >= piece.window.size:
            found = memo.input(prefix_of(piece, count, replace(piece.window, size=widest)))
            if found.columns == tuple(range(count)):
                yield number, Way(WayKind.NEXT, (found,), RULE)
                yield from _ways(found.piece, memo, readers, done)


def prefix_of(piece: Piece, count: int, window: Window) -> Piece:
    """The first steps of a run, and all that is said of them alone."""
    kept = frozenset(range(count))
    return replace(
        piece,
        slots=piece.slots[:count],
        order=piece.order.part(range(count)),
        terms=tuple(term for term in piece.terms if columns_of(term) <= kept),
        negations=(),
        window=window,
        having=tuple(term for term in piece.having if columns_of(term) <= kept),
    )


def _form(piece: Piece, count: int) -> Piece:
    """The same for prefixes that differ in their windows alone."""
    return canonical(prefix_of(piece, count, replace(piece.window, size=1)))[0]
