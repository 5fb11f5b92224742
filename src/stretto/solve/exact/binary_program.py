"""The 0-1 program of what is left to choose, and the solvers of OR-Tools that take it.

Every root has its own copy of the pieces it can use and takes one way of each piece that it uses; a way that any root
takes is paid once. This is larger than one variable per piece and way, but its linear relaxation is as tight as the
best shares of costs, where that of the small one leaves a gap of tens of percent. CP-SAT decides what is small; where
the relaxation has to carry the proof, SCIP, which solves it at every step of its search.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any

from stretto.errors import StrettoError
from stretto.records import dataclass
from stretto.solve.common.budget import BUSY, PATIENCE, Budget
from stretto.solve.common.presolve import Residue
from stretto.solve.common.problem import reached
from stretto.solve.exact.cost_splitting import pieces_below, repetitions

SCALE_BITS = 40
"""In the integers of CP-SAT the dearest plan costs two to this power."""
DETERMINISTIC = 0.5
"""What CP-SAT counts as work in a second; with one worker the same work has the same end."""
TOLERANCE = 1e-7
"""What is taken off bounds that were computed in doubles."""
SMALL = 2_000
"""Variables up to which CP-SAT is asked."""
A_COLUMN, IN_A_NODE = 1e-4, 2e-5
"""Seconds that SCIP takes for each column: before it branches, and in a node."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The ways, by piece and place, that several roots can take and the best choice found pays for; a lower bound."""

    paid: set[tuple[int, int]] | None
    bound: float


@dataclass(frozen=True, slots=True)
class BinaryProgram:
    """Minimise the cost of the columns that are 1, subject to rows: the columns `less` add up to no more than `more`.

    A column of `more` that is None stands for 1; in an `equal` row both sides are the same. `paid` gives the column of
    each way by piece and place, `taken` those of what each root takes. A way that one root alone can take has one
    column for both.
    """

    costs: list[float] = field(default_factory=list)
    rows: list[tuple[list[int], list[int | None], bool]] = field(default_factory=list)
    paid: dict[tuple[int, int], int] = field(default_factory=dict)
    taken: dict[tuple[int, int, int], int] = field(default_factory=dict)

    @property
    def shared(self) -> set[int]:
        """The columns of ways that several roots can take."""
        return set(self.paid.values()) - set(self.taken.values())

    def add(self, cost: float = 0.0) -> int:
        self.costs.append(cost)
        return len(self.costs) - 1


def program_of(residue: Residue) -> BinaryProgram:
    """The program; it has a solution of some cost for every plan of that cost, and none cheaper than the best plan."""
    program = BinaryProgram()
    below = pieces_below(residue)
    users: dict[int, int] = {}
    for root in residue.roots:
        for piece in below[root]:
            users[piece] = users.get(piece, 0) + 1
    for piece in residue.order:
        for place, cost in enumerate(residue.costs[piece]):
            program.paid[piece, place] = program.add(cost)
    for root in residue.roots:
        _add_root(program, residue, root, below, users)
    return program


def _add_root(
    program: BinaryProgram,
    residue: Residue,
    root: int,
    below: Mapping[int, frozenset[int]],
    users: Mapping[int, int],
) -> None:
    inside = [piece for piece in residue.order if piece in below[root]]
    readers: dict[int, dict[int, list[int | None]]] = {piece: {} for piece in inside}
    for piece in inside:
        for place, parts in enumerate(residue.inputs[piece]):
            paid = program.paid[piece, place]
            taken = paid if users[piece] == 1 else program.add()
            program.taken[root, piece, place] = taken
            if taken != paid:
                program.rows.append(([taken], [paid], False))
            for part in parts:
                readers[part].setdefault(piece, []).append(taken)
    # Flow along the root's tree: a piece is taken as often as it is read, which is once at most where no way reads it
    # twice. That equality is what makes the relaxation as tight as the Lagrangian bound.
    often = repetitions(residue, root, below)
    for piece in inside:
        ways = [program.taken[root, piece, place] for place in range(len(residue.inputs[piece]))]
        if piece == root:
            program.rows.append((ways, [None], True))
        elif often.get(piece, 1) == 1:
            program.rows.append((ways, [column for read in readers[piece].values() for column in read], True))
        else:  # read several times, and yet taken once
            program.rows.append((ways, [None], False))
            for read in readers[piece].values():
                program.rows.append(([column for column in read if column is not None], list(ways), False))


