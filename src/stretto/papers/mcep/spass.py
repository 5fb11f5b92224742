"""SPASS: common substrings of the queries' texts, chosen by how much of their work is redundant.

Source: Ray, Lei, Rundensteiner, SIGMOD 2016, as MCEP (sec. 6.2.2) sums it up: sub-patterns are scored by a redundancy
ratio, the gain of computing them once, and the winners chosen by approximating a minimum substring cover. Our reading:

- A query is the string of its slots in the order of the text. Candidates are the substrings of at least two slots that
  several queries have; nothing is reordered.
- The redundancy ratio of a substring is the share of its queries' work that is redundant: what they save, together, by
  reading it instead of computing it, less what it costs to compute it once, divided by what they cost now. The costs
  are the engine's: by the number of partial matches, a substring without the terms of its beginning looks cheap.
- The cover is greedy: the substring with the largest ratio above 0 is taken, the queries that save by it read it, and
  their slots in it are covered; ratios are taken anew for what is left, until none is above 0.
- What is not covered is joined from left to right, covered substrings being single steps.
"""

from dataclasses import field
from heapq import heappop, heappush
from math import inf

from stretto.memo.memo import Memo
from stretto.memo.pricing import Pricing
from stretto.memo.ways import Input, Way, WayKind
from stretto.papers.mcep.local_plans import A_JOIN
from stretto.papers.mcep.sub_patterns import CoreParts, SubPatterns
from stretto.pattern.predicates import numbered
from stretto.records import dataclass
from stretto.solve.common.budget import Budget
from stretto.solve.common.solution import Computation, NodeOf, Solution, around_cores

RULE = "share_redundant_substring"

Substring = tuple[int, int]
"""Slots of a text from the first to before the end."""
Covered = dict[Substring, tuple[int, int]]
"""Substrings of a text that are read: their shape and window."""


def spass(memo: Memo, pricing: Pricing, budget: Budget) -> Solution:
    """The greedy cover; when the budget is over, what has been covered so far."""
    cover = _Cover(memo, pricing)
    cover.choose(budget)
    return Solution(around_cores(memo, cover.node))


@dataclass(slots=True)
class _Text:
    """A core as a string of slots, and the substrings by which it is covered: (first, end) -> (shape, window)."""

    parts: CoreParts
    covered: Covered = field(default_factory=dict)
    cost: float = 0.0

    def mask(self, start: int, end: int) -> int:
        found = 0
        for slot in self.parts.own_order[start:end]:
            found |= 1 << slot
        return found

    def is_free(self, start: int, end: int) -> bool:
        return all(end <= first or last <= start for first, last in self.covered)


