"""Expressions over one row in plain Python, written from the docstring of `pattern.predicates`, and trees to try."""

import math
from functools import cache
from itertools import pairwise, product

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from stretto.pattern.predicates import Apply, Const, Reduce, Ref, Which, columns_of, walk
from stretto.schema import Kind
from stretto.values.rows import Sets
from stretto.values.strings import Strings
from stretto.values.vector import DTYPES, Vector

INT, FLOAT, STRING, BOOL, TIME, DURATION, *_ = Kind
KINDS = (INT, FLOAT, STRING, BOOL, TIME, DURATION)
ATTRIBUTES = {"i": INT, "j": INT, "f": FLOAT, "g": FLOAT, "s": STRING, "p": BOOL, "ts": TIME, "d": DURATION}


class Table:
    """Events as a list of dicts, with the face the evaluator reads them by; data under nulls is wild."""

    def __init__(self, events):
        self.events = events
        self.strings = Strings()

    def values(self, attribute, positions):
        assert (positions >= 0).all()
        kind = ATTRIBUTES[attribute]
        found = [self.events[position][attribute] for position in positions.tolist()]
        if kind is STRING:
            coded = self.strings.encode(pa.array(found, pa.string()))
            wild = np.where(coded.valid, coded.data, 2**62) if coded.valid is not None else coded.data
            return Vector(wild, coded.valid)
        wild = {INT: 2**63 - 1, DURATION: -(2**63), FLOAT: math.nan, BOOL: True, TIME: 0}[kind]
        data = np.array([wild if v is None else v for v in found], DTYPES[kind])
        nulls = np.array([v is None for v in found], np.bool_)
        return Vector(data, ~nulls if nulls.any() else None)


def column_of(rows, sets):
    """A column from one list of positions per row."""
    if not sets:
        return np.array([row[0] if row else -1 for row in rows], np.int64)
    offsets = np.cumsum([0] + [len(row) for row in rows])
    return Sets(offsets, np.array([position for row in rows for position in row], np.int64))


# ---- the meaning -----------------------------------------------------------------------------------------


def plain_holds(term, row, events):
    """`row`: one list of positions per column."""
    if any(not row[column] for column in columns_of(term)):
        return True
    refs = {node for node in walk(term) if isinstance(node, Ref)}
    each = sorted({ref.column for ref in refs if ref.which is Which.EACH})
    pairs = sorted({ref.column for ref in refs if ref.which in (Which.CURRENT, Which.PREVIOUS)})
    choices = [[{(c, Which.EACH): at} for at in row[c]] for c in each]
    choices += [[{(c, Which.PREVIOUS): a, (c, Which.CURRENT): b} for a, b in pairwise(row[c])] for c in pairs]
    return all(
        plain_value(term, row, events, {key: at for one in chosen for key, at in one.items()}) is True
        for chosen in product(*choices)
    )


def plain_value(expr, row, events, chosen):
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, Ref):
        bound = row[expr.column]
        if not bound:
            return None
        at = {Which.FIRST: bound[0], Which.LAST: bound[-1]}.get(expr.which)
        if at is None:
            at = chosen.get((expr.column, expr.which), bound[0])
        return events[at][expr.attribute]
    if isinstance(expr, Reduce):
        return plain_reduce(expr, [events[at] for at in row[expr.column]])
    return plain_apply(expr, [plain_value(argument, row, events, chosen) for argument in expr.arguments])


def plain_reduce(expr, bound):
    if expr.function == "COUNT":
        return len(bound)
    values = [event[expr.attribute] for event in bound if event[expr.attribute] is not None]
    if not values:
        return None
    if any(is_nan(value) for value in values):
        return math.nan
    if expr.function in ("MIN", "MAX"):
        return min(values) if expr.function == "MIN" else max(values)
    total = 0
    for value in values:
        total += value
    if isinstance(total, int) and in_64_bits(total) is None:
        return None
    return float(total) / len(values) if expr.function == "AVG" else total


def plain_apply(expr, values):
    op = expr.op
    if op == "is_null":
        return values[0] is None
    if op == "and":
        return False if False in values else None if None in values else True
    if op == "or":
        return True if True in values else None if None in values else False
    if op == "in":
        same = [None if values[0] is None or v is None else values[0] == v for v in values[1:]]
        return True if True in same else None if None in same else False
    if None in values:
        return None
    if op in ("least", "greatest"):
        if any(is_nan(value) for value in values):
            return math.nan
        return min(values) if op == "least" else max(values)
    result = PLAIN[op](*values)
    return in_64_bits(result) if isinstance(result, int) and not isinstance(result, bool) else result


def in_64_bits(value):
    return value if -(2**63) <= value < 2**63 else None


def is_nan(value):
    return isinstance(value, float) and math.isnan(value)


def plain_remainder(left, right):
    if right == 0:
        return None
    if isinstance(left, int):
        return abs(left) % abs(right) * (-1 if left < 0 else 1)
    return math.nan if math.isinf(left) or is_nan(left) or is_nan(right) else math.fmod(left, right)


def plain_times(left, right):
    return left * right


def plain_distance(lat1, lon1, lat2, lon2):
    if not all(map(math.isfinite, (lat1, lon1, lat2, lon2))):
        return math.nan
    phi1, phi2, turn = math.radians(lat1), math.radians(lat2), math.radians(lon2) - math.radians(lon1)
    half = math.sin((phi2 - phi1) / 2) ** 2 + math.cos(phi1) * math.cos(phi2) * math.sin(turn / 2) ** 2
    if half < 0:  # degrees far beyond a circle
        return math.nan
    return 2 * 6_371_008.8 * math.asin(min(1.0, math.sqrt(half)))