def solve_program(
    residue: Residue, budget: Budget, start: Mapping[int, int], bound: float, seed: int = 0
) -> ProgramResult:
    """The cheapest choice, as far as the budget allows; `bound` is known to be below every plan's cost."""
    program = program_of(residue)
    hint = _hint(program, residue, start)
    if budget.over:
        return ProgramResult(None, bound)
    if len(program.costs) > SMALL:
        values, least = _by_scip(program, hint, budget, seed)
    else:
        values, least = _by_cp_sat(program, hint, budget, seed, bound - residue.constant)
    bound = max(bound, residue.constant + least)
    if values is None:
        return ProgramResult(None, bound)
    shared = program.shared
    return ProgramResult(
        {way for way, column in program.paid.items() if column in shared and values[column]}, bound
    )


def _hint(program: BinaryProgram, residue: Residue, start: Mapping[int, int]) -> list[bool]:
    """The columns that are 1 in a plan."""
    found = [False] * len(program.costs)
    for piece in residue.reached(start):
        found[program.paid[piece, start[piece]]] = True
    for root in residue.roots:
        for piece in reached([root], lambda piece: residue.inputs[piece][start[piece]]):
            found[program.taken[root, piece, start[piece]]] = True
    return found


# ---- solvers -------------------------------------------------------------------------------------------------------


def _add_rows(model: Any, columns: Sequence[Any], program: BinaryProgram) -> None:
    """The rows, in the words that both solvers understand."""
    for less, more, equal in program.rows:
        difference = sum(columns[c] for c in less) - sum(columns[c] for c in more if c is not None)
        model.add(difference == more.count(None) if equal else difference <= more.count(None))


def _by_cp_sat(
    program: BinaryProgram, hint: Sequence[bool], budget: Budget, seed: int, bound: float
) -> tuple[list[bool] | None, float]:
    """Costs are rounded down to integers, so that a bound of these is one of the costs."""
    cp_model = loaded("ortools.sat.python.cp_model")
    model = cp_model.CpModel()
    columns = [model.new_bool_var("") for _ in program.costs]
    _add_rows(model, columns, program)
    total = sum(program.costs)
    scale = 2**SCALE_BITS / total if total > 0 else 1.0
    objective = sum(int(cost * scale) * column for cost, column in zip(program.costs, columns, strict=True))
    least = int(bound * scale) - len(columns) - 1  # rounding takes less than one from each
    if least > 0:
        model.add(objective >= least)
    model.minimize(objective)
    for column, value in zip(columns, hint, strict=True):
        model.add_hint(column, value)
    solver = cp_model.CpSolver()
    solver.parameters.linearization_level = 2
    solver.parameters.random_seed = seed
    status = run_cp_sat(solver, model, budget)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None, 0.0
    return [bool(solver.value(column)) for column in columns], solver.best_objective_bound / scale


def run_cp_sat(solver: Any, model: Any, budget: Budget) -> Any:
    """The status of CP-SAT after as much work as the budget has left."""
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = DETERMINISTIC * budget.left
    solver.parameters.max_time_in_seconds = BUSY * PATIENCE * budget.left
    status = solver.solve(model)
    budget.work(solver.response_proto.deterministic_time / DETERMINISTIC)
    return status


def _by_scip(
    program: BinaryProgram, hint: Sequence[bool], budget: Budget, seed: int
) -> tuple[list[bool] | None, float]:
    """What several roots can take is paid for or not; what each root takes follows from that."""
    model_builder = loaded("ortools.linear_solver.python.model_builder")
    model = model_builder.Model()
    whole = program.shared
    columns = [
        model.new_bool_var("") if column in whole else model.new_num_var(0.0, 1.0, "")
        for column in range(len(program.costs))
    ]
    _add_rows(model, columns, program)
    dearest = max(program.costs, default=1.0) or 1.0
    model.minimize(sum(cost / dearest * columns[i] for i, cost in enumerate(program.costs) if cost))
    for column, value in zip(columns, hint, strict=True):
        model.add_hint(column, float(value))
    solver = model_builder.Solver("scip")
    seconds = budget.left
    solver.set_time_limit_in_seconds(BUSY * PATIENCE * seconds)
    # SCIP does not count its work, but for nodes; what it did is not told, and taken for what it was given.
    at_first = A_COLUMN * len(columns)
    nodes = max(1, int((seconds - at_first) / (IN_A_NODE * len(columns))))
    solver.set_solver_specific_parameters(f"randomization/randomseedshift = {seed}\nlimits/nodes = {nodes}")
    status = solver.solve(model)
    budget.work(at_first if status == model_builder.SolveStatus.OPTIMAL else seconds)
    if status not in (model_builder.SolveStatus.OPTIMAL, model_builder.SolveStatus.FEASIBLE):
        return None, 0.0
    least = solver.best_objective_bound * dearest * (1 - TOLERANCE)
    return [solver.value(column) > 0.5 for column in columns], least


def loaded(module: str) -> Any:
    """A module of OR-Tools, which is loaded when it is needed; StrettoError says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise StrettoError(
            "choosing the best plan needs OR-Tools (`pip install ortools`), which could not be loaded: "
            f"{error}"
        ) from error
