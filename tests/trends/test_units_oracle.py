"""The paths through the units are the trends that the oracle finds: no term and no edge is lost or misplaced."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.support.trend_strategies import random_trends
from tests.trends.planned import trend_plan
from tests.trends.shapes import COUNT

from stretto.oracle.trends import totals
from stretto.oracle.values import Event, evaluate
from stretto.pattern.nodes import TrendQuery
from stretto.pattern.predicates import Expr, Which
from stretto.pattern.workload import Workload
from stretto.trends.plan import Condition, TrendPlan, TrendUnit


def holds(terms: tuple[Expr, ...], *events: Event) -> bool:
    sets = {column: [event] for column, event in enumerate(events)}
    chosen = {(column, Which.EACH): event for column, event in enumerate(events)}
    return all(evaluate(term, sets, chosen) is True for term in terms)


def meets(condition: Condition | None, *events: Event) -> bool:
    return condition is None or any(holds(terms, *events) for terms in condition)


def counted(plan: TrendPlan, unit: TrendUnit, place: int, events: list[Event]) -> int:
    """The number of paths of one query over the events of one window and partition, in order of time."""
    counts: dict[tuple[int, int], int] = {}
    member, edges, local = unit.members[place], unit.edges_of(place), unit.local_nodes(place)
    mine = {local[node] for node in plan.places[member.query]}
    for i, event in enumerate(events):
        for node in mine:
            stream = plan.nodes[unit.nodes[node]].stream
            if event.type == stream.type and holds(stream.where, event):
                counts[i, node] = sum(
                    start.node == node and meets(start.condition, event) for start in member.starts
                )
                counts[i, node] += sum(
                    counts.get((j, edge.source), 0)
                    for edge in edges
                    if edge.target == node
                    for j in range(i)
                    if events[j].ts < event.ts and meets(edge.condition, events[j], event)
                )
    return sum(
        count
        for (i, node), count in counts.items()
        for end in member.ends
        if end.node == node and meets(end.condition, events[i])
    )


def found_by(plan: TrendPlan, unit: TrendUnit, place: int, events: list[Event]) -> Counter[Any]:
    """Trends by window and group."""
    query = plan.queries[unit.members[place].query]
    parts: dict[Any, list[Event]] = {}
    for event in sorted(events, key=lambda event: event.ts):
        key = tuple(event.value(name) for name in unit.partition)
        last = event.ts // query.slide_us * query.slide_us
        for start in range(last, event.ts - query.window_us, -query.slide_us):
            if None not in key:
                parts.setdefault((start, key), []).append(event)
    found: Counter[Any] = Counter()
    for (start, key), inside in parts.items():
        values = dict(zip(unit.partition, key, strict=True))
        group = tuple(values[name] for name in query.groups)
        found[start, group] += counted(plan, unit, place, inside)
    return +found


def expected(query: TrendQuery, events: list[Event]) -> Counter[Any]:
    return Counter({(one.window_start, one.group): one.value for one in totals(query, events)})


@pytest.mark.parametrize("seed", range(60))
def test_paths_of_units_are_the_trends(seed: int) -> None:
    rng = Random(seed)
    sample = random_trends(rng)
    events = list(sample.events)
    bound = Workload.parse(sample.text).bind(sample.schema).trends
    queries = [replace(query, aggregates=(COUNT,)) for query in bound]
    plan = trend_plan(queries, None, rng.choice(("auto", "muse")))
    for unit in plan.units:
        for place, member in enumerate(unit.members):
            query = queries[member.query]
            assert found_by(plan, unit, place, events) == expected(query, events), sample.text
