"""Applying rules to a memo until they find nothing new."""

from collections.abc import Callable, Iterable, Iterator

from stretto.memo.memo import Memo, never
from stretto.memo.ways import Way
from stretto.records import dataclass

PieceRule = Callable[[int, Memo], Iterator[Way]]
"""Ways to compute one piece; pieces that they read are interned and looked at in turn."""
WorkloadRule = Callable[[Memo], Iterator[tuple[int, Way]]]
"""Ways that come from comparing pieces with each other: (piece, way)."""

ROUNDS = 4
MOST_PIECES = 150_000
"""With so many pieces no more are sought; those that have no way yet are joined slot by slot."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of an optimizer, in the order in which they are applied.

    `few`: they find few ways per query, so that all are sought however short the time. `hurried`: piece rules that take
    the place of the others when the time is up. `grown`: piece rules for what stands on a core. `first`: workload rules
    that find few ways, and do so however short the time.
    """

    pieces: tuple[PieceRule, ...] = ()
    workload: tuple[WorkloadRule, ...] = ()
    few: bool = False
    hurried: tuple[PieceRule, ...] = ()
    grown: tuple[PieceRule, ...] = ()
    first: tuple[WorkloadRule, ...] = ()


def explore(memo: Memo, rules: Rules, most: int = MOST_PIECES, over: Callable[[], bool] = never) -> None:
    """Apply the piece rules to cores, their parts and what grows on them, then workload rules; again for what is new.

    Afterwards every piece has a way. Cores that queries need come first, so `most` leaves them theirs. Pieces that are
    looked at when `over` tells that the time is up have those of the `hurried` rules.
    """
    done = 0

    def ends() -> bool:
        return len(memo) >= most or (not rules.few and over())

    memo.ends = ends
    # Pieces are only ever added behind the others, so all in front of `done` have had the piece rules. Workload rules
    # compare pieces with each other: what one of them adds can let another find more, so both kinds are applied until a
    # pass adds nothing. What is invented can be compared again, hence the bound on rounds.
    memo.cores()  # interns the single slots of every core
    for _ in range(ROUNDS):
        while done < len(memo):
            if memo.is_core(done):
                _apply(rules.hurried if ends() else rules.pieces, done, memo)
            elif rules.grown and memo.grows(done) and not memo.is_wide(done) and not ends():
                _apply(rules.grown, done, memo)
            done += 1
        # A rule walks over the ways that are there: it has to be through before what it found is added.
        added = [
            memo.add(number, way)
            for time_is_up, some in ((never, rules.first), (ends, rules.workload))
            for compare in some
            for number, way in list(_until(time_is_up, compare(memo)))
        ]
        if done == len(memo) and not any(added):
            return
    for number in range(done, len(memo)):
        _apply((), number, memo)


def _until(ends: Callable[[], bool], ways: Iterator[tuple[int, Way]]) -> Iterator[tuple[int, Way]]:
    """Ways as long as more may be sought; at first that is asked before any work is done."""
    while not ends():
        found = next(ways, None)
        if found is None:
            return
        yield found


def _apply(rules: Iterable[PieceRule], number: int, memo: Memo) -> None:
    for rule in rules:
        for way in rule(number, memo):
            memo.add(number, way)
    if not memo.ways[number]:
        memo.add(number, memo.alone(number))
