"""DecoPa's construction for the queries of a memo, with the rates and windows that they have (sec. 6.2 and 6.3)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.ways import Way, WayKind
from stretto.papers.decopa.construction import construct, total_comparisons
from stretto.pattern.order import members
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Solution, number_of, one_way_each
from stretto.solve.quick.as_written import none
from stretto.solve.units.rates import RatedQuery, SubQuery, Tree
from stretto.solve.units.splits import Split

RULE: Final = "split_overlapping"
MOST_SLOTS: Final = 8
"""Cores with more slots are joined in the order of the text: their sub-queries are too many."""


@dataclass(frozen=True)
class CoreQuery(RatedQuery):
    """A core whose sub-queries have the rows that statistics tell, in its own window."""

    memo: Memo | None = None
    pricing: Pricing | None = None
    core: int = 0

    @classmethod
    def of(cls, memo: Memo, pricing: Pricing, core: int) -> "CoreQuery":
        piece = memo.pieces[core]
        slots = range(len(piece.slots))
        seen = cls(Tree("AND", tuple(slots)), (0.0,) * len(slots), {}, 0, memo, pricing, core)
        return replace(seen, rates=tuple(seen.rate(SubQuery(1 << slot)) for slot in slots))

    def piece(self, part: SubQuery) -> int:
        """The piece that a sub-query is."""
        assert self.memo is not None
        return self.memo.part(self.core, members(part.slots)).piece

    def _rate(self, part: SubQuery) -> float:
        assert self.memo is not None
        assert self.pricing is not None
        seconds = self.memo.pieces[self.core].window.size / 1e6
        return self.pricing.rows(self.memo, self.piece(part)) * seconds


def constructed(memo: Memo, pricing: Pricing, units: int) -> Solution:
    """Algorithm 1 for every core, the dearest first, twice: the second time with all sub-queries of the others.

    What another query has is there at no cost (sec. 6.3), if it is the same piece: of queries with other windows or
    predicates the same piece is what their projections have in common.
    """
    small = [core for core in memo.cores() if len(memo.pieces[core].slots) <= MOST_SLOTS]
    queries = {core: CoreQuery.of(memo, pricing, core) for core in small}
    splits: dict[int, Split] = {}
    for core, query in queries.items():
        splits[core] = construct(query, units)
    for everything in (False, True):
        dearest = sorted(queries, key=lambda core: -total_comparisons(splits[core]))
        done: dict[int, Split] = dict(splits) if everything else {}
        for core in dearest:
            others = {
                queries[other].piece(part) for other, split in done.items() if other != core for part in split
            }
            splits[core] = construct(queries[core], units, given=partial(_is_among, queries[core], others))
            done[core] = splits[core]
    chosen: dict[int, int] = {}
    for core in memo.cores():
        if core in splits:
            for piece, way in _ways(memo, queries[core], splits[core]).items():
                chosen.setdefault(piece, number_of(memo, piece, way))
        else:
            chosen.setdefault(core, number_of(memo, core, memo.alone(core)))
    return Solution(one_way_each(memo, chosen))


def _is_among(query: CoreQuery, pieces: Collection[int], part: SubQuery) -> bool:
    return query.piece(part) in pieces


def _ways(memo: Memo, query: CoreQuery, split: Split) -> Mapping[int, Way]:
    """The steps of a split as ways; what they read is in terms of the piece that they make."""
    found: dict[int, Way] = {}
    for part, choice in split.items():
        whole = memo.part(query.core, members(part.slots))
        piece = memo.pieces[whole.piece]
        # The slots of the part by the columns of the core that they are.
        core = memo.pieces[query.core]
        slot_at = {column: slot for slot in range(len(core.slots)) for column in core.columns(slot)}
        place = {slot_at[whole.columns[piece.columns(i).start]]: i for i in range(len(piece.slots))}
        inputs = tuple(
            memo.part(whole.piece, sorted(place[slot] for slot in members(source.slots)))
            for source in choice.inputs
        )
        found[whole.piece] = Way(WayKind.JOIN, inputs, RULE)
    return found


def decopa_solver(units: int, memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """The same, or where there is no time the order of the text."""
    return none(memo, pricing, budget) if budget.over else constructed(memo, pricing, units)
