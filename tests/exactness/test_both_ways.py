"""Random workloads reach every call of `is_due` with both answers: the compiled loop and its twin.

A new loop that no random workload runs both ways fails here. Add a workload that reaches the loop to `CHECKS`.
"""

from collections.abc import Callable
from random import Random

import pytest
from tests.exactness import (
    test_channels,
    test_engine,
    test_join_orders,
    test_last,
    test_paired_runs,
    test_random_families,
    test_undecided,
)
from tests.support.loop_sites import Choice, Site, call_lines, recorded_choices

from stretto.engine.rows import linked_sets

ROUNDS = 60


def _waiting(seed: int) -> None:
    test_undecided.check(test_undecided.waiting_workload(Random(seed)), seed)


def _last(seed: int) -> None:
    test_engine.check(test_last.last_workload(Random(seed)), seed)


CHECKS: tuple[Callable[[int], object], ...] = (
    test_join_orders.check_short,
    test_paired_runs.test_runs_are_what_the_oracle_says,
    test_random_families.check,
    _waiting,
    test_channels.check,
)
SLOW_CHECKS: tuple[Callable[[int], object], ...] = (test_join_orders.check_long, _last)
"""These run in each tenth round."""


def _sites() -> set[Site]:
    return {site for lines in call_lines().values() for site in lines.values()}


def test_every_choice_is_made_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked_sets, "FEWEST", 2)  # nodes of runs are compacted in short streams too
    wanted: set[Choice] = {(site, due) for site in _sites() for due in (True, False)}
    with recorded_choices() as choices:
        for seed in range(ROUNDS):
            for check in (*CHECKS, *SLOW_CHECKS) if seed % 10 == 0 else CHECKS:
                check(seed)
                if choices >= wanted:
                    return
    missing = [f"{site}, {'compiled' if due else 'twin'}" for site, due in sorted(wanted - choices)]
    raise AssertionError("no random workload reaches these:\n" + "\n".join(missing))


@pytest.mark.parametrize(("way", "due"), [("compiled", True), ("twins", False)])
def test_one_way_alone_is_told_from_both(way: str, due: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_join_orders, "WAYS", (way,))
    with recorded_choices() as choices:
        test_join_orders.check_short(1)
    assert {answer for _, answer in choices} == {due}
    assert {site for site, _ in choices} < _sites()
