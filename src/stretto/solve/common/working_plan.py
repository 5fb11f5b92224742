"""A plan that is being changed: every piece that is computed has one way, and counts who reads it.

A piece is routed anew by releasing what only it needs and taking its cheapest tree, in which pieces that others
compute cost nothing. Nothing here looks at a whole plan for a single move.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from random import Random

from stretto.solve.common.budget import Budget
from stretto.solve.common.presolve import Residue, everything
from stretto.solve.common.problem import Problem, reached

NOT_COMPUTED = -1
TINY = 1e-12
"""Relative gains below this are rounding."""
A_LOOK = 4e-7
"""Seconds that it takes to find the cheapest way of a piece, its inputs known."""
INFINITE = float("inf")
Prices = Sequence[Sequence[float]]
State = tuple[list[int], list[int], float]


class WorkingPlan:
    """A plan over a residue that is being improved; pieces are numbered by their place in `residue.order`.

    `way[p]` is the place of the chosen way (NOT_COMPUTED: none), `count[p]` how many chosen ways read it, `cost` the
    cost of the plan without what is settled.
    """

    def __init__(self, residue: Residue) -> None:
        number = {piece: i for i, piece in enumerate(residue.order)}
        self.residue = residue
        self.roots = [number[root] for root in residue.roots]
        self.costs: list[tuple[float, ...]] = [residue.costs[piece] for piece in residue.order]
        self.inputs: list[tuple[tuple[int, ...], ...]] = [
            tuple(tuple(number[part] for part in parts) for parts in residue.inputs[piece])
            for piece in residue.order
        ]
        self.cost = 0.0
        self.clear()
        self._below: dict[int, list[int]] = {}
        self._value = [0.0] * len(self.costs)
        self._looks = 0
        self._best = [NOT_COMPUTED] * len(self.costs)

    # ---- moves -------------------------------------------------------------------------------------------------

    def release(self, piece: int) -> None:
        """Stop computing a piece, and all that nobody else reads."""
        way, count = self.way, self.count
        pending = [piece]
        while pending:
            piece = pending.pop()
            chosen = way[piece]
            way[piece] = NOT_COMPUTED
            self.cost -= self.costs[piece][chosen]
            for part in self.inputs[piece][chosen]:
                count[part] -= 1
                if not count[part] and way[part] >= 0:
                    pending.append(part)

    def route(self, piece: int, prices: Prices | None = None, banned: int = NOT_COMPUTED) -> float:
        """Find the cheapest tree of a piece that is not computed, given all that is; what it costs."""
        value, best, way, inputs = self._value, self._best, self.way, self.inputs
        costs = self.costs if prices is None else prices
        # Pieces are numbered inputs first, so one pass over what is below fills in all values.
        under_it = self.below(piece)
        self._looks += len(under_it)
        for under in under_it:
            if way[under] >= 0:
                value[under] = 0.0
                continue
            least, chosen = INFINITE, NOT_COMPUTED
            if under != banned:
                own = costs[under]
                for place, parts in enumerate(inputs[under]):
                    total = own[place]
                    for part in parts:
                        total += value[part]
                    if total < least:
                        least, chosen = total, place
            value[under] = least
            best[under] = chosen
        return value[piece]

    def take(self, piece: int) -> None:
        """Compute a piece by the tree that `route` found."""
        way, count, best = self.way, self.count, self._best
        pending = [piece]
        while pending:
            piece = pending.pop()
            chosen = way[piece] = best[piece]
            self.cost += self.costs[piece][chosen]
            for part in self.inputs[piece][chosen]:
                count[part] += 1
                if count[part] == 1:
                    pending.append(part)

    def reroute(self, piece: int) -> None:
        """Release a piece and take its cheapest tree; what was before comes back if that was no dearer."""
        before = self.cost
        old = self._own(piece)
        self.release(piece)
        self.route(piece)
        self.take(piece)
        if self.cost >= before - TINY * abs(before) and self._own(piece) != old:
            self.release(piece)
            self._put_back(piece, old)
            self.cost = before

    def _own(self, piece: int) -> dict[int, int]:
        """The ways of a piece and of all that only it needs."""
        found: dict[int, int] = {}
        spare: dict[int, int] = {}
        pending = [piece]
        while pending:
            piece = pending.pop()
            found[piece] = chosen = self.way[piece]
            for part in self.inputs[piece][chosen]:
                spare[part] = spare.get(part, self.count[part]) - 1
                if not spare[part]:
                    pending.append(part)
        return found

    def _put_back(self, piece: int, old: Mapping[int, int]) -> None:
        for part, chosen in old.items():
            self._best[part] = chosen
        self.take(piece)

    # ---- plans -------------------------------------------------------------------------------------------------

    def build(self, order: Iterable[int], prices: Prices | None = None) -> None:
        """Route the roots that are not computed, one after the other."""
        for root in order:
            if self.way[root] == NOT_COMPUTED:
                self.route(root, prices)
                self.take(root)

    def clear(self) -> None:
        """Compute nothing."""
        self.way = [NOT_COMPUTED] * len(self.costs)
        self.count = [0] * len(self.costs)
        for root in self.roots:
            self.count[root] = 1
        self.cost = 0.0

    def state(self) -> State:
        """The plan as it is, to come back to."""
        return self.way[:], self.count[:], self.cost

    def restore(self, state: State) -> None:
        way, count, self.cost = state
        self.way, self.count = way[:], count[:]

    def over(self, budget: Budget) -> bool:
        """Whether a budget is, when what was routed since this was asked last has been counted."""
        budget.work(A_LOOK * self._looks)
        self._looks = 0
        return budget.over

    def improve(self, budget: Budget, random: Random | None = None) -> None:
        """Route every computed piece anew, again and again, until nothing gets cheaper."""
        while not self.over(budget):
            before = self.cost
            pieces = [
                piece for piece, chosen in enumerate(self.way) if chosen >= 0 and len(self.costs[piece]) > 1
            ]
            if random is None:
                pieces.reverse()
            else:
                random.shuffle(pieces)
            for turn, piece in enumerate(pieces):
                if self.way[piece] >= 0:
                    self.reroute(piece)
                if turn % 64 == 63 and self.over(budget):
                    return
            if self.cost >= before - TINY * abs(before):
                return

    def follow(self, places: Mapping[int, int]) -> None:
        """Become a plan given as places of ways by piece of the memo; the rest is routed."""
        self.clear()
        for number, piece in enumerate(self.residue.order):
            self._best[number] = places.get(piece, NOT_COMPUTED)
        for root in self.roots:
            if self.way[root] == NOT_COMPUTED and self._complete(root):
                self.take(root)
        self.build(self.roots)

    def _complete(self, root: int) -> bool:
        """Whether a root and all that it is to be made of have a way to follow."""

        def reads(piece: int) -> tuple[int, ...]:
            way = self._best[piece]
            return () if way == NOT_COMPUTED else self.inputs[piece][way]

        return all(self._best[piece] != NOT_COMPUTED for piece in reached([root], reads))

    def places(self) -> dict[int, int]:
        """The plan as places of ways by piece of the memo."""
        return {self.residue.order[piece]: chosen for piece, chosen in enumerate(self.way) if chosen >= 0}

    def below(self, piece: int) -> list[int]:
        """The pieces that a piece can be made of, inputs before their readers, itself last."""
        known = self._below.get(piece)
        if known is None:
            known = self._below[piece] = sorted(
                reached([piece], lambda under: chain.from_iterable(self.inputs[under]))
            )
        return known


def solve_greedy(problem: Problem, budget: Budget) -> dict[int, int]:
    """A choice of one way per piece, each where it is cheapest given the others.

    Every root takes its cheapest tree given what is computed already; then every piece anew, until nothing helps.
    """
    residue = everything(problem)
    plan = WorkingPlan(residue)
    plan.build(plan.roots)
    plan.improve(budget)
    return residue.chosen(plan.places())
