"""Moves that no piece would make alone: compute a piece for all who could read it, or stop computing one for all.

These are the add and drop moves of facility location (Kuehn and Hamburger, Management Science 9, 1963): a shared piece
is a facility that is opened at its own cost, its readers are the customers.
"""

from collections.abc import Iterable

from stretto.solve.common.budget import Budget
from stretto.solve.common.working_plan import INFINITE, NOT_COMPUTED, TINY, State, WorkingPlan


class OpenCloseMoves:
    """Opens and closes shared pieces of a plan; a move that does not make it cheaper is undone."""

    def __init__(self, plan: WorkingPlan) -> None:
        self.plan = plan
        self._readers: list[list[int]] = [[] for _ in plan.costs]
        self._above: list[list[int]] = [[] for _ in plan.costs]
        for piece, ways in enumerate(plan.inputs):
            for part in dict.fromkeys(part for parts in ways for part in parts):
                self._readers[part].append(piece)
        for piece in range(len(plan.costs)):
            for under in plan.below(piece)[:-1]:
                self._above[under].append(piece)
        self.shared = [piece for piece, readers in enumerate(self._above) if len(readers) > 1]

    def sweep(self, pieces: Iterable[int], budget: Budget) -> None:
        """Close each piece that is computed, open each that is not."""
        roots = frozenset(self.plan.roots)
        for piece in pieces:
            if self.plan.over(budget):
                return
            if piece in roots:
                continue
            if self.plan.way[piece] == NOT_COMPUTED:
                self.open(piece)
            else:
                self.close(piece)

    def open(self, piece: int) -> bool:
        """Compute a piece and route anew all who could read it."""
        plan = self.plan
        before = plan.state()
        # The move itself reads the piece for as long as it lasts: readers find it computed, and so for nothing.
        plan.count[piece] += 1
        plan.route(piece)
        plan.take(piece)
        for reader in self._above[piece]:
            if plan.way[reader] >= 0 and len(plan.costs[reader]) > 1:
                plan.reroute(reader)
        plan.count[piece] -= 1
        if not plan.count[piece]:
            plan.release(piece)
        return self._kept(before)

    def close(self, piece: int) -> bool:
        """Route anew, without a piece, all who read it."""
        plan = self.plan
        before = plan.state()
        readers = [r for r in self._readers[piece] if plan.way[r] >= 0 and self._reads(r, piece)]
        for reader in readers:
            if plan.way[reader] >= 0:
                plan.release(reader)
        # All are released before any is routed, else those still to come would keep the piece alive for the first ones.
        for reader in readers:
            if plan.count[reader] and plan.way[reader] == NOT_COMPUTED:
                if plan.route(reader, banned=piece) == INFINITE:
                    plan.restore(before)
                    return False
                plan.take(reader)
        return self._kept(before)

    def _reads(self, reader: int, piece: int) -> bool:
        return piece in self.plan.inputs[reader][self.plan.way[reader]]

    def _kept(self, before: State) -> bool:
        if self.plan.cost < before[2] - TINY * abs(before[2]):
            return True
        self.plan.restore(before)
        return False
