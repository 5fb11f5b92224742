"""What `stretto demo` did, as one HTML page that loads nothing from elsewhere."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stretto.explain.html.page import rendered
from stretto.explain.html.picture import picture
from stretto.explain.model import ENDS, SOURCES, Explanation, Row
from stretto.explain.numbers import factor_text, rows_text, share_text, time_text
from stretto.explain.text import explanation_text, saving_text
from stretto.records import dataclass

MOST_SHARED: Final = 15


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the run: its name, its result, and how long it took."""

    name: str
    result: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Alone:
    """Queries that ran one by one, in seconds, and what all of them would take at that pace."""

    seconds: Mapping[str, float]
    queries: int

    @property
    def all_seconds(self) -> float:
        ran = len(self.seconds)
        return sum(self.seconds.values()) * self.queries / ran if ran else 0.0


@dataclass(frozen=True, slots=True)
class Demo:
    """What the page shows. `pictured`: the queries whose operators are drawn. `pace`: matches by time of day."""

    title: str
    where: str
    events: int
    plan: Explanation
    steps: Sequence[Step]
    seconds: float
    alone: Alone
    found: Mapping[str, int]
    top: Sequence[Sequence[str]]
    pace: Sequence[tuple[str, int]]
    pictured: Sequence[str]
    workload: str
    unshared: float = 0.0
    """Seconds of all patterns in one job with nothing shared or reordered; 0: it did not run."""

    @property
    def matches(self) -> int:
        return sum(self.found.values())

    @property
    def sharing(self) -> float:
        """How many times as long the same job takes with nothing shared or reordered."""
        return self.unshared / self.seconds if self.seconds > 0 else 0.0

    @property
    def speedup(self) -> float:
        """How many times as long the queries take one by one."""
        return self.alone.all_seconds / self.seconds if self.seconds > 0 else 0.0


def demo_page(demo: Demo) -> str:
    """The page as text."""
    plan = demo.plan
    return rendered(
        "demo.html",
        "stretto.cli.demo",
        demo=demo,
        sharing=factor_text(demo.sharing),
        speedup=factor_text(demo.speedup),
        saving="" if plan.estimate is None else saving_text(plan.estimate),
        shared=len(plan.shared),
        operators=_most_shared(plan),
        picture=picture(plan, demo.pictured),
        bars=_bars(demo),
        found=sorted(demo.found.items(), key=lambda pair: -pair[1]),
        most=max(demo.found.values(), default=0) or 1,
        busiest=max((count for _, count in demo.pace), default=0) or 1,
        explained=explanation_text(plan),
    )


def ways(demo: Demo) -> list[tuple[str, float, str]]:
    """The ways in which the patterns were found: a name, the seconds, and what these contain."""
    job = "one Spark job: reading the trades, finding, writing the matches"
    found = [("all in one plan, shared", demo.seconds, job)]
    if demo.unshared:
        found.append(("all in one plan, nothing shared or reordered", demo.unshared, job))
    alone = demo.alone
    if alone.seconds:
        ran = len(alone.seconds)
        those = "" if ran == alone.queries else f"; {ran} of them ran, the others are taken at their pace"
        what = f"{alone.queries} Spark jobs, each with its start, reading and writing{those}"
        found.append(("one by one", alone.all_seconds, what))
    return [way for way in found if way[1] > 0.0]


def _bars(demo: Demo) -> list[dict[str, Any]]:
    """Events per second of each way, as a share of the fastest."""
    found = [(name, seconds, demo.events / seconds, what) for name, seconds, what in ways(demo)]
    most = max((speed for *_, speed, _ in found), default=0.0) or 1.0
    return [
        {"name": name, "seconds": seconds, "speed": speed, "share": speed / most, "what": what}
        for name, seconds, speed, what in found
    ]


def _most_shared(plan: Explanation) -> list[dict[str, Any]]:
    """The operators above scans that serve the most queries, with their figures."""
    rows = [row for row in plan.shared if row.kind not in (*SOURCES, *ENDS)]
    rows.sort(key=lambda row: (-len(row.serves), row.id))
    return [_operator(plan, row) for row in rows[:MOST_SHARED]]


def _operator(plan: Explanation, row: Row) -> dict[str, Any]:
    known, cost = plan.estimate, row.cost
    return {
        "id": row.name,
        "op": row.kind,
        "piece": row.piece,
        "serves": len(row.serves),
        "queries": ", ".join(row.serves),
        "rows": "" if row.rows is None else rows_text(row.rows * plan.period),
        "cost": ""
        if cost is None or known is None
        else f"{time_text(cost * plan.period)} ({share_text(cost, known.cost)})",
        "because": row.because,
    }