class _Cover:
    def __init__(self, memo: Memo, pricing: Pricing) -> None:
        self._memo = memo
        self._pricing = pricing
        self._shapes = SubPatterns(memo)
        self._texts = {core: _Text(CoreParts(self._shapes, core)) for core in memo.cores()}
        self._shared: dict[tuple[int, int], Computation] = {}
        for text in self._texts.values():
            text.cost = self._cost(text, {})

    def choose(self, budget: Budget) -> None:
        """Take the substring with the largest ratio again and again."""
        places = self._places(budget)
        queue = [(-inf, shape) for shape in places]
        while queue and not budget.over:
            _, shape = heappop(queue)
            budget.work(A_JOIN * len(places[shape]))
            ratio, size, savers = self._ratio(shape, places[shape])
            if ratio <= 0:
                continue
            if queue and ratio < -queue[0][0]:
                heappush(queue, (-ratio, shape))
                continue
            for core, start, end in savers:
                text = self._texts[core]
                text.covered[start, end] = shape, size
                text.cost = self._cost(text, text.covered)

    def node(self, core: int, node_of: NodeOf) -> Computation:
        """The node of a core: its substrings and what is left, from left to right."""
        text = self._texts[core]
        steps = _steps(text, text.covered)
        way = self._way(text, text.covered)
        if way is None:
            return self._substring(core, steps[0], node_of)
        inputs = (
            self._substring(core, step, node_of) if step in text.covered else node_of(part.piece)
            for step, part in zip(steps, way.inputs, strict=True)
        )
        return Computation(core, way, tuple(inputs))

    def _substring(self, core: int, step: Substring, node_of: NodeOf) -> Computation:
        shape, size = self._texts[core].covered[step]
        known = self._shared.get((shape, size))
        if known is None:
            number, way = self._alone(core, step, shape, size)
            inputs = tuple(node_of(part.piece) for part in way.inputs)
            known = self._shared[shape, size] = Computation(number, way, inputs)
        return known

    def _places(self, budget: Budget) -> dict[int, list[tuple[int, int, int]]]:
        """Where each substring of several queries stands: (core, first, end)."""
        found: dict[int, list[tuple[int, int, int]]] = {}
        for core, text in self._texts.items():
            if budget.over:
                break
            budget.work(A_JOIN * text.parts.count)
            for start in range(text.parts.count):
                for end in range(start + 2, text.parts.count + 1):
                    shape, _ = text.parts[text.mask(start, end)]
                    found.setdefault(shape, []).append((core, start, end))
        return {shape: places for shape, places in found.items() if len({core for core, _, _ in places}) > 1}

    def _ratio(
        self, shape: int, places: list[tuple[int, int, int]]
    ) -> tuple[float, int, list[tuple[int, int, int]]]:
        """The redundancy ratio of a substring, its window, and the places that save by reading it."""
        free = [place for place in places if self._texts[place[0]].is_free(*place[1:])]
        size = max((self._texts[core].parts.size for core, _, _ in free), default=0)
        savers: list[tuple[int, int, int]] = []
        saved = 0.0
        for core, start, end in free:
            text = self._texts[core]
            if any(core == other for other, _, _ in savers):
                continue
            gain = text.cost - self._cost(text, {**text.covered, (start, end): (shape, size)})
            if gain > 0:
                saved += gain
                savers.append((core, start, end))
        if len(savers) < 2:
            return 0.0, size, []
        core, start, end = savers[0]
        number, way = self._alone(core, (start, end), shape, size)
        once = self._pricing.cost(self._memo, number, way)
        work = sum(self._texts[core].cost for core, _, _ in savers)
        return (saved - once) / work, size, savers

    def _alone(self, core: int, step: Substring, shape: int, size: int) -> tuple[int, Way]:
        """A substring from its single slots."""
        text = self._texts[core]
        whole = self._shapes.at(shape, size)
        place = numbered([text.parts[text.mask(*step)][1][column] for column in whole.columns])
        singles = (text.parts[1 << slot] for slot in text.parts.own_order[slice(*step)])
        inputs = (self._shapes.input(one, size, [place[c] for c in columns]) for one, columns in singles)
        return whole.piece, Way(WayKind.JOIN, tuple(inputs), RULE)

    def _way(self, text: _Text, covered: Covered) -> Way | None:
        """The last computation of a text, or None if it is one covered substring itself."""
        steps = _steps(text, covered)
        inputs: list[Input] = []
        for step in steps:
            shape, columns = text.parts[text.mask(*step)]
            inputs.append(self._shapes.input(shape, covered.get(step, (shape, text.parts.size))[1], columns))
        if len(inputs) > 1:
            return Way(WayKind.JOIN, tuple(inputs), RULE if covered else "join_left_to_right")
        if inputs[0].piece == text.parts.number:
            return None
        return Way(WayKind.FILTER, tuple(inputs), "narrow_window")

    def _cost(self, text: _Text, covered: Covered) -> float:
        way = self._way(text, covered)
        return 0.0 if way is None else self._pricing.cost(self._memo, text.parts.number, way)


def _steps(text: _Text, covered: Covered) -> list[Substring]:
    """The covered substrings and the single slots between them, in the order of the text."""
    found: list[Substring] = []
    at = 0
    while at < text.parts.count:
        end = next((end for start, end in covered if start == at), at + 1)
        found.append((at, end))
        at = end
    return found
