"""DecoPa's construction for the queries of a memo, with the rates and windows that they have (sec. 6.2 and 6.3)."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.rules.grow_unary import grow_unary
from stretto.memo.rules.split_kleene import RULE as SPLIT_KLEENE
from stretto.memo.rules.split_kleene import divides
from stretto.memo.ways import Input, Way, WayKind
from stretto.papers.decopa.construction import construct, total_comparisons
from stretto.pattern.nodes import Stream
from stretto.pattern.order import mask_of, members
from stretto.pattern.predicates import numbered
from stretto.records import dataclass
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
    """A core whose sub-queries have the rows that statistics tell, in its own window.

    `grown`: the piece with the repetitions of one slot, which it is the core of; else the core itself.
    """

    memo: Memo | None = None
    pricing: Pricing | None = None
    core: int = 0
    grown: int = 0

    @classmethod
    def of(cls, memo: Memo, pricing: Pricing, grown: int) -> "CoreQuery":
        repeats = memo.grows(grown)
        core = memo.ways[grown][0].inputs[0] if repeats else None
        piece = memo.pieces[grown]
        slots = range(len(piece.slots))
        seen = cls(
            Tree("AND", tuple(slots)),
            (0.0,) * len(slots),
            {},
            mask_of(piece.growing),
            memo,
            pricing,
            grown if core is None else core.piece,
            grown,
        )
        return replace(seen, rates=tuple(seen.rate(SubQuery(1 << slot)) for slot in slots))

    def part(self, part: SubQuery) -> Input:
        """The piece that a sub-query is, as an input of the whole query."""
        assert self.memo is not None
        slots = members(part.slots)
        if part.grown or self.core == self.grown:
            return self.memo.part(self.grown, slots)
        core = self.memo.ways[self.grown][0].inputs[0]
        own, whole = self.memo.pieces[self.core], self.memo.pieces[self.grown]
        wanted = set(whole.columns_of(slots))
        chosen = [i for i in range(len(own.slots)) if core.columns[own.columns(i).start] in wanted]
        found = self.memo.part(self.core, chosen)
        return Input(found.piece, tuple(core.columns[column] for column in found.columns))

    def piece(self, part: SubQuery) -> int:
        return self.part(part).piece

    def _rate(self, part: SubQuery) -> float:
        assert self.memo is not None
        assert self.pricing is not None
        seconds = self.memo.pieces[self.grown].window.size / 1e6
        return self.pricing.rows(self.memo, self.piece(part)) * seconds


def constructed(memo: Memo, pricing: Pricing, units: int) -> Solution:
    """Algorithm 1 for every core, the dearest first, twice: the second time with all sub-queries of the others.

    What another query has is there at no cost (sec. 6.3), if it is the same piece: of queries with other windows or
    predicates the same piece is what their projections have in common. A query in which one slot repeats is planned as
    a whole, by unary and binary splits; of others with repetitions the core is.
    """
    wholes = _wholes(memo)
    small = [whole for whole in wholes if len(memo.pieces[whole].slots) <= MOST_SLOTS]
    queries = {whole: CoreQuery.of(memo, pricing, whole) for whole in small}
    splits: dict[int, Split] = {}
    for whole, query in queries.items():
        splits[whole] = construct(query, units)
    for everything in (False, True):
        dearest = sorted(queries, key=lambda whole: -total_comparisons(splits[whole]))
        done: dict[int, Split] = dict(splits) if everything else {}
        for whole in dearest:
            others = {
                queries[other].piece(part)
                for other, split in done.items()
                if other != whole
                for part in split
            }
            splits[whole] = construct(queries[whole], units, given=partial(_is_among, queries[whole], others))
            done[whole] = splits[whole]
    chosen: dict[int, int] = {}
    for whole in wholes:
        if whole in splits:
            for piece, way in _ways(memo, queries[whole], splits[whole]).items():
                chosen.setdefault(piece, number_of(memo, piece, way))
        else:
            chosen.setdefault(whole, number_of(memo, whole, memo.alone(whole)))
    return Solution(one_way_each(memo, chosen))


def _wholes(memo: Memo) -> list[int]:
    """What is planned by splits: cores, and pieces in which one slot repeats; each once."""
    found: dict[int, None] = {}
    seen: set[int] = set()
    pending = [root.piece for root in memo.roots][::-1]
    while pending:
        number = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        piece = memo.pieces[number]
        events = all(isinstance(slot.source, Stream) for slot in piece.slots)
        if memo.is_core(number):
            found[number] = None
            pending.extend(memo.part(number, (slot,)).piece for slot in range(len(piece.slots)))
        elif memo.grows(number) and events and len(piece.growing) == 1 and divides(piece):
            found[number] = None
        else:
            pending.extend(part for way in memo.ways[number][:1] for part in way.pieces)
    return list(found)


def _is_among(query: CoreQuery, pieces: Collection[int], part: SubQuery) -> bool:
    return query.piece(part) in pieces


def _ways(memo: Memo, query: CoreQuery, split: Split) -> Mapping[int, Way]:
    """The steps of a split as ways; what they read is in terms of the piece that they make."""
    found: dict[int, Way] = {}
    for part, choice in split.items():
        whole = query.part(part)
        place = numbered(whole.columns)
        sources = choice.inputs
        if choice.step.kind == "unary":
            given = memo.ways[whole.piece][0]
            found[whole.piece] = next(grow_unary(whole.piece, memo), given)
            if not memo.ways[given.pieces[0]]:
                memo.add(given.pieces[0], memo.alone(given.pieces[0]))
            continue
        if choice.step.kind == "binary":  # its sets, grown from its events alone, meet the others
            sources = (choice.inputs[0], SubQuery(choice.inputs[1].slots, choice.inputs[1].slots))
        read = [query.part(source) for source in sources]
        inputs = tuple(Input(one.piece, tuple(place[column] for column in one.columns)) for one in read)
        rule = SPLIT_KLEENE if choice.step.kind == "binary" else RULE
        found[whole.piece] = Way(WayKind.JOIN, inputs, rule)
    return found


def decopa_solver(units: int, memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """The same, or where there is no time the order of the text."""
    return none(memo, pricing, budget) if budget.over else constructed(memo, pricing, units)
