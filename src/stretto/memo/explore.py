"""Applying rules to a memo until they find nothing new."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stretto.memo.memo import Memo
from stretto.memo.ways import Way

PieceRule = Callable[[int, Memo], Iterator[Way]]
"""Ways to compute one piece; pieces that they read are interned and looked at in turn."""
WorkloadRule = Callable[[Memo], Iterator[tuple[int, Way]]]
"""Ways that come from comparing pieces with each other: (piece, way)."""

ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of an optimizer, in the order in which they are applied."""

    pieces: tuple[PieceRule, ...] = ()
    workload: tuple[WorkloadRule, ...] = ()


def explore(memo: Memo, rules: Rules) -> None:
    """Apply the piece rules to every core and its parts, then the workload rules; both again for what is new."""
    done = 0
    memo.cores()  # interns the single slots of every core
    for _ in range(ROUNDS):
        while done < len(memo):
            if memo.is_core(done):
                for rule in rules.pieces:
                    for way in rule(done, memo):
                        memo.add(done, way)
            done += 1
        for compare in rules.workload:
            for number, way in list(compare(memo)):
                memo.add(number, way)
        if done == len(memo):
            return
