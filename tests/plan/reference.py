"""What the operators of a plan mean, in plain Python: the contract of `plan/ops.py`, row by row.

Slow on purpose. It lets the lowering be judged by the oracle without the engine. A row is a tuple of columns, a
column the tuple of its events' positions in time order, empty where unbound.
"""

from collections.abc import Iterator, Sequence
from itertools import product

from stretto.oracle.detections import Match, _choices
from stretto.oracle.values import Event, evaluate
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.piece import Place
from stretto.pattern.predicates import Expr, Reduce, Ref, Which, columns_of, walk
from stretto.plan.ops import Emit, Filter, Forbid, Join, Next, Op, Repeat, Scan, Union

Row = tuple[tuple[int, ...], ...]


class Reference:
    """The rows of every operator of a plan over a whole stream."""

    def __init__(self, ops: Sequence[Op], events: Sequence[Event]) -> None:
        self.ops = ops
        self.events = with_positions(sorted(events, key=lambda event: event.ts), ops)
        self.ts = [event.ts for event in self.events]
        self.rows: list[list[Row]] = []
        for op in ops:
            assert not isinstance(op, Emit) or all(part < len(self.rows) for part in op.parts)
            self.rows.append([] if isinstance(op, Emit) else list(self.compute(op)))

    def compute(self, op: Op) -> Iterator[Row]:
        match op:
            case Scan():
                yield from (((p,),) for p in range(len(self.ts)) if self.is_of(op.stream, p))
            case Join():
                for left, right in product(self.rows[op.left], self.rows[op.right]):
                    ordered = op.order == "any" or max(self.times(left)) < min(self.times(right))
                    apart = all(not set(left[i]) & set(right[k]) for i, k in op.distinct)
                    row = left + right
                    if ordered and apart and self.inside(row, op.window) and self.hold(op.terms, row):
                        yield row
            case Filter():
                for row in self.rows[op.input]:
                    bound = all(row[column] for column in op.bound)
                    if (
                        bound
                        and self.hold(op.terms, row)
                        and (op.window is None or self.inside(row, op.window))
                    ):
                        yield row
            case Repeat():
                for base in self.rows[op.base]:
                    yield from self.grow(op, base, [])
            case Forbid():
                yield from (row for row in self.rows[op.input] if not self.broken(op, row))
            case Next():
                yield from self.follow(op)
            case Union():
                found = [r for k in range(len(op.parts)) for r in self.mapped(op, k, op.width)]
                yield from dict.fromkeys(found) if op.distinct else found

    def matches(self, op: Emit) -> list[Match]:
        """The matches of one query, in the oracle's shape."""
        found: list[tuple[Row, Match]] = []
        for k, waits in enumerate(op.waits):
            for row in self.mapped(op, k, len(op.variables)):
                found.append((row, self.report(op, row, waits=waits)))
        if not op.distinct:
            return [match for _, match in found]
        found.sort(key=lambda pair: pair[1].detected, reverse=True)
        return list(dict(found).values())

    def report(self, op: Emit, row: Row, *, waits: bool) -> Match:
        bound = sorted(p for column in row for p in column)
        first, last, size = bound[0], bound[-1], op.window.size
        detected = self.ts[last]
        if waits and op.window.unit == "events":
            detected = self.ts[min(first + size, len(self.ts)) - 1]
        elif waits:
            detected = self.ts[first] + size
        assert all(len(column) < 2 or kleene for column, kleene in zip(row, op.kleene, strict=True))
        sets = {i: [self.events[p] for p in column] for i, column in enumerate(row) if column}
        single = {(i, Which.EACH): chosen[0] for i, chosen in sets.items()}
        return Match(
            self.ts[first],
            self.ts[last],
            detected,
            {op.variables[i]: tuple(event.id for event in chosen) for i, chosen in sets.items()},
            {item.name: evaluate(item.value, sets, single) for item in op.returns},
        )

    def mapped(self, op: Union | Emit, k: int, width: int) -> Iterator[Row]:
        for row in self.rows[op.parts[k]]:
            columns: list[tuple[int, ...]] = [()] * width
            for target, column in zip(op.columns[k], row, strict=True):
                columns[target] = column
            yield tuple(columns)

    # ---- what is asked of rows ---------------------------------------------------------------------------

    def hold(self, terms: Sequence[Expr], row: Row) -> bool:
        return all(self.holds(term, row) for term in terms)

    def holds(self, term: Expr, row: Row) -> bool:
        """Whether a term is true for every choice it quantifies over, or names an unbound column."""
        columns = sorted(columns_of(term))
        if not all(row[column] for column in columns):
            return True
        sets = {column: [self.events[p] for p in row[column]] for column in columns}
        return all(evaluate(term, sets, chosen) is True for chosen in _choices(term, sets))

    def times(self, row: Row) -> list[int]:
        return [self.ts[p] for column in row for p in column]

    def inside(self, row: Row, window: Window) -> bool:
        bound = [p for column in row for p in column]
        if window.unit == "events":
            return max(bound) - min(bound) < window.size
        return self.ts[max(bound)] - self.ts[min(bound)] <= window.size

    def is_of(self, stream: Stream, position: int) -> bool:
        return self.events[position].type == stream.type and self.hold(stream.where, ((position,),))

    # ---- repetition, negation, runs ----------------------------------------------------------------------

    def grow(self, op: Repeat, base: Row, chain: list[Row]) -> Iterator[Row]:
        """The base with every chain of earlier repetitions that ends in `chain`, which is in time order."""
        final = tuple(base[column] for column in op.final)
        earliest = chain[0] if chain else final
        if len(chain) + 1 >= op.low and self.hold(op.start, base + earliest):
            yield _merged(op, base, chain)
        if len(chain) + 1 == op.high:
            return
        for element in self.rows[op.element]:
            if (
                max(self.times(element)) < min(self.times(earliest))
                and self.inside(base + element, op.window)
                and all(not set(base[i]) & set(element[k]) for i, k in op.distinct)
                and self.hold(op.terms, base + element)
                and self.hold(op.adjacent, base + element + earliest)
            ):
                yield from self.grow(op, base, [element, *chain])

    def broken(self, op: Forbid, row: Row) -> bool:
        own = {p for column in op.distinct for p in row[column]}
        return any(
            event not in own and self.in_gap(op, row, event) and self.hold(op.terms, (*row, (event,)))
            for ((event,),) in self.rows[op.events]
        )

    def in_gap(self, op: Forbid, row: Row, event: int) -> bool:
        bound = sorted(p for column in row for p in column)
        first, last, size = bound[0], bound[-1], op.window.size
        events, ts = op.window.unit == "events", self.ts[event]
        after = [self.ts[p] for column in op.after for p in row[column]]
        before = [self.ts[p] for column in op.before for p in row[column]]
        up_to_window = event <= first + size - 1 if events else ts <= self.ts[first] + size
        match op.place:
            case Place.BETWEEN:
                return max(after) < ts < min(before)
            case Place.FIRST:
                return (event >= last - size + 1 if events else ts >= self.ts[last] - size) and ts < min(
                    before
                )
            case Place.LAST:
                return ts > max(after) and up_to_window
            case Place.ANYWHERE:
                return ts >= self.ts[first] and up_to_window

    def follow(self, op: Next) -> Iterator[Row]:
        """All runs, by the rules of skip-till-next-match."""
        steps = [{p for ((p,),) in self.rows[step]} for step in op.steps]
        runs: list[tuple[Row, int, int]] = []
        for position in range(len(self.ts)):
            new = self.moves(op, steps, (((),) * len(steps), -1, 0), position)
            staying = []
            for run in runs:
                extended = self.moves(op, steps, run, position)
                new += extended
                staying += [] if extended else [run]
            runs = staying + new
            for row, step, count in new:
                rest = op.bounds[step + 1 :]
                if (
                    count >= op.bounds[step][0]
                    and all(low == 0 for low, _ in rest)
                    and self.hold(op.terms, row)
                ):
                    yield row

    def moves(
        self, op: Next, steps: list[set[int]], run: tuple[Row, int, int], position: int
    ) -> list[tuple[Row, int, int]]:
        row, step, count = run
        if any(row) and self.ts[position] <= max(self.times(row)):
            return []
        found = []
        for target, (_, high) in enumerate(op.bounds):
            again = target == step and (high is None or count < high)
            skipped = all(low == 0 for low, _ in op.bounds[step + 1 : target])
            later = target > step and (step < 0 or count >= op.bounds[step][0]) and skipped
            if not (again or later) or position not in steps[target]:
                continue
            longer = (*row[:target], (*row[target], position), *row[target + 1 :])
            still = {i for i, bounds in enumerate(op.bounds) if i >= target and bounds != (1, 1)}
            terms = [term for term in op.terms if not _whole(term) & still]
            if self.inside(longer, op.window) and self.hold(terms, longer):
                found.append((longer, target, count + 1 if again else 1))
        return found