PLAIN = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": plain_times,
    "/": lambda a, b: None if b == 0 else float(a) / float(b),
    "%": plain_remainder,
    "neg": lambda a: -a,
    "abs": abs,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "not": lambda a: not a,
    "to_float": float,
    "sqrt": lambda a: math.nan if a < 0 else math.sqrt(a),
    "floor": lambda a: a if isinstance(a, int) or not math.isfinite(a) else float(math.floor(a)),
    "ceil": lambda a: a if isinstance(a, int) or not math.isfinite(a) else float(math.ceil(a)),
    "geo_distance": plain_distance,
}

# ---- things to try ---------------------------------------------------------------------------------------

INTS = st.sampled_from([0, 1, -1, 2, 3, -7, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63), 3037000500])
INTS |= st.integers(-(2**63), 2**63 - 1)
FLOATS = st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.1, 1e308, math.inf, -math.inf, math.nan, 2.0**63])
FLOATS |= st.floats()
TIMES = st.integers(-(2**62) + 1, 2**62 - 1) | st.integers(0, 3)
VALUES = {
    INT: INTS,
    FLOAT: FLOATS,
    STRING: st.sampled_from(["", "a", "b", "ab", "\uffff", "\U0001f600"]),
    BOOL: st.booleans(),
    TIME: TIMES,
    DURATION: INTS,
}


@st.composite
def tables(draw, least=1):
    nullable = {name: st.none() | VALUES[kind] for name, kind in ATTRIBUTES.items()}
    nullable |= {"ts": VALUES[TIME], "j": VALUES[INT], "g": VALUES[FLOAT]}
    return draw(st.lists(st.fixed_dictionaries(nullable), min_size=least, max_size=6))


def leaves(kind, columns, quantified):
    """`quantified`: whether references to every event and to neighbours may occur."""
    names = [name for name, other in ATTRIBUTES.items() if other is kind]
    whiches = list(Which) if quantified else [Which.FIRST, Which.LAST]
    options = [(st.none() | VALUES[kind]).map(lambda value: Const(value, kind))]
    if names:
        options.append(
            st.builds(
                Ref, st.sampled_from(columns), st.sampled_from(names), st.just(kind), st.sampled_from(whiches)
            )
        )
        functions = ["MIN", "MAX"] + (["SUM"] if kind in (INT, FLOAT, DURATION) else [])
        if kind is not BOOL:
            options.append(
                st.builds(
                    Reduce,
                    st.sampled_from(functions),
                    st.sampled_from(columns),
                    st.sampled_from(names),
                    st.just(kind),
                )
            )
    if kind is FLOAT:
        options.append(
            st.builds(
                Reduce,
                st.just("AVG"),
                st.sampled_from(columns),
                st.sampled_from(["i", "j", "f"]),
                st.just(kind),
            )
        )
    if kind is INT:
        options.append(
            st.builds(Reduce, st.just("COUNT"), st.sampled_from(columns), st.just(""), st.just(kind))
        )
    return st.one_of(options)


@cache
def trees(kind, columns, depth, quantified=True):
    """Typed expressions of one kind."""
    leaf = leaves(kind, columns, quantified)
    if depth == 0:
        return leaf

    def sub(other):
        return trees(other, columns, depth - 1, quantified)

    def applied(op, *kinds):
        return st.tuples(*map(sub, kinds)).map(lambda arguments: Apply(op, arguments, kind))

    options = [leaf]
    if kind in (INT, FLOAT, DURATION):
        options += [applied(op, kind, kind) for op in "+-"]
        options += [applied("neg", kind), applied("abs", kind)]
    if kind in (INT, FLOAT):
        options += [applied(op, kind, kind) for op in "*%"] + [applied("floor", kind), applied("ceil", kind)]
    if kind is DURATION:
        options += [applied("*", DURATION, INT), applied("-", TIME, TIME)]
    if kind is TIME:
        options += [applied("+", TIME, DURATION), applied("-", TIME, DURATION)]
    if kind is FLOAT:
        options += [applied("/", FLOAT, FLOAT), applied("/", DURATION, DURATION), applied("to_float", INT)]
        options += [applied("sqrt", FLOAT), applied("geo_distance", FLOAT, FLOAT, FLOAT, FLOAT)]
    if kind is not BOOL:
        options += [applied(op, kind, kind, kind) for op in ("least", "greatest")]
    else:
        options += [
            applied(op, k, k) for op in ("=", "!=", "<", "<=", ">", ">=") for k in KINDS if k is not BOOL
        ]
        options += [applied(op, BOOL, BOOL) for op in ("and", "or", "=", "!=")]
        options += [applied("and", BOOL, BOOL, BOOL), applied("not", BOOL)]
        options += [applied("is_null", k) for k in KINDS]
        options += [
            st.builds(
                lambda value, constants: Apply("in", (value, *constants), BOOL),
                sub(k),
                st.lists((st.none() | VALUES[k]).map(lambda v, k=k: Const(v, k)), min_size=1, max_size=7),
            )
            for k in (INT, FLOAT, STRING)
        ]
    return st.one_of(options)
