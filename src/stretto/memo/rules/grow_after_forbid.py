"""Late negations that are judged before repetitions grow."""

from collections.abc import Iterator

from stretto.memo.memo import Memo
from stretto.memo.rules.forbid_after import MOST_NEGATIONS
from stretto.memo.ways import Way, WayKind
from stretto.pattern.core import by_last_repetition, is_early, judged_by_last
from stretto.pattern.piece import Negation


def grow_after_forbid(number: int, memo: Memo) -> Iterator[Way]:
    """P  ≡  grow(core of P with N)  for late negations N, all of them or each, that no earlier repetition can change

    Late: those that wait for the end of the window, and those that reach back to its beginning. The core with N drops
    the rows that N forbids before any repetition is added to them, and a query without repetitions may share it.

    Law: L8. Requires: skip-till-any; earlier repetitions bind none of the events of N, its terms read none of them, and
    if N waits some other slot comes before them, so that the match begins where its core does. Source: ours.
    """
    piece, given = memo.pieces[number], memo.ways[number][0]
    growing = piece.growing
    if not growing or not piece.negations:
        return
    early = [n for n in piece.negations if is_early(n, piece, growing)]
    late = [n for n in piece.negations if n not in early and judged_by_last(n, piece, growing)]
    chosen: list[list[Negation]] = [late] if late else []
    if 1 < len(late) <= MOST_NEGATIONS:
        chosen += [[negation] for negation in late]
    for some in chosen:
        core = by_last_repetition(piece, growing, [n for n in piece.negations if n in early or n in some])
        yield Way(WayKind.GROW, (memo.invent(core, number), *given.inputs[1:]), "grow_after_forbid")
