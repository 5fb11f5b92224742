"""Moves that no piece would make alone: compute a piece for all who could read it, or stop computing one for all."""

from collections.abc import Iterable

from stretto.solve.common.budget import Budget
from stretto.solve.common.routes import INFINITE, NONE, TINY, Routes, State


class Opening:
    """Opens and closes shared pieces of a plan; a move that does not make it cheaper is undone."""

    def __init__(self, routes: Routes) -> None:
        self.routes = routes
        self._readers: list[list[int]] = [[] for _ in routes.costs]
        self._above: list[list[int]] = [[] for _ in routes.costs]
        for piece, ways in enumerate(routes.inputs):
            for part in dict.fromkeys(part for parts in ways for part in parts):
                self._readers[part].append(piece)
        for piece in range(len(routes.costs)):
            for under in routes.below(piece)[:-1]:
                self._above[under].append(piece)
        self.shared = [piece for piece, readers in enumerate(self._above) if len(readers) > 1]

    def sweep(self, pieces: Iterable[int], budget: Budget) -> None:
        """Close each piece that is computed, open each that is not."""
        roots = frozenset(self.routes.roots)
        for piece in pieces:
            if budget.over:
                return
            if piece in roots:
                continue
            if self.routes.way[piece] == NONE:
                self.open(piece)
            else:
                self.close(piece)

    def open(self, piece: int) -> bool:
        """Compute a piece and route anew all who could read it."""
        routes = self.routes
        before = routes.state()
        routes.count[piece] += 1
        routes.route(piece)
        routes.take(piece)
        for reader in self._above[piece]:
            if routes.way[reader] >= 0 and len(routes.costs[reader]) > 1:
                routes.reroute(reader)
        routes.count[piece] -= 1
        if not routes.count[piece]:
            routes.release(piece)
        return self._kept(before)

    def close(self, piece: int) -> bool:
        """Route anew, without a piece, all who read it."""
        routes = self.routes
        before = routes.state()
        readers = [r for r in self._readers[piece] if routes.way[r] >= 0 and self._reads(r, piece)]
        for reader in readers:
            if routes.way[reader] >= 0:
                routes.release(reader)
        for reader in readers:
            if routes.count[reader] and routes.way[reader] == NONE:
                if routes.route(reader, banned=piece) == INFINITE:
                    routes.restore(before)
                    return False
                routes.take(reader)
        return self._kept(before)

    def _reads(self, reader: int, piece: int) -> bool:
        return piece in self.routes.inputs[reader][self.routes.way[reader]]

    def _kept(self, before: State) -> bool:
        if self.routes.cost < before[2] - TINY * abs(before[2]):
            return True
        self.routes.restore(before)
        return False
