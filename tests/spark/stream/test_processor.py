"""The stateful operator against the oracle, without Spark: disorder, batches run again, lost caches, restarts.

STRETTO_STREAMS says how many random streams are tried, STRETTO_SEED from which seed on.
"""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.spark.stream.operator_cases import batch_of, plan_of, settings_of, some_spread, workload_rows
from tests.spark.stream.stream_cases import (
    ended,
    in_milliseconds,
    matches_by_query,
    planned,
    stream_sample,
    without_ids,
    without_values,
)
from tests.spark.stream.stream_checks import check_changes, check_each
from tests.spark.stream.stream_state import Stream, use_folder
from tests.support.comparison import assert_same_matches
from tests.support.random_events import SCHEMA, in_batches, out_of_order, random_events, to_table
from tests.support.strategies import Sample, random_workload, with_ties
from tests.support.variations import sharing_workload

from stretto import oracle, run
from stretto.engine.step_runner import StepRunner
from stretto.errors import StrettoError
from stretto.plan.dag import Plan
from stretto.plan.ops import Next
from stretto.plan.spread.spreads import ByKey, Whole
from stretto.plan.spread.stream_slices import Slices
from stretto.spark.stream.versions import Version
from stretto.spark.task_memory import TaskMemory

STREAMS = int(os.environ.get("STRETTO_STREAMS", "40"))
SEED = int(os.environ.get("STRETTO_SEED", "20261101"))
CHUNK = 40


def asks_for_arrival(plan: Plan) -> bool:
    """Whether the order of events of one time matters; without ids it goes by their content."""
    counts = plan.horizon_events or plan.specials() - {"ts"}
    return bool(counts) or any(isinstance(op, Next) for op in plan.ops)


