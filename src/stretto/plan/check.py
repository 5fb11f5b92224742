"""The invariants of a plan. A broken one is our own mistake: the error names the operator and its rule."""

from collections.abc import Callable, Iterable, Sequence

from stretto.errors import PlanError
from stretto.pattern.nodes import Window
from stretto.pattern.piece import Place
from stretto.pattern.predicates import NEIGHBOURS, Expr, Reduce, Ref, walk
from stretto.plan.dag import Plan, window_of
from stretto.plan.ops import Emit, Filter, Forbid, Join, Last, Next, Op, Repeat, Scan, Union
from stretto.plan.placement.placement import why_not
from stretto.schema import Kind

# What is wrong with one operator, in words; nothing if all is well.
Findings = Iterable[str]


def check(plan: Plan) -> Plan:
    """The same plan; raises PlanError if it breaks an invariant."""
    if len(plan.records) != len(plan.ops):
        raise PlanError(f"{len(plan.ops)} operators, but {len(plan.records)} records of them")
    for number, op in enumerate(plan.ops):
        # Inputs first: the shapes that all other checks read are only defined on a topological order.
        _blame(plan, number, _inputs(plan, number, op))
    for number, op in enumerate(plan.ops):
        _blame(plan, number, _window(window_of(op)))
        _blame(plan, number, CHECKS[type(op)](plan, op))
    _check_queries(plan)
    _check_waiting(plan)
    if plan.placement is not None:
        for number, grid in enumerate(plan.placement.grids):
            _blame(plan, number, filter(None, [why_not(plan.ops, number, grid)]))
    return plan


def _blame(plan: Plan, number: int, findings: Findings) -> None:
    for found in findings:
        kind = type(plan.ops[number]).__name__.lower()
        raise PlanError(f"operator {number} ({kind}, because {plan.records[number].because}): {found}")


def _inputs(plan: Plan, number: int, op: Op) -> Findings:
    if type(op) not in CHECKS:
        yield "not an operator of a plan"
        return
    if not op.inputs and not isinstance(op, Scan):
        yield "has no inputs"
    for source in op.inputs:
        if not 0 <= source < number:
            yield f"reads operator {source}, which does not stand before it"
        elif isinstance(plan.ops[source], Emit):
            yield f"reads operator {source}, an Emit"


def _window(window: Window | None) -> Findings:
    if window is not None and window.size <= 0:
        yield f"its window is {window.size} {window.unit}"


def _terms(terms: Sequence[Expr], sets: Sequence[bool], name: str = "terms", *, adjacency: bool) -> Findings:
    """Terms are boolean and read columns that exist; neighbours only of sets, and where allowed."""
    for term in terms:
        if _kind(term) is not Kind.BOOL:
            yield f"an expression among its {name} is no condition but of kind {_kind(term)}"
        for node in walk(term):
            if not isinstance(node, Ref | Reduce):
                continue
            if not 0 <= node.column < len(sets):
                yield f"its {name} read column {node.column} of {len(sets)}"
            elif isinstance(node, Ref) and node.which in NEIGHBOURS:
                if not adjacency:
                    yield f"its {name} read neighbours of column {node.column}, which belongs into `adjacent`"
                elif not sets[node.column]:
                    yield f"its {name} read neighbours of column {node.column}, which is no set"


def _kind(expr: Expr) -> Kind | None:
    kind = getattr(expr, "kind", None)
    return kind if isinstance(kind, Kind) else None


def _within(columns: Iterable[int], width: int, name: str) -> Findings:
    for column in columns:
        if not 0 <= column < width:
            yield f"`{name}` names column {column} of {width}"


def _scan_only(plan: Plan, sources: Iterable[int], name: str) -> Findings:
    for source in sources:
        if not isinstance(plan.ops[source], Scan):
            yield f"`{name}` is operator {source}, which is no Scan"


def _scan(_plan: Plan, op: Scan) -> Findings:
    yield from _terms(op.stream.where, (False,), "conditions", adjacency=False)


def _join(plan: Plan, op: Join) -> Findings:
    left, right = plan.sets(op.left), plan.sets(op.right)
    if op.order not in ("before", "any"):
        yield f"its order is `{op.order}`"
    added = tuple(right[column] for column in op.added(len(right)))
    yield from _terms(op.terms, left + added, adjacency=False)
    for name, pairs in (("distinct", op.distinct), ("same", op.same)):
        yield from _within((pair[0] for pair in pairs), len(left), name)
        yield from _within((pair[1] for pair in pairs), len(right), name)
    if op.same and (op.order == "before" or not op.hashed or not added):
        yield "joins rows that share events in order, without hashing or without adding an event"
    if any(left[one] or right[other] for one, other in op.same):
        yield "shares a set of events"


