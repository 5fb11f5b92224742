"""Presolve: what is left to choose once the choices that decide themselves are made.

A piece that every plan computes is as good as a root: others read it for nothing. A required piece with one way is
settled. A way is dominated if another one of its piece, with all that this one reads in addition made from scratch,
costs no more than it costs with all that nobody else could read (after MCEP, Theorem C.1: the best local completion of
what a pattern does not share).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce as fold
from itertools import chain

from stretto.records import dataclass
from stretto.solve.common.problem import NO_WAY, Problem, post_order, reached

KeptWays = Mapping[int, Collection[int]]
"""The ways of a piece that may still be chosen; pieces it does not name keep all of theirs."""
MANY = -1
"""In the place of a reader: there are several."""
WORTH_ANOTHER = 0.02
"""The share of dominated ways for which it is worth looking for more."""


class NoPlanError(ValueError):
    """Something that must be computed has no way left."""


@dataclass(frozen=True, slots=True)
class Residue:
    """Pieces whose way is open, and what is settled.

    `ways[p]` are the numbers of the ways left to piece p, `costs[p]` their costs, `inputs[p]` what each reads of
    pieces that are open and not required: what is required is there anyway. `order` holds the open pieces, inputs
    before their readers; `roots` those of them that are required. `constant` is the cost of what is settled.
    """

    settled: Mapping[int, int]
    constant: float
    roots: tuple[int, ...]
    order: tuple[int, ...]
    ways: Mapping[int, tuple[int, ...]]
    costs: Mapping[int, tuple[float, ...]]
    inputs: Mapping[int, tuple[tuple[int, ...], ...]]

    def cost(self, places: Mapping[int, int]) -> float:
        """The cost of a choice of one place in `ways` for every open piece that is reached."""
        return self.constant + sum(self.costs[piece][places[piece]] for piece in self.reached(places))

    def reached(self, places: Mapping[int, int]) -> list[int]:
        """The open pieces that a choice computes."""
        return reached(self.roots, lambda piece: self.inputs[piece][places[piece]])

    def chosen(self, places: Mapping[int, int]) -> dict[int, int]:
        """A choice as numbers of ways, with what is settled."""
        return {**self.settled, **{p: self.ways[p][places[p]] for p in self.reached(places)}}


def presolve(problem: Problem, kept: KeptWays | None = None, required: Iterable[int] = ()) -> Residue:
    """What is left of a problem, if only `kept` ways count and `required` pieces are computed in any case.

    The best plan of the residue is a best plan of the problem so restricted; NoPlanError if there is none.
    """
    ways = {p: tuple(sorted(w)) for p, w in (kept or {}).items()}
    wanted = [*problem.roots, *required]
    again = True
    while True:
        order = _in_order(problem, wanted, ways)
        _drop_impossible(problem, order, ways)
        if not all(ways[piece] for piece in wanted):
            raise NoPlanError("no way is left to compute what is required")
        needed = _required(problem, wanted, order, ways)
        dropped = _drop_dominated(problem, needed, order, ways) if again else 0
        if not dropped:
            return _residue(problem, needed, order, ways)
        again = dropped > WORTH_ANOTHER * sum(len(ways[piece]) for piece in order)


def everything(problem: Problem) -> Residue:
    """A problem as it is: nothing is settled, and roots are read like any other piece."""
    ways: dict[int, tuple[int, ...]] = {}
    order = _in_order(problem, problem.roots, ways)
    _drop_impossible(problem, order, ways)
    if not all(ways[root] for root in problem.roots):
        raise NoPlanError("a root has no way to be computed")
    open_pieces = tuple(piece for piece in order if ways[piece])
    return Residue(
        {},
        0.0,
        tuple(dict.fromkeys(problem.roots)),
        open_pieces,
        {p: ways[p] for p in open_pieces},
        {p: tuple([problem.costs[p][w] for w in ways[p]]) for p in open_pieces},
        {p: tuple([tuple(dict.fromkeys(problem.inputs[p][w])) for w in ways[p]]) for p in open_pieces},
    )


def _in_order(problem: Problem, roots: Iterable[int], ways: Mapping[int, Sequence[int]]) -> list[int]:
    """The pieces that can be reached, inputs before their readers."""

    def reads(piece: int) -> Iterable[int]:
        left, inputs = ways.get(piece), problem.inputs[piece]
        return chain.from_iterable(inputs if left is None else [inputs[w] for w in left])

    return post_order(roots, reads)


def _drop_impossible(problem: Problem, order: Sequence[int], ways: dict[int, tuple[int, ...]]) -> None:
    """Take away the ways that cannot be chosen, or that read a piece that has none."""
    impossible: set[int] = set()
    for piece in order:
        inputs = problem.inputs[piece]
        left = ways.get(piece, tuple(range(len(inputs))))
        if NO_WAY in problem.costs[piece]:
            left = tuple(w for w in left if problem.costs[piece][w] < NO_WAY)
        if impossible:
            left = tuple(w for w in left if impossible.isdisjoint(inputs[w]))
        ways[piece] = left
        if not left:
            impossible.add(piece)


def _required(
    problem: Problem, roots: Iterable[int], order: Sequence[int], ways: Mapping[int, Sequence[int]]
) -> frozenset[int]:
    """The pieces that every plan computes: the roots, and what all ways of a required piece read in the end."""
    always: dict[int, frozenset[int]] = {}
    nothing: frozenset[int] = frozenset()
    for piece in order:
        inputs = problem.inputs[piece]
        # Inputs come first in `order`, so what their ways have in common is known. A piece without a way has nothing.
        each = (nothing.union(*(always[part] for part in inputs[w])) for w in ways[piece])
        always[piece] = fold(frozenset.intersection, each, next(each, nothing)) | {piece}
    return nothing.union(*(always[root] for root in roots))


def alone(
    problem: Problem, free: Collection[int], order: Iterable[int], ways: Mapping[int, Sequence[int]]
) -> dict[int, float]:
    """The cost of each piece made from scratch, with nothing but `free` pieces given."""
    found: dict[int, float] = {}
    for piece in order:
        inputs, costs = problem.inputs[piece], problem.costs[piece]
        if piece in free or not ways[piece]:
            found[piece] = 0.0
        else:
            found[piece] = min(costs[w] + sum([found[part] for part in inputs[w]]) for w in ways[piece])
    return found


def _drop_dominated(
    problem: Problem, needed: frozenset[int], order: Sequence[int], ways: dict[int, tuple[int, ...]]
) -> int:
    """Take away dominated ways; how many there were. Of ways that dominate each other one stays."""
    scratch = alone(problem, needed, order, ways)
    spared = _spared(problem, needed, order, ways)
    dropped = 0
    for piece in order:
        if len(ways[piece]) < 2:
            continue
        inputs, costs = problem.inputs[piece], problem.costs[piece]
        reads = {w: frozenset(inputs[w]) - needed for w in ways[piece]}
        total = {w: costs[w] + sum([scratch[part] for part in reads[w]]) for w in ways[piece]}
        left: list[int] = []
        # Cheapest first, so that of ways that dominate each other the one stays that is cheapest from scratch.
        for w in sorted(ways[piece], key=lambda w: (total[w], w)):
            mine = reads[w]
            # What `w` costs at least, beyond what somebody else may pay for, against what `v` costs at most.
            cost = costs[w] + sum([spared.get(part, 0.0) for part in mine])
            for v in left:
                theirs = reads[v]
                extra = sum([scratch[part] for part in theirs if part not in mine])
                kept = sum([spared.get(part, 0.0) for part in mine if part in theirs])
                if costs[v] + extra + kept <= cost:
                    break
            else:
                left.append(w)
        if len(left) < len(ways[piece]):
            dropped += len(ways[piece]) - len(left)
            ways[piece] = tuple(sorted(left))
    return dropped


def _spared(
    problem: Problem, needed: frozenset[int], order: Sequence[int], ways: Mapping[int, Sequence[int]]
) -> dict[int, float]:
    """For pieces that only one other can read, the least that is saved when it does not."""
    reader: dict[int, int] = {}
    for piece in order:
        for w in ways[piece]:
            for part in problem.inputs[piece][w]:
                reader[part] = piece if reader.get(part, piece) == piece else MANY
    found: dict[int, float] = {}
    for piece in order:
        # A piece with one reader is made for that reader alone, so its cost is surely saved with it.
        if reader.get(piece, MANY) != MANY and piece not in needed and ways[piece]:
            inputs, costs = problem.inputs[piece], problem.costs[piece]
            found[piece] = min(
                costs[w] + sum([found.get(part, 0.0) for part in frozenset(inputs[w])]) for w in ways[piece]
            )
    return found


def _residue(
    problem: Problem, needed: frozenset[int], order: Sequence[int], ways: Mapping[int, tuple[int, ...]]
) -> Residue:
    settled = {p: ways[p][0] for p in order if p in needed and len(ways[p]) == 1}
    roots = tuple(p for p in order if p in needed and len(ways[p]) > 1)
    reads = {
        p: tuple(_without(problem.inputs[p][w], needed) for w in ways[p]) for p in order if p not in settled
    }
    open_ = frozenset(reached(roots, lambda piece: chain.from_iterable(reads[piece])))
    left = tuple(p for p in order if p in open_)
    return Residue(
        settled,
        sum(problem.costs[p][w] for p, w in settled.items()),
        roots,
        left,
        {p: ways[p] for p in left},
        {p: tuple(problem.costs[p][w] for w in ways[p]) for p in left},
        {p: reads[p] for p in left},
    )


def _without(parts: Sequence[int], needed: frozenset[int]) -> tuple[int, ...]:
    """What a way reads of open pieces, each once."""
    return tuple(dict.fromkeys(part for part in parts if part not in needed))
