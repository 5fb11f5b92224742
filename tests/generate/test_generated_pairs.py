"""Each generated workload over the stream that its file names: `run` after `generate` and `workload` has an end."""

import pytest

from stretto import run
from stretto.generate.motto_workload import MottoOptions
from stretto.generate.rumor_workload import RumorOptions
from stretto.generate.streams import generate
from stretto.generate.workloads import KINDS, workload

EVENTS, QUERIES = 10_400, 20
PER_EVENT = 40
"""Matches of 20 queries for each event, at most."""


@pytest.mark.filterwarnings("ignore::stretto.errors.StrettoWarning")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("muse")])
@pytest.mark.parametrize("seed", [0, 1])
def test_twenty_queries_have_a_sane_number_of_matches(kind: str, seed: int) -> None:
    events = generate(KINDS[kind].stream, EVENTS, seed)
    matches = run(workload(kind, QUERIES, seed), events, optimizer="none")
    assert len(matches) <= PER_EVENT * EVENTS


def test_defaults_that_the_benchmarks_set_themselves() -> None:
    """A change of these changes what `stretto bench` measures where it relies on them."""
    assert MottoOptions().window == "10 SECONDS"
    assert (RumorOptions().zipf, RumorOptions().constants, RumorOptions().window) == (1.5, 1_000, None)