def _filter(plan: Plan, op: Filter) -> Findings:
    if not op.terms and op.window is None and not op.bound:
        yield "has neither terms nor a window"
    yield from _within(op.bound, plan.width(op.input), "bound")
    yield from _terms(op.terms, plan.sets(op.input), adjacency=True)


def _agreeing(base: tuple[bool, ...], op: Repeat) -> Findings:
    """Repetitions that are taken from the base itself."""
    if op.element != op.base or len(op.final) != 1 or any(base):
        yield "repetitions from rows that agree are one event each, of rows of single events"
    if op.terms or op.adjacent or op.distinct:
        yield "rows that agree have passed all terms"
    yield from _within(op.final, len(base), "final")
    yield from _terms(op.start, (*base, False), "start", adjacency=False)


def _repeat(plan: Plan, op: Repeat) -> Findings:
    base, element = plan.sets(op.base), plan.sets(op.element)
    if op.agreeing:
        yield from _agreeing(base, op)
        return
    if len(op.final) != len(element) or len(set(op.final)) != len(op.final):
        yield f"`final` {op.final} does not name one column for each of its element's {len(element)}"
        return
    yield from _within(op.final, len(base), "final")
    for column, held in zip(op.final, element, strict=True):
        if 0 <= column < len(base) and base[column] != held:
            shapes = ("single", "a set") if held else ("a set", "single")
            yield f"column {column} of the base is {shapes[0]}, that of the element {shapes[1]}"
    if op.low < 1 or (op.high is not None and op.high < op.low):
        yield f"its bounds are ({op.low}, {op.high})"
    yield from _terms(op.terms, base + element, adjacency=True)
    yield from _terms(op.adjacent, base + element + element, "adjacent", adjacency=False)
    yield from _terms(op.start, base + element, "start", adjacency=False)
    yield from _within((pair[0] for pair in op.distinct), len(base), "distinct")
    yield from _within((pair[1] for pair in op.distinct), len(element), "distinct")


def _forbid(plan: Plan, op: Forbid) -> Findings:
    sets = plan.sets(op.input)
    yield from _scan_only(plan, (op.events,), "events")
    needs_after = op.place in (Place.BETWEEN, Place.OPEN, Place.LAST)
    needs_before = op.place in (Place.BETWEEN, Place.OPEN, Place.FIRST)
    if needs_after != bool(op.after) or needs_before != bool(op.before):
        yield f"the place `{op.place}` does not go with after {op.after} and before {op.before}"
    yield from _within(op.after, len(sets), "after")
    yield from _within(op.before, len(sets), "before")
    yield from _within(op.distinct, len(sets), "distinct")
    yield from _terms(op.terms, (*sets, False), adjacency=True)


def _next(plan: Plan, op: Next) -> Findings:
    first, *others = op.steps
    yield from _scan_only(plan, op.steps if op.begun == 1 else others, "steps")
    if len(op.bounds) != len(others) + op.begun:
        yield f"{len(others) + op.begun} steps with {len(op.bounds)} bounds"
    if op.begun > 1:
        sets = tuple(bounds != (1, 1) for bounds in op.bounds[: op.begun])
        if plan.sets(first) != sets or op.bounds[op.begun - 1] != (1, 1):
            yield f"runs over {op.begun} steps do not go on from n{first}"
    for low, high in op.bounds:
        if low < 0 or (high is not None and high < max(low, 1)):
            yield f"a step's bounds are ({low}, {high})"
    yield from _terms(op.terms, tuple(bounds != (1, 1) for bounds in op.bounds), adjacency=True)


def _last(plan: Plan, op: Last) -> Findings:
    yield from _scan_only(plan, op.inputs, "steps")
    yield from _terms(op.terms, (False,) * len(op.steps), adjacency=False)
    for gap in op.gaps:
        if not 0 <= gap.after < len(op.steps) - 1:
            yield f"a gap after step {gap.after} of {len(op.steps)}"
        yield from _terms(gap.terms, (False,) * (len(op.steps) + 1), adjacency=False)


def _union(plan: Plan, op: Union) -> Findings:
    if len(op.sets) != op.width:
        yield f"its width is {op.width}, but `sets` has {len(op.sets)} entries"
    yield from _mapped(plan, op.parts, op.columns, op.sets)


