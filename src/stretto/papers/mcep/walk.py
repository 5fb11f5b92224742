"""A walk through the plans of connected patterns that can be taken back step by step and remembers its best."""

from stretto.papers.mcep.multitree import Multitree
from stretto.papers.mcep.neighbourhoods import Move, Neighbourhood

HOPELESS = 1_000
"""After so many draws of every pattern and part without a better plan there is none to be hoped for."""
A_MOVE = 3e-5
"""Seconds that it takes to look at a neighbour."""
NOTICED = 1e-12
"""Smaller gains, relative to the cost, are rounding."""


class Walk:
    """The multitree as it is now; `best` is the least cost so far."""

    def __init__(self, multitree: Multitree, moves: Neighbourhood) -> None:
        self.multitree = multitree
        self.moves = moves
        self.best = multitree.cost
        self.steps = 0
        self.improved_at = 0
        self._at_best: dict[int, int] = {}  # trees of the best plan where the present one differs
        self._undo: list[tuple[int, int]] = []
        self._before = multitree.cost

    def step(self) -> float:
        """Go to a random neighbour; by how much it is dearer comes back. Then `stay` or `back`."""
        self.steps += 1
        self._before = self.multitree.cost
        self._change(self.moves.draw())
        return self.multitree.cost - self._before

    def _change(self, move: Move) -> None:
        """Give patterns new trees, and keep what is needed to take that back."""
        self._undo = []
        for pattern, tree in move:
            old = self.multitree.put(pattern, tree)
            if old is not None and old != tree:
                self._undo.append((pattern, old))

    def back(self) -> None:
        """Take the step back."""
        for pattern, old in self._undo:
            self.multitree.put(pattern, old)
        self.multitree.cost = self._before

    def stay(self) -> None:
        """Keep the step."""
        for pattern, old in self._undo:
            self._at_best.setdefault(pattern, old)
        if self.multitree.cost < self.best * (1 - NOTICED):
            self.best = self.multitree.cost
            self.improved_at = self.steps
            self._at_best.clear()

    def changes(self) -> Move:
        """The patterns that the step changed, with their new trees."""
        return [(pattern, self.multitree.chosen[pattern]) for pattern, _ in self._undo]

    def turn(self) -> int:
        """What the step changes in the exclusive or of the hashes of (pattern, tree) over all patterns."""
        found = 0
        for pattern, old in self._undo:
            found ^= hash((pattern, old)) ^ hash((pattern, self.multitree.chosen[pattern]))
        return found

    def put(self, changes: Move) -> None:
        """Make a step that was drawn before, and keep it."""
        self._change(changes)
        self.stay()

    def to_best(self) -> None:
        """Go back to the best plan so far."""
        for pattern, tree in self._at_best.items():
            self.multitree.put(pattern, tree)
        self._at_best.clear()
        self.multitree.cost = self.best

    @property
    def hopeless(self) -> bool:
        """Whether the best plan was found so long ago that few patterns can have a better one."""
        return self.steps - self.improved_at > HOPELESS * self.moves.extent
