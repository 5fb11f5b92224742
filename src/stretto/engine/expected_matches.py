"""How many matches a plan is expected to find, and which queries would find more than anybody reads."""

from collections.abc import Iterator
from math import inf
from typing import Final

from stretto.plan.dag import Plan

FACTOR: Final = 1_000
"""Matches per event from which a query is warned about, ..."""
MANY: Final = 1_000_000
"""... if there are at least so many."""
TIMES_BYTES: Final = 24
"""What the three times of a match take."""


def expected_matches(plan: Plan, seconds: float) -> dict[str, float]:
    """Matches by query over so many seconds, where the plan has an estimate."""
    rates = {query: plan.records[emit].rows for query, emit in plan.queries.items()}
    return {query: rate * max(seconds, 1.0) for query, rate in rates.items() if rate is not None}


def too_many(plan: Plan, events: int, seconds: float, memory_bytes: int | None = None) -> Iterator[str]:
    """A sentence for each query that is expected to find a thousand times more matches than there are events.

    With `memory_bytes`, that much memory holds all results: one more sentence where it would not be enough.
    """
    if not events:
        return
    # Rates of a stream that is shorter than a window say little; there are at most so many sets of events.
    most = 2.0 ** min(events, 1_000)
    expected = {query: min(number, most) for query, number in expected_matches(plan, seconds).items()}
    for query, number in expected.items():
        if number >= max(FACTOR * events, MANY):
            yield (
                f"query `{query}`: about {_about(number)} matches expected of {events:,} events,"
                f" {_about(number / events)} for each: a term that relates its variables, a shorter WITHIN,"
                " SELECT NEXT or KEEP would leave fewer; AGGREGATE COUNT(*) counts them without building one"
            )
    held = sum(
        number * (TIMES_BYTES + 8 * plan.width(plan.queries[query])) for query, number in expected.items()
    )
    if memory_bytes is not None and held > memory_bytes:
        yield (
            f"about {_about(sum(expected.values()))} matches expected, which take {_about(held / (1 << 30))} GiB where"
            f" {memory_bytes / (1 << 30):.1f} GiB are allowed: `stretto run --out FILE` and `Engine.pushing` hold"
            " only a part of them at a time"
        )


def _about(number: float) -> str:
    """A number with two digits that count."""
    if number == inf or number >= 1e15:
        return f"{number:.1e}"
    return f"{number:.2g}" if number < 100 else f"{float(f'{number:.2g}'):,.0f}"
