"""Random workloads of streams and queries that are alike: what operators are merged over, and what they must not be.

Members read other selections of one stream and do the same with them, level by level; now and then one of them does
something else, or reads another member by itself.
"""

import re
from collections.abc import Callable
from random import Random

from tests.support.random_events import SCHEMA
from tests.support.strategies import Terms, Variable
from tests.support.stream_strategies import MOST_DERIVED, StreamSample, _events

from stretto import oracle
from stretto.errors import QueryError

CONDITIONS = (
    "x >= {}",
    "x <= {}",
    "k <= {}",
    "k != {}",
    "n != {}",
    "x + n < {}",
    "k IN ({}, 2)",
    "(s = 'a' OR k = {})",
)
ITEMS = "k, s, f, at, x, n"


def alike_streams(rng: Random) -> StreamSample:
    """A base, members over it in one to three levels, a query for each member, and few enough events."""
    while True:
        text = _workload(rng)
        for most in (18, 12, 9, 6, 4):
            sample = StreamSample(text, SCHEMA, _events(rng, ("A", "B", "C"), most), {})
            try:
                streams = sample.workload().bind(SCHEMA).streams
            except QueryError:  # a term on neighbours where nothing is repeated
                break
            if all(len(events) <= MOST_DERIVED for events in oracle.derive(streams, sample.events).values()):
                return sample


def _workload(rng: Random) -> str:
    members = rng.choice((2, 2, 3))
    texts: list[str] = []
    base = "A"
    if rng.random() < 0.4:
        texts.append(f"CREATE STREAM base AS {_aggregate(rng, 'A', '')};")
        base = "base"
    names = [base] * members
    if rng.random() < 0.8:
        names = [f"c{i}" for i in range(members)]
        columns = rng.choice((ITEMS, ITEMS, "k, s, f, at, x + 1 AS x, n"))
        texts += [
            f"CREATE STREAM {name} AS SELECT {columns} FROM {base} WHERE {_condition(rng)};" for name in names
        ]
    others = [f"o{i}" for i in range(members)]
    paired = rng.random() < 0.3
    if paired:
        texts += [
            f"CREATE STREAM {name} AS SELECT {ITEMS} FROM B WHERE {_condition(rng)};" for name in others
        ]
    for level in range(rng.choice((0, 0, 1, 1, 2))):
        made = rng.choice((_selected, _aggregated, _grouped, _joined, _widened, _matched))(rng, base)
        before, names = names, [f"l{level}_{i}" for i in range(members)]
        for name, read, other in zip(names, before, others, strict=True):
            texts.append(f"CREATE STREAM {name} AS {made(read, other if paired else 'B')};")
    texts += _queries(rng, names, before=base)
    return "\n".join(texts)


Made = Callable[[str, str], str]


def _condition(rng: Random) -> str:
    return rng.choice(CONDITIONS).format(rng.choice((0, 1, 2)))


def _aggregate(rng: Random, read: str, where: str, groups: str | None = None) -> str:
    function = rng.choice(("AVG(x)", "SUM(x)", "COUNT(*)", "MIN(n)", "MAX(x)", "STDDEV(n)"))
    by = rng.choice(("GROUP BY k", "GROUP BY s, k", "")) if groups is None else groups
    items = f"k, s, f, at, {function} AS x, n"
    return f"SELECT {items} FROM {read} {where} {by} WITHIN {rng.choice((1, 2, 4, 100))} us"


def _selected(rng: Random, _base: str) -> Made:
    where, columns = f"WHERE {_condition(rng)}", rng.choice((ITEMS, "k, s, f, at, x * 2 AS x, n"))
    return lambda read, _other: f"SELECT {columns} FROM {read} {where}"


def _aggregated(rng: Random, _base: str) -> Made:
    """One aggregate of every member, with a filter of its own before it, or none."""
    fixed = rng.randrange(1 << 30)
    own = rng.random() < 0.5
    return lambda read, _other: _aggregate(Random(fixed), read, f"WHERE {_condition(rng)}" if own else "")


