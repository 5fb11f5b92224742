"""Counts of a short stretch stand for those of a stream whose windows are full."""

from itertools import pairwise

import numpy as np
import pytest

from stretto.engine.planning import optimize
from stretto.engine.trial import Tryout
from stretto.generate.streams import generate
from stretto.pattern.workload import Workload
from stretto.plan.trials.full_windows import LEAST_SEEN, FullWindows, share_seen
from stretto.stats.profile import Stats

RATE = 1_000.0
WINDOW_EVENTS = 2_000


@pytest.mark.parametrize("events", [2, 3, 4])
@pytest.mark.parametrize("windows", [0.8, 1.0, 1.7, 4.0])
def test_the_share_is_that_of_times_drawn_at_random(events: int, windows: float) -> None:
    drawn = np.random.default_rng(7).uniform(0, windows, (400_000, events))
    inside = np.mean(np.ptp(drawn, axis=1) <= 1.0)
    # Of times of which the first is anywhere in the stretch and the others are within a window of it and each other.
    full = events / windows ** (events - 1)
    assert share_seen(events, windows) == pytest.approx(inside / full, rel=0.03)


def test_more_windows_show_more_and_single_events_are_all_seen() -> None:
    shares = [share_seen(5, windows) for windows in (0.01, 0.5, 0.99, 1.0, 1.01, 2.0, 100.0)]
    assert all(one <= more for one, more in pairwise(shares))
    assert shares[0] == LEAST_SEEN
    assert shares[-1] == pytest.approx(1.0, abs=0.01)
    assert share_seen(1, 0.01) == 1.0


def test_rows_of_a_window_and_a_half_stand_for_those_of_many() -> None:
    events = generate("zipf", 20 * WINDOW_EVENTS, 1, RATE, types=8)
    workload = Workload.parse("QUERY q PATTERN SEQ(E a, F b, G c) WITHIN 2 SECONDS;")
    stats = Stats.of(events)
    plan = optimize(workload, stats, "none")
    short = WINDOW_EVENTS * 3 // 2
    *_, many = Tryout(events)(plan)
    *_, few = Tryout(events.slice(0, short))(plan)
    filled = FullWindows(plan, short, stats.total_rate).filled(few, few.events)
    each = many.rows[-1] / many.events
    assert few.rows[-1] / short < 0.75 * each
    assert filled.rows[-1] / short == pytest.approx(each, rel=0.25)