@pytest.mark.parametrize("start", range(SEED, SEED + STREAMS, CHUNK))
def test_streams_find_what_the_oracle_finds(
    start: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def check(sample: Sample, seed: int, name: str) -> int:
        return _check(sample, seed, tmp_path / name, monkeypatch)

    check_each(range(start, min(start + CHUNK, SEED + STREAMS)), stream_sample, check)


def _check(sample: Sample, seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    found = planned(sample)
    if found is None:
        return 0
    plan, queries = found
    rng = Random(seed + 1)
    lateness, spread = rng.choice((0, 1, 3000, 10_000)), some_spread(plan, rng)
    events = ended(sample.events)
    arriving = out_of_order(rng, sorted(events, key=lambda event: event.ts), lateness)
    has_ids = rng.random() < 0.5 or asks_for_arrival(plan)
    table = to_table(arriving, ids=has_ids)
    folder.mkdir()
    stream = use_folder(
        Stream(settings_of(plan, spread, lateness_us=lateness), folder, rng, rng.choice((0.0, 0.4))),
        monkeypatch,
    )
    for batch in in_batches(rng, table):
        stream.batch(batch)
    assert not stream.late
    results, shape = matches_by_query(stream.matches), (without_values if has_ids else without_ids)
    assert set(results) <= {query.name for query in queries}
    for query in queries:
        expected = oracle.matches(query, events)
        assert_same_matches(shape(results.get(query.name, [])), shape(expected), f"{query.name} by {spread}")
    if has_ids:  # returned values and match ids too
        whole = run(plan, to_table(events)).to_arrow().to_pylist()
        assert sorted(map(repr, stream.matches)) == sorted(map(repr, whole))
    return len(stream.matches)


@pytest.mark.parametrize("start", range(SEED, SEED + STREAMS // 4, CHUNK))
def test_events_of_one_time_stand_in_the_order_of_their_ids(
    start: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def sample_of(seed: int) -> Sample:
        rng = Random(seed)
        return in_milliseconds(with_ties(rng, random_workload(rng)))

    def check(sample: Sample, seed: int, name: str) -> int:
        return _check(sample, seed, tmp_path / name, monkeypatch)

    check_each(range(start, min(start + CHUNK, SEED + STREAMS // 4)), sample_of, check)


# ---- workloads that change -------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(SEED, SEED + STREAMS // 2, CHUNK))
def test_queries_come_and_go(start: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def check(sample: Sample, seed: int, name: str) -> int:
        return check_changes(sample, seed, tmp_path / name, monkeypatch, lambda *_: Whole())

    seeds = range(start, min(start + CHUNK, SEED + STREAMS // 2))
    check_each(seeds, lambda seed: sharing_workload(Random(seed)), check)


# ---- single cases ----------------------------------------------------------------------------------------------

PAIRS = "QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 30 ms;"
ALERT = "QUERY q PATTERN SEQ(A a, NOT(B b)) WHERE [k] WITHIN 10 ms;"


def test_a_quiet_target_is_called_when_its_time_has_come(stream) -> None:
    keys = stream(ALERT, ByKey(("k",), 8))
    keys.batch(batch_of((5, "A", 1, 0), (6, "A", 2, 1)))
    assert not keys.matches
    keys.batch(batch_of((9, "B", 1, 2), (14, "C", 3, 3)))
    assert not keys.matches
    keys.batch(batch_of((30, "C", 3, 4)))  # nothing comes to the targets of 1 and 2 any more
    assert [dict(match["events"]) for match in keys.matches] == [{"a": [1]}]
    keys.batch(batch_of((1000, "C", 3, 5)))
    assert not {name: of for name, of in keys.store.maps.items() if of and name[0] != _target_of(keys)}


def _target_of(keys: Stream) -> int:
    return max((target for target, _ in keys.store.values), key=lambda t: keys.store.head(t).greatest_us)


def test_late_and_rejected_events_are_set_apart_and_counted(stream) -> None:
    whole = stream(ALERT, lateness_us=2000)
    whole.batch(batch_of((50, "A", 1, 0), (20, "A", 1, 1)))  # neither is late: they came together
    whole.batch(
        batch_of((47, "B", 1, 2), (48, "C", 1, 3), (None, "A", 1, 4), (60, None, 1, 5), (60, "A", 1, None))
    )
    assert [event["id"] for event in whole.late] == [2]
    reasons = {event["id"]: event["reason"] for event in whole.rejected}
    assert reasons == {4: "ts is null", 5: "type is null", None: "id is null"}
    totals = [(m.events, m.late, m.rejected) for m in whole.metrics if m.events]
    assert totals == [(2, 0, 0), (5, 1, 3)]
    counts = whole.store.head(0).counts
    assert (counts.events, counts.late, counts.rejected) == (7, 1, 3)


@pytest.mark.parametrize("spread", [None, Slices(10_000, 0, 10_000, 3)])
def test_events_with_an_attribute_out_of_range_are_rejected_once(stream, spread: Slices | None) -> None:
    found = stream("QUERY q PATTERN SEQ(A a, B b) WHERE a.k = b.k WITHIN 10 ms;", spread)
    for start in (0, 20):
        batch = batch_of(*((start + i, "AB"[i % 2], 1, start + i) for i in range(12)))
        keys = pa.array([2**63 if i == 5 else 1 for i in range(12)], pa.uint64())
        found.batch(batch.set_column(2, "k", keys))
    found.batch(batch_of((1000, "C", 1, 1000)))
    assert sorted((event["id"], event["reason"]) for event in found.rejected) == [
        (5, "k is out of range"),
        (25, "k is out of range"),
    ]
    assert sum(metrics.rejected for metrics in found.metrics) == 2
    assert sum(metrics.events for metrics in found.metrics) == 25
    pairs = {tuple(ids[0] for ids in dict(match["events"]).values()) for match in found.matches}
    assert (4, 7) in pairs
    assert not {5, 25} & {number for pair in pairs for number in pair}


def test_the_state_grows_with_the_window_and_not_with_the_run(stream) -> None:
    whole = stream("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 100 ms;")
    sizes, entries = [], []
    for at in range(0, 20_000, 50):
        whole.batch(batch_of(*((at + i, "AB"[i % 2], at + i, at + i) for i in range(50))))
        sizes.append(whole.store.size)
        entries.append(whole.store.entries)
    assert max(entries[100:]) <= max(entries[10:100])
    assert max(sizes[100:]) <= 1.3 * max(sizes[10:100])


def test_events_that_no_window_reaches_any_more_are_not_kept(stream) -> None:
    whole = stream("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 ms;")
    whole.batch(batch_of(*((i, "A", 1, i) for i in range(1000))))
    assert whole.store.head(0).rows <= 12


def test_ids_are_given_in_an_order_of_the_events_alone(stream) -> None:
    rows = [(5, "A", 2, 0), (5, "A", 1, 0), (3, "B", 1, 0), (5, "A", 1, 0)]
    found = []
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        one = stream("QUERY q PATTERN A a WITHIN 1 s RETURN a.k AS k;")
        one.batch(batch_of(*(rows[i] for i in order)).drop_columns(["id"]))
        one.batch(batch_of((9, "C", 1, 0)).drop_columns(["id"]))
        found.append(sorted((dict(m["events"])["a"][0], m["returned"]) for m in one.matches))
    assert found[0] == found[1] == [(1, '{"k": 1}'), (2, '{"k": 1}'), (3, '{"k": 2}')]


def test_engines_come_from_the_cache_and_are_rebuilt_without_it(stream) -> None:
    whole = stream(ALERT)
    for at in range(0, 50, 10):
        whole.batch(batch_of((at, "A", 1, at)))
        if at == 20:
            whole.runs += 1
    sources = [m.engine for m in whole.metrics if m.events]
    assert sources == ["new", "cache", "cache", "rebuilt", "cache"]


def test_an_engine_is_kept_only_where_its_window_is_much_work(
    stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = []
    for number, worth_s in enumerate((0.0, 1e9)):
        whole = stream(ALERT)
        whole.runs = number
        monkeypatch.setattr("stretto.spark.stream.processor.WORTH_S", worth_s)
        for at in range(0, 30, 10):
            whole.batch(batch_of((at, "A", 1, at)))
        sources.append([m.engine for m in whole.metrics if m.events])
        assert len(whole.matches) == 1
    assert sources == [["new", "cache", "cache"], ["new", "rebuilt", "rebuilt"]]


def test_a_micro_batch_that_fails_half_way_leaves_no_engine_behind(
    stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The retry begins with the engine of the batch before, from the cache or built again."""
    batches = [
        batch_of(*((10 * n + i, "ABC"[i % 3], i % 2, 10 * n + i) for i in range(10))) for n in range(8)
    ]
    whole = stream(PAIRS)
    for batch in batches:
        whole.batch(batch)
    take_turns, calls = StepRunner._take_turns, []

    def failing(self, *args):
        calls.append(args)
        if len(calls) % 5 == 0:
            raise error
        result = take_turns(self, *args)
        if len(calls) % 7 == 0:
            raise error
        return result

    failed = stream(PAIRS)
    failed.runs, failed.trouble, failures = 100, 0.0, 0
    for number, batch in enumerate(batches):
        error = (KeyboardInterrupt(), MemoryError(), ValueError())[number % 3]
        for _ in range(3):
            with monkeypatch.context() as patched, suppress(BaseException):
                patched.setattr(StepRunner, "_take_turns", failing)
                failed._attempt(failed.store.copy(), batch, ())
                failures -= 1
            failures += 1
        failed.batch(batch)
    assert failures > 5
    assert "cache" in {m.engine for m in failed.metrics}
    assert_same_matches(matches_by_query(failed.matches)["q"], matches_by_query(whole.matches)["q"])


def test_a_checkpoint_is_bound_to_its_spread(stream) -> None:
    whole = stream(ALERT)
    whole.batch(batch_of((1, "A", 1, 0)))
    whole.settings = replace(whole.settings, spread=ByKey(("k",), 1))
    with pytest.raises(StrettoError, match=r"were spread Whole.*now they are spread ByKey"):
        whole.batch(batch_of((2, "A", 1, 1)))


def test_a_version_that_the_spread_does_not_allow_is_refused(stream) -> None:
    keys = stream(ALERT, ByKey(("k",), 2), follows=True, number=0)
    other = plan_of("QUERY other PATTERN SEQ(A a, B b) WITHIN 10 ms;")
    keys.batch(batch_of((1, "A", 1, 0)), workload_rows(Version(1, "", keys.settings.version.plan), 2))
    keys.batch(batch_of((2, "B", 1, 1)), workload_rows(Version(2, "", other), 2))
    assert {m.version for m in keys.metrics} == {1}
    assert any(m.refused for m in keys.metrics)


def test_a_version_that_needs_too_much_memory_is_refused(stream) -> None:
    pairs = plan_of("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 s;")
    whole = stream(
        "QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 s;",
        follows=True,
        number=0,
        memory=TaskMemory(2 << 20),
    )
    greedy = plan_of("QUERY all PATTERN AND(A a, A b, A c) WITHIN 1 s;")
    whole.batch(batch_of(*((i, "A", i, i) for i in range(300))), workload_rows(Version(1, "", pairs), 1))
    whole.batch(batch_of((300, "B", 7, 300)), workload_rows(Version(2, "", greedy), 1))
    whole.batch(batch_of((400, "B", 8, 301)))
    whole.batch(batch_of((500, "C", 8, 302)))
    assert {m.version for m in whole.metrics} == {1}
    assert any("out of memory" in m.refused for m in whole.metrics)
    assert {name: len(of) for name, of in matches_by_query(whole.matches).items()} == {"q": 2}


def test_a_micro_batch_with_too_many_matches_fails(stream) -> None:
    whole = stream(PAIRS, max_matches=2)
    whole.batch(batch_of((1, "A", 1, 0), (2, "B", 1, 1), (3, "B", 1, 2)))
    whole.batch(batch_of((4, "B", 1, 3), (5, "B", 1, 4)))
    assert len(whole.matches) == 3
    with pytest.raises(StrettoError, match=r"query `q` has more than 2 matches.*--max-matches"):
        whole.batch(batch_of(*((n, "B", 1, n) for n in range(6, 9))))
    assert len(whole.matches) == 3


def test_a_restart_with_another_workload_needs_no_versions(stream) -> None:
    whole = stream("QUERY q PATTERN SEQ(A a, B b) WITHIN 50 ms;")
    whole.batch(batch_of((1, "A", 1, 0), (5, "C", 1, 1)))
    added = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 50 ms; QUERY r PATTERN SEQ(C c, B b) WITHIN 50 ms;")
    whole.settings = settings_of(added, number=-2)
    whole.batch(batch_of((7, "B", 1, 2), (9, "A", 1, 3)))
    assert {name: len(of) for name, of in matches_by_query(whole.matches).items()} == {"q": 1, "r": 1}


def test_operators_and_queries_are_counted(stream) -> None:
    whole = stream("QUERY q PATTERN SEQ(A a, B b) WITHIN 50 ms;")
    whole.batch(batch_of((1, "A", 1, 0), (2, "B", 1, 1), (3, "B", 1, 2), (4, "C", 1, 3)))
    report = whole.metrics[0]
    assert report.matches == {"q": 2}
    assert sum(report.operators.values()) >= 5  # one A, two B, two matches
    assert report.state_rows == 4
    assert report.state_bytes > 0


def test_a_batch_of_many_events_is_kept_in_pieces(stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stretto.spark.stream.state.PIECE_ROWS", 100)
    whole = stream("QUERY q PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 s;")
    n = 950
    ts = np.arange(n)
    whole.batch(batch_of(*((int(t), "A", int(t), int(t)) for t in ts)))
    whole.runs += 1
    whole.batch(batch_of(*((n, "B", int(t), int(n + t)) for t in ts)))
    whole.batch(batch_of((5000, "C", 1, -1)))
    assert len(whole.matches) == n
    assert len(whole.store.maps[0, "chunks"]) <= 2


@pytest.mark.parametrize("spread", [Whole(), Slices(20_000, 10_000, 10_000, 2)])
def test_ids_that_come_again_are_reported(spread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 ms;")
    stream = use_folder(Stream(settings_of(plan, spread), tmp_path, Random(1)), monkeypatch)
    for start in range(0, 90, 3):
        stream.batch(batch_of(*((1000 + 3 * t, "AB"[t % 2], 1, t // 2) for t in range(start, start + 3))))
    stream.batch(batch_of((9000, "C", 1, 999)))
    assert sum(report.repeated for report in stream.metrics) == 45


STREAMS_TEXT = """CREATE STREAM calm AS SELECT k, AVG(x) AS x FROM A GROUP BY k WITHIN 4 us;
CREATE STREAM next_b AS PATTERN SEQ(calm c, B b) WHERE [k] WITHIN 6 us SELECT NEXT RETURN c.k AS k, b.x - c.x AS x;
QUERY q1 PATTERN SEQ(next_b n, calm c) WHERE [k] AND n.x < c.x WITHIN 9 us;
"""


def test_derived_streams_come_and_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = STREAMS_TEXT + "QUERY q0 PATTERN SEQ(A v, B w) WHERE [k] WITHIN 5 us;"

    def found(seed: int) -> int:
        events = random_events(Random(seed), ("A", "B"), most=30)
        sample = in_milliseconds(Sample(text, SCHEMA, events))
        return check_changes(sample, seed, tmp_path / str(seed), monkeypatch, lambda *_: Whole())

    assert sum(map(found, range(8))) > 20
