"""Workloads over streams longer than the engine's buffers, in many ways: what the oracle finds, in every column.

STRETTO_SIZED says how many workloads are tried, STRETTO_SEED from which seed on; `./dev fuzz --kind sized` tries
fresh ones.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from unittest import mock

import numpy as np
import pytest
from tests.fuzz.kinds import check_sized, check_trends, draw_sized, draw_trends
from tests.fuzz.sized_streams import FEWEST, Sized, sized_events, sized_workload
from tests.fuzz.tiled_trials import compare_tiled
from tests.fuzz.trials import Differs, Tally, Trial, compare
from tests.fuzz.ways import CHANGES, FEEDS, READS, Way

from stretto.engine.operators.emit import EmitOperator
from stretto.engine.results.match_chunks import MatchChunk
from stretto.engine.results.matches import Matches
from stretto.engine.run import Engine

WORKLOADS = int(os.environ.get("STRETTO_SIZED", "8"))
SEED = int(os.environ.get("STRETTO_SEED", "20261101"))
CHUNK = 2
WAYS = 5
LIGHT = (
    "QUERY one PATTERN A a WITHIN 5 us;",
    "QUERY two PATTERN SEQ(A a, B b+) WITHIN 3 us RETURN a.x + 1 AS x;",
)


@pytest.mark.parametrize("start", range(SEED, SEED + WORKLOADS, CHUNK))
def test_every_way_finds_what_the_oracle_finds(start: int) -> None:
    tally = Tally()
    for seed in range(start, min(start + CHUNK, SEED + WORKLOADS)):
        case = draw_sized(seed)
        tally.add(check_sized(case | {"ways": case["ways"][:WAYS]}))
    assert tally.comparisons > 10 * CHUNK
    assert tally.matches > 100 * CHUNK, "too few workloads find anything"


@pytest.mark.parametrize("seed", range(SEED, SEED + 6))
def test_so_do_totals_of_trends(seed: int) -> None:
    case = draw_trends(seed)
    assert check_trends(case | {"ways": case["ways"][:3]}).matches


def test_a_wrong_total_is_found() -> None:
    case = draw_trends(SEED)
    windowed = Matches.add_totals
    with (
        mock.patch.object(Matches, "add_totals", lambda self, batches: windowed(self, list(batches)[:-1])),
        pytest.raises(Differs, match="missing"),
    ):
        check_trends(case)


@pytest.mark.parametrize("seed", [1, 5])
def test_a_million_events(seed: int) -> None:
    tally = compare_tiled(seed)
    assert tally.comparisons >= 9
    assert tally.matches > 2_000_000


@pytest.mark.parametrize("change", sorted(set(CHANGES)))
@pytest.mark.parametrize("feed", sorted(set(FEEDS)))
def test_all_feeds_and_changes_meet(feed: str, change: str) -> None:
    way = Way(plan="auto", loops="compiled", feed=feed, change=change, read="copied", seed=3)
    assert compare(_light(), [way]).matches > FEWEST / 2


def _light(size: int = 1_400) -> Sized:
    return Sized((), dict(zip(("one", "two"), LIGHT, strict=True)), sized_events(Random(5), ("A", "B"), size))


# ---- what must be found --------------------------------------------------------------------------------------------


@contextmanager
def _changed(change) -> Iterator[None]:
    """Every chunk of matches that the engine makes goes through `change`."""
    made = EmitOperator._chunks

    def chunks(self: EmitOperator, *arguments, **more) -> Iterator[MatchChunk]:
        yield from map(change, made(self, *arguments, **more))

    with mock.patch.object(EmitOperator, "_chunks", chunks):
        yield


class Overwritten:
    """Starts in a buffer that serves again when it is full."""

    def __init__(self) -> None:
        self.buffer, self.end = np.zeros(1 << 9, np.int64), 0

    def __call__(self, chunk: MatchChunk) -> MatchChunk:
        if self.end + len(chunk) > len(self.buffer):
            self.end = 0
        room = self.buffer[self.end : self.end + len(chunk)]
        room[:] = chunk.start
        self.end += len(chunk)
        return replace(chunk, start=room)


@pytest.mark.parametrize("read", sorted(set(READS)))
def test_results_that_are_overwritten_later_are_found(read: str) -> None:
    way = Way(plan="none", loops="compiled", feed="batches", read=read)
    compare(_light(), [way])
    with _changed(Overwritten()), pytest.raises(Differs, match="missing"):
        compare(_light(), [way])


def test_a_change_of_what_was_returned_is_found_by_its_copy() -> None:
    way = Way(plan="none", loops="compiled", feed="batches", read="copied")
    trial = Trial(_light())
    with (
        _changed(Overwritten()),
        mock.patch("tests.fuzz.trials.difference", return_value=""),
        pytest.raises(Differs, match="changed after it was returned"),
    ):
        trial.compare(way)


@pytest.mark.parametrize("column", ["start", "end", "detected"])
def test_one_wrong_time_is_found(column: str) -> None:
    chunks = iter(range(10**6))

    def change(chunk: MatchChunk) -> MatchChunk:
        times = getattr(chunk, column).copy()
        times[-1] += next(chunks) == 20
        return replace(chunk, **{column: times})

    with _changed(change), pytest.raises(Differs, match="missing: 1\n"):
        compare(_light(), [Way(plan="none", loops="compiled", feed="batches")])


def test_a_forgotten_window_is_found() -> None:
    """An engine that comes back without its events loses matches."""

    def empty(plan, snapshot, **options):
        return Engine(plan, **options)

    way = Way(plan="none", loops="compiled", feed="batches", change="restore", seed=2)
    with mock.patch.object(Engine, "restore", empty), pytest.raises(Differs, match="missing"):
        compare(_light(), [way])


def test_a_run_that_fails_is_found() -> None:
    with (
        mock.patch.object(Engine, "snapshot", side_effect=ValueError("no")),
        pytest.raises(Differs, match="no"),
    ):
        compare(_light(), [Way(plan="none", loops="compiled", feed="batches", change="restore", seed=2)])


def test_seeds_name_workloads_for_good() -> None:
    assert sized_workload(Random(7)) == sized_workload(Random(7))
    assert draw_sized(7)["ways"] == draw_sized(7)["ways"]
