"""The 0-1 program of what is left to choose, for OR-Tools CP-SAT.

Every root has its own copy of the pieces it can use, and takes one way of each piece that it uses; a way that any root
takes is paid once. This is larger than one variable per way, but its linear relaxation is as tight as the best shares
of costs, where the one with a variable per way leaves a gap of tens of percent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from stretto.errors import StrettoError
from stretto.solve.budget import Budget
from stretto.solve.reduce import Residue
from stretto.solve.shares import pieces_below

SCALE_BITS = 40
"""The dearest plan costs two to this power in the program's integers."""
WORKERS = 2


@dataclass(frozen=True, slots=True)
class Found:
    """The best choice found as places of ways by piece, if there is one, and what no plan costs less than."""

    places: dict[int, int] | None
    bound: float


def solve_program(
    residue: Residue, budget: Budget, hint: Mapping[int, int], bound: float, seed: int = 0
) -> Found:
    """The cheapest choice, as far as the budget allows; `bound` is known to be below every plan's cost."""
    program = _Program(residue, _cp_model())
    program.hint(hint)
    program.at_least(bound)
    if budget.over:
        return Found(None, bound)
    return program.solve(budget.left, bound, seed)


def _cp_model() -> Any:
    try:
        return import_module("ortools.sat.python.cp_model")
    except ImportError as error:
        raise StrettoError(
            "the optimizer needs OR-Tools (`pip install ortools`) to choose the best plan; "
            f"it could not be loaded: {error}"
        ) from error


class _Program:
    """Costs are rounded down to integers, so that a bound of the program is one of the problem."""

    def __init__(self, residue: Residue, cp_model: Any) -> None:
        self.residue, self._cp_model = residue, cp_model
        self.model = cp_model.CpModel()
        dearest = sum(max(costs) for costs in residue.costs.values())
        self.scale = 2**SCALE_BITS / dearest if dearest > 0 else 1.0
        self.paid: dict[tuple[int, int], Any] = {}
        self.taken: dict[tuple[int, int, int], Any] = {}
        below = pieces_below(residue)
        for piece, costs in residue.costs.items():
            for place in range(len(costs)):
                self.paid[piece, place] = self.model.new_bool_var("")
        for root in residue.roots:
            self._add_root(root, below[root])
        self.objective = sum(
            int(residue.costs[piece][place] * self.scale) * paid for (piece, place), paid in self.paid.items()
        )
        self.model.minimize(self.objective)

    def _add_root(self, root: int, below: frozenset[int]) -> None:
        residue, model = self.residue, self.model
        readers: dict[int, dict[int, list[Any]]] = {piece: {} for piece in below}
        for piece in below:
            for place, parts in enumerate(residue.inputs[piece]):
                taken = self.taken[root, piece, place] = model.new_bool_var("")
                model.add_implication(taken, self.paid[piece, place])
                for part in parts:
                    readers[part].setdefault(piece, []).append(taken)
        for piece in below:
            ways = sum(self.taken[root, piece, place] for place in range(len(residue.inputs[piece])))
            if piece == root:
                model.add(ways == 1)
                continue
            model.add(ways <= 1)
            for read in readers[piece].values():
                model.add(sum(read) <= ways)

    def hint(self, places: Mapping[int, int]) -> None:
        """Tell a choice to begin with."""
        reached = set(self.residue.reached(places))
        for (piece, place), paid in self.paid.items():
            self.model.add_hint(paid, int(piece in reached and places[piece] == place))
        used: dict[int, set[int]] = {}
        for root in self.residue.roots:
            used[root] = self._used_by(root, places)
        for (root, piece, place), taken in self.taken.items():
            self.model.add_hint(taken, int(piece in used[root] and places[piece] == place))

    def _used_by(self, root: int, places: Mapping[int, int]) -> set[int]:
        found, pending = {root}, [root]
        while pending:
            piece = pending.pop()
            new = [part for part in self.residue.inputs[piece][places[piece]] if part not in found]
            found.update(new)
            pending.extend(new)
        return found

    def at_least(self, bound: float) -> None:
        """Tell a bound; less the most that rounding can take from a plan."""
        least = int((bound - self.residue.constant) * self.scale) - len(self.residue.order) - 1
        if least > 0:
            self.model.add(self.objective >= least)

    def solve(self, seconds: float, bound: float, seed: int) -> Found:
        cp_model = self._cp_model
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = max(seconds, 1e-3)
        solver.parameters.num_workers = WORKERS
        solver.parameters.linearization_level = 2
        solver.parameters.random_seed = seed
        status = solver.solve(self.model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Found(None, bound)
        places = {piece: place for (piece, place), paid in self.paid.items() if solver.boolean_value(paid)}
        least = self.residue.constant + solver.best_objective_bound / self.scale
        return Found(self._tidy(places), max(bound, least))

    def _tidy(self, places: dict[int, int]) -> dict[int, int]:
        """One way for every piece that is reached; the program may have paid for several."""
        return {piece: places[piece] for piece in self.residue.reached(places)}