def _merged(op: Repeat, base: Row, chain: list[Row]) -> Row:
    columns = list(base)
    for number, column in enumerate(op.final):
        columns[column] = tuple(p for e in chain for p in e[number]) + base[column]
    return tuple(columns)


def _whole(term: Expr) -> set[int]:
    ends = (Which.FIRST, Which.LAST)
    return {n.column for n in walk(term) if isinstance(n, Reduce) or (isinstance(n, Ref) and n.which in ends)}


def with_positions(events: Sequence[Event], ops: Sequence[Op]) -> list[Event]:
    """The events with the positions, over all and within partitions, that some term of the plan reads."""
    from stretto.plan.dag import expressions

    names = {
        node.attribute
        for op in ops
        for term in expressions(op)
        for node in walk(term)
        if isinstance(node, Ref) and node.attribute.startswith("@position")
    }
    counts: dict[object, int] = {}
    ranked = []
    for event in events:
        attributes = dict(event.attributes)
        for name in sorted(names):
            keys = name[len("@position(") : -1].split(",") if "(" in name else []
            group = (name, *(event.value(key) for key in keys))
            attributes[name] = counts.setdefault(group, 0)
            counts[group] += 1
        ranked.append(Event(event.id, event.ts, event.type, attributes))
    return ranked
