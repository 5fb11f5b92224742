"""A workload run in many ways, each query's whole result compared with the judge's."""

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from unittest import mock

import pyarrow as pa
from tests.exactness.test_engine import REFUSALS
from tests.exactness.test_switching import some_plan
from tests.fuzz.exact_rows import Row, difference, expected_rows
from tests.fuzz.sized_runs import BUDGET_S, Life, Run
from tests.fuzz.sized_streams import Sized
from tests.fuzz.stretches import Judge, TooHeavy
from tests.fuzz.ways import Way
from tests.support.random_events import SCHEMA, to_table

from stretto.engine import run as engine_run
from stretto.engine.memory import reuse
from stretto.errors import QueryError
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

IDLE = 5  # queries of a workload that find nothing


@dataclass(slots=True)
class Tally:
    """What was compared: whole results of queries, and the matches in them."""

    workloads: int = 0
    comparisons: int = 0
    matches: int = 0
    refused: int = 0
    heavy: int = 0

    def add(self, other: "Tally") -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        texts = [f"{self.workloads:,} workloads"]
        texts += [f"{self.comparisons:,} comparisons of {self.matches:,} matches"] * bool(self.comparisons)
        texts += [f"{self.refused:,} refused"] * bool(self.refused)
        texts += [f"{self.heavy:,} queries too heavy for the oracle"] * bool(self.heavy)
        return ", ".join(texts)


class Differs(AssertionError):  # noqa: N818 - what is looked for
    """Queries of which a run found something else than the judge, or that failed; no `way`: they cannot be planned."""

    def __init__(self, names: Sequence[str], way: Way | None, what: str) -> None:
        super().__init__(f"{', '.join(names)}, {way}\n{what}")
        self.names, self.way, self.what = tuple(names), way, what


def compare(sized: Sized, ways: Iterable[Way]) -> Tally:
    """Run a workload in all these ways; raises Differs."""
    trial = Trial(sized)
    tally = Tally(workloads=1, refused=trial.refused, heavy=trial.heavy)
    for way in ways if trial.queries else ():
        tally.add(trial.compare(way))
    return tally


class Trial:
    """A workload and its judges, without the queries that are refused, or that the oracle takes too long for, and with
    only a few of those that find nothing.
    """

    def __init__(self, sized: Sized) -> None:
        self.refused = self.heavy = 0
        self._judges: dict[str, Judge] = {}
        for name in sized.queries:
            self._admit(sized, name)
        idle = [name for name, judge in self._judges.items() if not judge.whole]
        for name in idle[IDLE:]:
            del self._judges[name]
        self.queries: dict[str, Query] = {name: judge.query for name, judge in self._judges.items()}
        self.sized = sized.only(self.queries)
        self._plans: dict[tuple[str, tuple[str, ...]], list[Plan]] = {}
        self._rows: dict[str, Counter[Row]] = {}

    def _admit(self, sized: Sized, name: str) -> None:
        workload = sized.workload([name])
        try:
            (query,) = workload.bind(SCHEMA).detections
            optimize(workload, SCHEMA, "none")
            self._judges[name] = Judge(query, sized.events)
        except TooHeavy:
            self.heavy += 1
        except Exception as error:
            if not isinstance(error, QueryError) or not any(text in str(error) for text in REFUSALS):
                raise Differs([name], None, repr(error)) from error
            self.refused += 1

    @cached_property
    def table(self) -> pa.Table:
        return to_table(self.sized.events)

    @cached_property
    def _stats(self) -> Stats:
        return replace(Stats.of(self.table), schema=SCHEMA)

    def plan(self, name: str, names: tuple[str, ...], rng: Random) -> Plan:
        """A plan for some of the queries, by that name; two of each are made."""
        known = self._plans.setdefault((name, names), [])
        if len(known) < 2:
            known.append(self._planned(name, self.sized.workload(names), rng))
            return known[-1]
        return rng.choice(known)

    def _planned(self, name: str, workload: Workload, rng: Random) -> Plan:
        if name == "some":
            return some_plan(workload, SCHEMA, rng)
        return optimize(workload, self._stats if rng.random() < 0.5 else SCHEMA, name, BUDGET_S)

    def compare(self, way: Way) -> Tally:
        """Run it once and compare all that was found; raises Differs."""
        tally = Tally()
        with _set_up(way):
            try:
                lives = Run(self, way).lives
            except Exception as error:
                raise Differs(list(self.queries), way, repr(error)) from error
            for life in lives:
                found = life.read()
                wrong = difference(found, self._expected(life), life.query) or life.changed()
                if wrong:
                    raise Differs([life.query.name], way, wrong)
                tally.comparisons += 1
                tally.matches += len(found)
        return tally

    def _expected(self, life: Life) -> Counter[Row]:
        name, judge = life.query.name, self._judges[life.query.name]
        if not life.whole:
            certain = [m for m in judge.since(life.base, life.since) if m.detected < life.until]
            return Counter(expected_rows(certain, judge.query))
        if name not in self._rows:
            self._rows[name] = Counter(expected_rows(judge.whole, judge.query))
        return self._rows[name]


def _set_up(way: Way) -> ExitStack:
    """Who does the work, what becomes of memory, and how many strings are kept."""
    stack = ExitStack()
    stack.enter_context(way.working())
    stack.enter_context(mock.patch.object(reuse, "debug", way.filled))
    if way.change == "strings":
        stack.enter_context(mock.patch.object(engine_run, "STRINGS_FROM", 4))
    return stack
