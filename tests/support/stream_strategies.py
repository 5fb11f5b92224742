"""Random workloads with derived streams, HAVING and families, and events to run them on.

Streams stand over streams, join with themselves and are matches of patterns. Every stream has the attributes of the
raw events, so that the queries of `strategies` fit; `x` and `n` may change their kinds on the way. Sums meet 1e16
beside 1, infinities and NaN; times are shared. `random_streams` draws all from one
`random.Random`, so a seed names a sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from hypothesis import strategies as st
from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import PatternWriter, Sample, Terms, Variable

from stretto import oracle
from stretto.errors import QueryError
from stretto.oracle.detections import Event
from stretto.pattern.workload import Workload

MOST_DERIVED = 18
"""The most events of a derived stream that brute force is asked to read."""
LARGE = (1e16, -1e16, 1.0, 1.0, float("inf"), float("nan"), -0.0, 1e300, 0.1)
FUNCTIONS = ("AVG", "AVG", "SUM", "SUM", "COUNT", "MIN", "MAX", "STDDEV")
PLAIN = ("k", "s", "f", "at")
NUMBERS = ("x", "n", "x + 1", "n - k", "k", "x * 2", "LEAST(x, 1.5)")


@dataclass(frozen=True, slots=True)
class StreamSample(Sample):
    """A sample with rows of the table `rows`, which families of it are for."""

    rows: dict[str, list[object]]

    def workload(self) -> Workload:
        """The workload with its table; without a family the table is not read."""
        return Workload.parse(self.text).table("rows", self.rows)

    def __str__(self) -> str:
        return f"{Sample.__str__(self)}\n-- rows\n{self.rows}"


def stream_samples() -> st.SearchStrategy[StreamSample]:
    """Samples that hypothesis can shrink."""
    return st.randoms(use_true_random=False).map(random_streams)


def random_streams(rng: Random, *, families: bool = True) -> StreamSample:
    """One to three streams, a query or two over them, and few enough events for brute force."""
    while True:
        types = rng.sample(("A", "B", "C", "D"), rng.choice((1, 2, 2, 3)))
        text, rows = _workload(rng, types, families=families), _rows(rng)
        for most in (14, 10, 6, 4):
            sample = StreamSample(text, SCHEMA, _events(rng, types, most), rows)
            try:
                streams = sample.workload().bind(SCHEMA).streams
            except QueryError:  # an attribute of several kinds was named where it has to have one
                break
            if all(len(events) <= MOST_DERIVED for events in oracle.derive(streams, sample.events).values()):
                return sample


def _workload(rng: Random, types: Sequence[str], *, families: bool) -> str:
    known = list(types)
    texts = []
    for number in range(rng.choice((1, 1, 2, 2, 3))):
        name = f"S{number}"
        write = rng.choice((_selection, _aggregate, _aggregate, _join, _pattern, _pattern))
        texts.append(write(rng, name, known))
        known += [name, name]
    if rng.random() < 0.3:
        condition = Terms(rng, [Variable("")]).condition()
        texts.append(f"CREATE EVENT Sel AS SELECT * FROM {known[-1]} WHERE {condition};")
        known.append("Sel")
    texts += [
        _query(rng, f"q{number}", known[-3:], families=families) for number in range(rng.choice((1, 1, 2)))
    ]
    rng.shuffle(texts)
    return "\n".join(texts)


def _condition(rng: Random, head: str = "WHERE ") -> str:
    return head + Terms(rng, [Variable("")]).condition() if rng.random() < 0.25 else ""


def _selection(rng: Random, name: str, known: Sequence[str]) -> str:
    if rng.random() < 0.2:
        return f"CREATE STREAM {name} AS SELECT * FROM {rng.choice(known)} {_condition(rng)};"
    x, n = rng.choice(NUMBERS), rng.choice(NUMBERS)
    items = f"{', '.join(PLAIN)}, {x} AS x, {n} AS n"
    return f"CREATE STREAM {name} AS SELECT {items} FROM {rng.choice(known)} {_condition(rng)};"


def _aggregate(rng: Random, name: str, known: Sequence[str]) -> str:
    def value() -> str:
        function = rng.choice(FUNCTIONS)
        return (
            "COUNT(*)" if function == "COUNT" and rng.random() < 0.5 else f"{function}({rng.choice(NUMBERS)})"
        )

    groups = rng.sample(("k", "s", "f", "x", "n"), rng.choice((0, 1, 1, 2)))
    grouped = f"GROUP BY {', '.join(groups)}" if groups else ""
    items = f"{', '.join(PLAIN)}, {value()} AS x, {rng.choice((value(), 'n'))} AS n"
    window = f"WITHIN {rng.choice((1, 2, 4, 100))} us"
    return f"CREATE STREAM {name} AS SELECT {items} FROM {rng.choice(known)} {_condition(rng)} {grouped} {window};"


def _join(rng: Random, name: str, known: Sequence[str]) -> str:
    left = rng.choice(known)
    right = left if rng.random() < 0.3 else rng.choice(known)
    sides = [rng.choice("ab") for _ in PLAIN]
    items = ", ".join(f"{side}.{attribute}" for side, attribute in zip(sides, PLAIN, strict=True))
    items += f", a.x {rng.choice('+-*')} b.x AS x, {rng.choice(('a.n', 'b.n', 'b.k'))} AS n"
    terms = rng.sample(
        ("a.k = b.k", "a.s = b.s", "a.x < b.x", "a.n != b.n", "a.ts < b.ts"), rng.choice((1, 1, 2))
    )
    on = " AND ".join(terms)
    window = rng.choice((1, 1, 2, 4))
    return f"CREATE STREAM {name} AS SELECT {items} FROM {left} a JOIN {right} b ON {on} WITHIN {window} us;"


def _pattern(rng: Random, name: str, known: Sequence[str]) -> str:
    clauses, variables = _clauses(rng, known, small=True)
    named = [variable.name for variable in variables if not variable.negated]
    items = [f"{rng.choice(('FIRST', 'LAST'))}({rng.choice(named)}).{one} AS {one}" for one in PLAIN]
    items += [f"{rng.choice(('AVG', 'SUM', 'MAX'))}({rng.choice(named)}.{one}) AS {one}" for one in "xn"]
    return f"CREATE STREAM {name} AS {clauses} RETURN {', '.join(items)};"


def _query(rng: Random, name: str, known: Sequence[str], *, families: bool) -> str:
    clauses, variables = _clauses(rng, known, small=False)
    if not (families and rng.random() < 0.3):
        return f"QUERY {name} {clauses};"
    positive = [variable for variable in variables if not variable.negated and not variable.many]
    if positive:
        one = rng.choice(positive).name
        term = rng.choice((f"{one}.x < r.low", f"{one}.k = r.k", f"({one}.s = r.name OR r.name IS NULL)"))
        clauses = clauses.replace("WHERE ", f"WHERE {term} AND ", 1)
    key = rng.choice(("", "KEY r.id"))
    return f"QUERY {name} FOR EACH rows r {key} {clauses} RETURN r.low AS low;"


def _clauses(rng: Random, known: Sequence[str], *, small: bool) -> tuple[str, Sequence[Variable]]:
    """PATTERN to SELECT, and the variables of the pattern."""
    policy = rng.choice(("ANY", "ANY", "NEXT", "NEXT", "NEXT", "STRICT"))
    writer = PatternWriter(rng, known)
    writer.sets = 1
    if policy == "ANY":
        writer.slots = rng.choice((1, 2)) if small else rng.choice((1, 2, 2, 3))
        pattern = writer.part(2, repeated=False)
    else:
        pattern = writer.steps(rng.choice((1, 1, 2)) if small else rng.choice((1, 2, 2, 3)))
    terms = Terms(rng, writer.variables)
    where = [terms.term() for _ in range(rng.choice((0, 0, 1)))] or ["1 = 1"]
    where += ["[k]"] * (rng.random() < 0.3)
    having = [terms.term() for _ in range(rng.choice((0, 0, 1, 1, 2)))]
    size = rng.choice((2, 4) if small else (3, 6, 10))
    parts = [
        f"WHERE {' AND '.join(where)}",
        f"HAVING {' AND '.join(having)}" if having else "",
        f"WITHIN {size} {'EVENTS' if rng.random() < 0.25 else 'us'}",
        f"SELECT {policy}",
    ]
    return " ".join(filter(None, (f"PATTERN {pattern}", *parts))), writer.variables


def _events(rng: Random, types: Sequence[str], most: int) -> tuple[Event, ...]:
    """Events with sums that lose what is small, where a running total would."""
    events = random_events(rng, types, most=most)
    wild = rng.choice((0.0, 0.0, 0.5))
    return tuple(
        replace(event, attributes={**event.attributes, "x": rng.choice(LARGE)})
        if rng.random() < wild
        else event
        for event in events
    )


def _rows(rng: Random) -> dict[str, list[object]]:
    number = rng.choice((1, 2, 3))
    return {
        "id": list(range(number)),
        "low": [rng.choice((0.5, 2.0, None, float("nan"))) for _ in range(number)],
        "k": [rng.choice((0, 1, 2)) for _ in range(number)],
        "name": [rng.choice(("a", "b", None)) for _ in range(number - 1)] + ["a"],
    }