def _emit(plan: Plan, op: Emit) -> Findings:
    if len(op.kleene) != len(op.variables):
        yield f"{len(op.variables)} variables, but `kleene` has {len(op.kleene)} entries"
    if len(set(op.variables)) != len(op.variables):
        yield "two of its variables have one name"
    if len(op.waits) != len(op.parts):
        yield f"{len(op.parts)} parts, but `waits` has {len(op.waits)} entries"
    yield from _mapped(plan, op.parts, op.columns, op.kleene, allow=_at_most_one)
    for returned in op.returns:
        for node in walk(returned.value):
            if isinstance(node, Ref | Reduce) and not 0 <= node.column < len(op.variables):
                yield f"RETURN {returned.name} reads variable {node.column} of {len(op.variables)}"
            elif isinstance(node, Ref) and node.which in NEIGHBOURS:
                yield f"RETURN {returned.name} reads neighbours of variable {node.column}"


def _mapped(
    plan: Plan,
    parts: tuple[int, ...],
    columns: tuple[tuple[int, ...], ...],
    sets: tuple[bool, ...],
    allow: Callable[[Plan, int, int], bool] = lambda _plan, _part, _column: False,
) -> Findings:
    """Every part's columns go to different columns of the result, and sets to sets, unless `allow` says more."""
    if len(columns) != len(parts):
        yield f"{len(parts)} parts, but columns for {len(columns)}"
        return
    for part, targets in zip(parts, columns, strict=True):
        held = plan.sets(part)
        if len(targets) != len(held):
            yield f"operator {part} has {len(held)} columns, {len(targets)} are mapped"
            continue
        if len(set(targets)) != len(targets):
            yield f"two columns of operator {part} become one: {targets}"
        yield from _within(targets, len(sets), "columns")
        for column, target in enumerate(targets):
            narrowed = held[column] and 0 <= target < len(sets) and not sets[target]
            if narrowed and not allow(plan, part, column):
                yield f"a set of operator {part} becomes column {target}, which is single"


def _at_most_one(plan: Plan, number: int, column: int) -> bool:
    """Whether a set column is that of a step of runs which takes one event or none."""
    op = plan.ops[number]
    while isinstance(op, Filter | Forbid):
        op = plan.ops[op.input]
    return isinstance(op, Next) and op.bounds[column][1] == 1


# Any: each check takes the operator type it stands beside.
CHECKS: dict[type[Op], Callable[..., Findings]] = {
    Scan: _scan,
    Join: _join,
    Filter: _filter,
    Repeat: _repeat,
    Forbid: _forbid,
    Next: _next,
    Last: _last,
    Union: _union,
    Emit: _emit,
}


def _check_queries(plan: Plan) -> None:
    """Every query has exactly one Emit, and every operator serves some query."""
    for number, op in enumerate(plan.ops):
        if isinstance(op, Emit):
            answer = plan.queries.get(op.query)
            if answer != number:
                _blame(plan, number, [f"emits query {op.query}, which is answered by {answer}"])
        elif not plan.readers(number):
            _blame(plan, number, ["no operator reads it"])
    for name, number in plan.queries.items():
        emit = plan.ops[number] if 0 <= number < len(plan.ops) else None
        if not isinstance(emit, Emit) or emit.query != name:
            raise PlanError(f"query {name} is answered by operator {number}, which is not its Emit")


def _check_waiting(plan: Plan) -> None:
    """Rows that had to wait go only to what looks at no time but theirs, and to an Emit that knows it.

    Such are negations, filters, and repetitions: what those add to a row is inside the window that it waited for.
    """
    waiting: list[bool] = []
    for number, op in enumerate(plan.ops):
        late = [waiting[source] for source in op.inputs]
        if isinstance(op, Emit):
            if tuple(late) != op.waits:
                _blame(plan, number, [f"`waits` is {op.waits}, but its parts wait {tuple(late)}"])
        elif any(late) and not (isinstance(op, Forbid | Filter) or _grows_late(op, late)):
            _blame(plan, number, ["reads rows that come out only when their interval has passed"])
        waiting.append(any(late) or (isinstance(op, Forbid) and op.place.waits))


def _grows_late(op: Op, late: Sequence[bool]) -> bool:
    """Whether the rows that an operator repeats a slot of had to wait, and the repetitions had not."""
    return isinstance(op, Repeat) and late == [True, False]
