"""Which joins find all matches of a query with KEEP or LIMIT, and so need not write what is dropped."""

from collections import Counter
from collections.abc import Mapping, Sequence

from stretto.engine.operators.emit import EmitOperator, read_later
from stretto.engine.operators.join import JoinOperator
from stretto.engine.operators.protocol import Operator, RowShape
from stretto.engine.rows.sieve import Sieving
from stretto.plan.ops import Emit, Op


def sieving_joins(ops: Sequence[Op], operators: Mapping[int, Operator | EmitOperator]) -> dict[int, Sieving]:
    """Those of a plan, by number."""
    readers = Counter(k for op in ops for k in op.inputs)
    found = {}
    for number, op in enumerate(ops):
        # What is found twice, or is certain later, or is for others too, is decided when it is.
        if not isinstance(op, Emit) or op.thinning is None or op.thinning.word == "LONGEST":
            continue
        if op.distinct or any(op.waits) or op.route is not None or len(op.parts) > 1:
            continue
        join = operators.get(op.parts[0])
        if not isinstance(join, JoinOperator) or not join.may_sieve or readers[op.parts[0]] > 1:
            continue
        hidden = any(item.hidden for item in op.returns)
        key = _key(op, join.shape) if hidden else None
        if key is not None or not hidden:
            found[op.parts[0]] = Sieving(op.query, number, key, _order(op, join.shape))
    return found


def _key(op: Emit, shape: RowShape) -> tuple[int, str] | None:
    """Where the one value is that tells matches apart, if it is so simple; `shape`: of the join's rows."""
    ref = read_later(op, RowShape(op.kleene, (False,) * len(op.variables)))
    if ref is None or ref.column not in op.columns[0]:
        return None
    column = op.columns[0].index(ref.column)
    return None if shape.optional[column] else (column, ref.attribute)


def _order(op: Emit, shape: RowShape) -> tuple[int, ...]:
    """The columns of the variables, in the order of these, where each is an event with an id of its own."""
    if op.listings or any(shape.optional):
        return ()
    own = op.columns[0]
    return tuple(own.index(variable) for variable in range(len(op.variables)) if variable in own)
