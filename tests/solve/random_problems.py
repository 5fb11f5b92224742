"""Small random problems, and the best plan of each by trying all of them."""

from collections.abc import Iterator
from itertools import product
from random import Random

from stretto.solve.common.problem import Problem


def random_problem(random: Random, pieces: int = 9, ways: int = 3, reads: int = 3, roots: int = 3) -> Problem:
    """An AND-OR graph in which pieces read earlier ones; equal costs and costs of nothing occur."""
    inputs: list[tuple[tuple[int, ...], ...]] = []
    costs: list[tuple[float, ...]] = []
    for piece in range(pieces):
        count = random.randint(1, ways)
        own = [
            tuple(random.choices(range(piece), k=random.randint(0 if piece < 3 else 1, reads)))
            if piece
            else ()
            for _ in range(count)
        ]
        inputs.append(tuple(own))
        costs.append(tuple(float(random.choice((0, 1, 2, 3, 5, 8, random.uniform(0, 9)))) for _ in own))
    return Problem(tuple(inputs), tuple(costs), tuple(random.sample(range(pieces // 2, pieces), roots)))


def best_cost(problem: Problem) -> float:
    """The cost of the cheapest of all choices, by trying every way of every piece that is reached."""
    return min(_costs(problem, {}, list(problem.roots)))


def _costs(problem: Problem, chosen: dict[int, int], pending: list[int]) -> Iterator[float]:
    while pending and pending[-1] in chosen:
        pending.pop()
    if not pending:
        yield problem.cost(chosen)
        return
    piece, rest = pending[-1], pending[:-1]
    for way, parts in enumerate(problem.inputs[piece]):
        yield from _costs(problem, {**chosen, piece: way}, [*rest, *parts])


def all_choices(problem: Problem) -> Iterator[dict[int, int]]:
    """Every choice of a way for every piece, reached or not."""
    for chosen in product(*(range(len(ways)) for ways in problem.inputs)):
        yield dict(enumerate(chosen))
