"""An event and the next one, each told by constants of a family: found for all entries together, without the pairs.

Pairing the first events with all entries that they concern makes an event of each pair, and most of them find nothing
behind them. Where both events are told by equalities alone, a second event finds the entries that have waited for it.
"""

from dataclasses import replace

from stretto.pattern.predicates import Apply, Expr, Param, Ref, columns_of, rewrite, walk
from stretto.plan.dag import Plan
from stretto.plan.front.stages import Front, Projection
from stretto.plan.ops import Emit, Next, Op, PairedNext, Scan

SINGLE = ((1, 1), (1, 1))


def with_paired_runs(plan: Plan) -> Plan:
    """The plan with such runs in place of those over paired events, which nothing makes then."""
    front = plan.front
    if front is None:
        return plan
    ops, gone = list(plan.ops), set()
    for stage in front.stages:
        if isinstance(stage, Projection) and stage.pairing is not None:
            found = _replaced(plan, front, stage)
            for number, op in found.items():
                ops[number] = op
            gone |= {id(stage)} if found else set()
    if not gone:
        return plan
    stages = tuple(stage for stage in front.stages if id(stage) not in gone)
    return replace(plan, ops=tuple(ops), front=replace(front, stages=stages))


def _replaced(plan: Plan, front: Front, stage: Projection) -> dict[int, Op]:
    """The operators that change if this stage is left out, by number; none where it has to stay."""
    assert stage.pairing is not None
    if stage.source.type in front.names or front.sides:
        return {}
    scans = [n for n, op in enumerate(plan.ops) if isinstance(op, Scan) and op.stream.type == stage.name]
    nexts = _readers(plan, scans)
    emits = _readers(plan, nexts)
    if not len(scans) == len(nexts) == len(emits) == 1:
        return {}
    (scan,), (number,), (last,) = scans, nexts, emits
    run, emit = plan.ops[number], plan.ops[last]
    scanned = plan.ops[scan]
    assert isinstance(scanned, Scan)
    if not isinstance(run, Next) or not isinstance(emit, Emit) or emit.route is None or scanned.stream.where:
        return {}
    if run.bounds != SINGLE or run.steps[1] == scan or run.having or run.window.unit != "us":
        return {}
    if emit.parts != (number,) or emit.distinct or any(emit.waits) or emit.listings:
        return {}
    constants = {item.name: item.value for item in stage.columns if isinstance(item.value, Param)}

    def rule(node: Expr) -> Expr | None:
        return constants.get(node.attribute) if isinstance(node, Ref) and node.column == 0 else None

    own = tuple(rewrite(term, rule) for term in run.terms)
    reads = [node for item in emit.returns for node in walk(item.value) if isinstance(node, Ref)]
    if any(node.attribute in constants for node in reads):
        return {}
    # The second event equals one value for an entry: of several, the first to come would end what waits for all.
    if not own or not all(_is_key(term, 1) and isinstance(term, Apply) and term.op == "=" for term in own):
        return {}
    if not stage.pairing.terms or not all(_is_key(term, 0) for term in stage.pairing.terms):
        return {}
    found = PairedNext(
        run.steps, run.bounds, run.window, (*stage.pairing.terms, *own), entries=stage.pairing.entries
    )
    route = replace(emit.route, entry=None, carried=True)
    return {scan: Scan(stage.source), number: found, last: replace(emit, route=route)}


def _readers(plan: Plan, of: list[int]) -> list[int]:
    return [number for number, op in enumerate(plan.ops) if not set(of).isdisjoint(op.inputs)]


def _is_key(term: Expr, column: int) -> bool:
    """Whether a term is that something of one column equals a constant, or one of several."""
    if not isinstance(term, Apply) or term.op not in ("=", "in"):
        return False
    sides = [columns_of(side) for side in term.arguments]
    if term.op == "=" and not sides[0]:
        sides.reverse()
    with_params = [any(isinstance(node, Param) for node in walk(side)) for side in term.arguments]
    mixed = any(has and columns_of(side) for has, side in zip(with_params, term.arguments, strict=True))
    return sides[0] == {column} and not any(sides[1:]) and any(with_params) and not mixed