def _grouped(rng: Random, base: str) -> Made:
    """Aggregates of the base by other groups."""
    fixed = rng.randrange(1 << 30)
    return lambda _read, _other: _aggregate(
        Random(fixed), base, "", rng.choice(("GROUP BY k", "GROUP BY s", "GROUP BY k, s", ""))
    )


def _joined(rng: Random, _base: str) -> Made:
    on, window = rng.choice(("a.k = b.k", "a.x < b.x", "a.s = b.s AND a.n >= b.n")), rng.choice((1, 2))
    itself = rng.random() < 0.3

    def made(read: str, other: str) -> str:
        right = read if itself else other
        columns = "a.k AS k, b.s AS s, a.f AS f, b.at AS at, a.x AS x, b.n AS n"
        return f"SELECT {columns} FROM {read} a JOIN {right} b ON {on} WITHIN {window} us"

    return made


def _widened(rng: Random, base: str) -> Made:
    """Joins of the base with other windows."""
    on = rng.choice(("a.k = b.k", "a.x < b.x"))

    def made(_read: str, _other: str) -> str:
        columns = "a.k AS k, b.s AS s, a.f AS f, b.at AS at, a.x AS x, b.n AS n"
        return f"SELECT {columns} FROM {base} a JOIN B b ON {on} WITHIN {rng.choice((1, 2, 3))} us"

    return made


def _matched(rng: Random, _base: str) -> Made:
    policy = rng.choice(("ANY", "NEXT"))
    term = rng.choice(("a.k = b.k", "b.x > a.x", "a.n != b.n"))
    repeated = rng.random() < 0.4
    b, judged = "b", ("", "", " HAVING b.x > 0")
    if repeated:
        b = "LAST(b)"
        judged = ("", " HAVING LAST(b).x > 0", " HAVING b[i].x >= b[i-1].x", " HAVING FIRST(b).x > a.x")
    having = rng.choice(judged)
    items = f"a.k AS k, a.s AS s, {b}.f AS f, a.at AS at, {b}.x AS x, a.n AS n"
    return lambda read, _other: (
        f"PATTERN SEQ({read} a, C b{'+' * repeated}) WHERE {term}{having} WITHIN 5 us SELECT {policy} RETURN {items}"
    )


def _of_a(condition: str) -> str:
    """A condition on the first event."""
    return re.sub(r"\b([xnks])\b(?!')", r"a.\1", condition)


def _queries(rng: Random, names: list[str], before: str) -> list[str]:
    policy = rng.choice(("ANY", "NEXT", "NEXT"))
    second = rng.choice(("B b", "B b+", "C b", "C b{1,2}", f"{before} b+", "NOT(C n), B b", "B b, C c"))
    many = "+" in second or "{" in second
    variables = [Variable("a"), Variable("b", many=many, near=many) if many else Variable("b")]
    terms = Terms(rng, variables)
    where = " AND ".join(
        [rng.choice(("[k]", "1 = 1", "1 = 1")), *(terms.term() for _ in range(rng.choice((0, 0, 1))))]
    )
    having = " AND ".join(terms.term() for _ in range(rng.choice((0, 0, 1))))
    texts = []
    for number, name in enumerate(names):
        own = f" AND {_of_a(_condition(rng))}" if rng.random() < 0.4 else ""
        last = f" AND LAST(b).x > {rng.choice((0, 1))}" if many and rng.random() < 0.5 else ""
        judged = f"{having or '1 = 1'}{last}" if policy == "NEXT" else ""
        if not many and policy == "NEXT" and rng.random() < 0.4:
            judged += f" AND b.x > {rng.choice((0, 1))}"
        window = rng.choice((4, 8, 8, 20))
        returned = rng.choice(("", "", " RETURN a.x AS one", " RETURN a.k AS two, a.x AS three"))
        if name == before and name in second:
            second = "B b"
        texts.append(
            f"QUERY q{number} PATTERN SEQ({name} a, {second}) WHERE {where}{own}"
            f"{f' HAVING {judged}' if judged else ''} WITHIN {window} us SELECT {policy}{returned};"
        )
    if rng.random() < 0.3:
        texts.append(f"QUERY alone PATTERN SEQ({rng.choice(names)} a, C c) WITHIN 4 us;")
    return texts
