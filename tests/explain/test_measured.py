"""Estimates beside measurements."""

import json
import re
from dataclasses import replace

import pytest
from tests.plan.estimated import SHARED, emit, plan, without_figures

from stretto.errors import StrettoError
from stretto.explain.measured import expected_rows, measured_json, measured_text, q_error
from stretto.pattern.nodes import Stream
from stretto.plan.explanation import Measured, explanation
from stretto.plan.ops import Scan

MEASURED = Measured(
    rows=(2400, 700, 10, 0, 0, 16, 3, 3),
    seconds=(2e-5, 2e-5, 3e-3, 1e-6, 1e-6, 2e-5, 1e-4, 5e-6),
    events=5000,
    span=2.0,
    elapsed=0.25,
)


@pytest.mark.parametrize(
    ("estimated", "measured", "error"),
    [(10, 10, 1), (10, 40, 4), (40, 10, 4), (0, 0, 1), (0.01, 0, 1), (50, 0, 50), (0, 50, 50), (0.5, 2, 2)],
)
def test_q_error(estimated: float, measured: float, error: float) -> None:
    assert q_error(estimated, measured) == error


def test_text() -> None:
    assert (
        measured_text(explanation(SHARED, MEASURED))
        == """\
plan by auto: 8 operators, 2 queries; 5,000 events over 2 s
q-error of the rows of 7 operators: mean 1.34 (geometric), median 1.00, worst 3.00 at n6
CPU time of all operators 3.2 ms, estimated 3 ms; whole run 250 ms

                                 rows est.   rows  q-error  CPU est.     CPU  share
n0  scan A c0                        2,400  2,400     1.00     24 us   20 us   0.6%
n1  scan B c0                          680    700     1.03    6.8 us   20 us   0.6%
n2  join SEQ(A c0, B c1)                25     10     2.50      3 ms    3 ms    95%
n3  filter SEQ(A c0, B c1)             0.8      0     1.00    400 ns    1 us  <0.1%
n4  emit q1: SEQ(A a, B b)             0.8      0     1.00    100 ns    1 us  <0.1%
n5  scan C c0                           16     16     1.00    160 ns   20 us   0.6%
n6  join SEQ(A c0, B c1, C c2)           0      3     3.00    8.5 us  100 us   3.2%
n7  emit q2: SEQ(A a, B b, C c)          ?      3        ?         ?    5 us   0.2%
"""
    )


def test_json() -> None:
    read = json.loads(json.dumps(measured_json(explanation(SHARED, MEASURED))))
    assert read["q_error"]["worst"] == 3.0
    assert read["q_error"]["operator"] == 6
    assert read["q_error"]["median"] == 1.0
    assert read["seconds"]["estimated"] == pytest.approx(0.00304)
    assert read["operators"][2]["rows"] == {"estimated": 25.0, "measured": 10}
    assert read["operators"][2]["q_error"] == 2.5
    assert read["operators"][7]["rows"] == {"estimated": None, "measured": 3}
    assert read["operators"][7]["seconds"] == {"estimated": None, "measured": 5e-6}
    assert read["queries"] == {"q1": 4, "q2": 7}


def test_without_estimates_there_is_what_was_measured() -> None:
    found = explanation(without_figures(SHARED), MEASURED)
    text = measured_text(found)
    assert "q-error" not in text
    assert "est" not in text
    assert re.search(r"^n2  join SEQ\(A c0, B c1\) +10 +3 ms +95%$", text, re.MULTILINE)
    assert measured_json(found)["q_error"] is None


def test_the_processor_time_of_the_whole_run() -> None:
    """Estimates are processor time: operators stand beside operators, and the run with the plan."""
    found = explanation(SHARED, replace(MEASURED, worked=0.01))
    line = measured_text(found).splitlines()[2]
    assert line == (
        "CPU time of all operators 3.2 ms, estimated 3 ms;"
        " whole run 250 ms with 10 ms of CPU time, estimated 3 ms"
    )
    assert measured_json(found)["cpu_seconds"] == {"estimated": pytest.approx(0.00304), "measured": 0.01}


def test_a_span_of_zero_counts_as_a_second() -> None:
    found = explanation(SHARED, replace(MEASURED, span=0.0))
    assert found.run is not None
    assert expected_rows(found.rows[0], found.run) == 1200.0


def test_long_pieces_are_cut() -> None:
    long = plan((Scan(Stream("A" * 100)), emit("q", 0, ("a",), (0,))), "none")
    measured = replace(MEASURED, rows=(1, 1), seconds=(0.0, 0.0))
    assert f"scan {'A' * 52}...  " in measured_text(explanation(long, measured))


def test_counts_of_another_plan_are_refused() -> None:
    with pytest.raises(StrettoError, match="measured 1 operators of a plan of 8"):
        explanation(SHARED, replace(MEASURED, rows=(1,), seconds=(0.0,)))
