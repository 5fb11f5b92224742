"""The experiment of a stream whose rates change: it compares what its contestants found, and reports what they took."""

import json

import numpy as np
import pytest

from benchmarks import adapting
from stretto import Stats, optimize


def test_it_reports_ratios_to_the_plan_made_for_the_new_rates(tmp_path, capsys):
    assert adapting.run(tmp_path, None, ["--events", "30000", "--queries", "2", "--repeat", "1"]) == 0
    assert "planning included" in capsys.readouterr().out
    found = json.loads((tmp_path / "adapting.json").read_text())
    assert set(found["seconds"]) == {"stays", "adapts", "made for it"}
    assert found["ratios"]["made for it"] == [1.0, 1.0, 1.0]


def test_a_contestant_with_other_matches_ends_it():
    events = adapting.events_of(4000, adapting.shares("ABCD", "EF"), 0, np.random.default_rng(1))
    plans = {}
    for seed in (2, 3):  # other queries, under the same names
        workload = adapting.workload_of(3, np.random.default_rng(seed))
        plans[str(seed)] = (optimize(workload, Stats.of(events, workload=workload)), False)
    with pytest.raises(AssertionError):
        adapting.one_round(plans, events.combine_chunks().to_batches(1000))
