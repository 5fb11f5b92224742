"""How many matches a plan is expected to find, and which queries would find more than anybody reads."""

from collections.abc import Iterator
from math import inf, log2
from typing import Final

from stretto.errors import Remark
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit

FACTOR: Final = 1_000
"""Matches per event from which a query is warned about, ..."""
MANY: Final = 1_000_000
"""... if there are at least so many. Queries that run as one family are compared by the mean of its members."""
GUARD: Final = 10_000_000
"""Matches of a query after which a run on a file stops, where more are expected and nothing else was asked for."""
MANY_MATCHES: Final = "queries with more than a thousand matches expected for each event"
TIMES_BYTES: Final = 24
"""What the three times of a match take."""


def expected_matches(plan: Plan, seconds: float) -> dict[str, float]:
    """Matches by query over so many seconds, where the plan has an estimate; of a family, those of all members."""
    rates = {query: plan.records[emit].rows for query, emit in plan.queries.items()}
    # A rate over no time is one per second, as it is where statistics are made.
    return {query: rate * (seconds or 1.0) for query, rate in rates.items() if rate is not None}


def _most_matches(plan: Plan, query: str, events: int) -> float:
    """Return how many ways there are to bind the variables of a query, or of all members, to so many events."""
    sets = plan.sets(plan.queries[query])
    bits = sum(events if is_set else log2(events) for is_set in sets)
    return float(2.0 ** min(bits, 900.0)) * _members(plan, query)


def _members(plan: Plan, query: str) -> int:
    """Return how many queries run as this one: the members of a family, else 1."""
    emit = plan.ops[plan.queries[query]]
    route = emit.route if isinstance(emit, Emit) else None
    return 1 if route is None else max(len(route.members), 1)


def _possible_matches(plan: Plan, events: int, seconds: float) -> dict[str, float]:
    """Return the expected matches by query, no more than there are ways to bind its variables."""
    # Rates of a stream that is shorter than a window say little.
    return {
        query: min(number, _most_matches(plan, query, events))
        for query, number in expected_matches(plan, seconds).items()
    }


def guarded(plan: Plan, events: int, seconds: float, asked: int | None) -> int | None:
    """Return the most matches that a query may have: as asked, else GUARD where a query is expected to have more.

    None: no limit.
    """
    if asked is not None or not events:
        return asked
    return GUARD if max(_possible_matches(plan, events, seconds).values(), default=0.0) > GUARD else None


def too_many(plan: Plan, events: int, seconds: float, memory_bytes: int | None = None) -> Iterator[Remark]:
    """A sentence for each query that is expected to find a thousand times more matches than there are events.

    Of alike queries that run as one, and of the rows of a table, the mean is compared: many small results are none.

    With `memory_bytes`, that much memory holds all results: one more sentence where it would not be enough.
    """
    if not events:
        return
    expected = _possible_matches(plan, events, seconds)
    for query, total in expected.items():
        members = _members(plan, query)
        number = total / members
        if number >= max(FACTOR * events, MANY):
            mean = "" if members == 1 else f" for each of {members:,} alike queries on average"
            yield Remark(
                MANY_MATCHES,
                f"query `{query}`: about {_about(number)} matches expected of {events:,} events{mean},"
                f" {_about(number / events)} per event: a term that relates its variables, a shorter WITHIN,"
                " SELECT NEXT or KEEP would leave fewer; AGGREGATE COUNT(*) counts them without building one",
            )
    held = sum(
        number * (TIMES_BYTES + 8 * plan.width(plan.queries[query])) for query, number in expected.items()
    )
    if memory_bytes is not None and held > memory_bytes:
        yield Remark(
            "bounds on memory",
            f"about {_about(sum(expected.values()))} matches expected, which take {_about(held / (1 << 30))} GiB where"
            f" {memory_bytes / (1 << 30):.1f} GiB are allowed: `stretto run --out FILE` and `Engine.pushing` hold"
            " only a part of them at a time",
        )


def _about(number: float) -> str:
    """A number with two digits that count."""
    if number == inf or number >= 1e15:
        return f"{number:.1e}"
    return f"{number:.2g}" if number < 100 else f"{float(f'{number:.2g}'):,.0f}"
