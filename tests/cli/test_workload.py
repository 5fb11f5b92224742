"""`stretto workload`: files of the papers' queries."""

from pathlib import Path

import pytest

from stretto.generate.workloads import workload


def test_a_file_that_check_accepts(call) -> None:
    result = call("workload", "motto-datacenter", "--queries", "12", "--out", "w.cep", "--seed", "3")
    assert (result.code, result.out) == (0, "w.cep: 12 queries\n")
    assert Path("w.cep").read_text() == workload("motto-datacenter", 12, 3)
    call("generate", "datacenter", "--events", "500", "--out", "e.parquet")
    checked = call("check", "w.cep", "--events", "e.parquet")
    assert checked.code == 0
    assert "12 queries, 36 definitions" in checked.out


def test_options(call) -> None:
    options = [
        "--window",
        "900 EVENTS",
        "--length",
        "4",
        "--types",
        "80",
        "--density",
        "0.3",
        "--operator",
        "and",
    ]
    call("workload", "mcep-stocks", "--queries", "20", "--out", "w.cep", *options, "--rate-difference", "0.9")
    expected = workload(
        "mcep-stocks",
        20,
        window="900 EVENTS",
        length=4,
        types=80,
        density=0.3,
        rate_difference=0.9,
        operator="and",
    )
    assert sorted(Path("w.cep").read_text().split("QUERY")[1:]) == sorted(expected.split("QUERY")[1:])


def test_trends(call) -> None:
    options = [
        "--nested",
        "1",
        "--slide",
        "5 SECONDS",
        "--group",
        "driver",
        "--adjacent",
        "0.5",
        "--measures",
        "0.5",
    ]
    stream = ["--events-per-window", "6000", "--matstates", "0.01"]
    call("workload", "muse-rides", "--queries", "20", "--out", "w.cep", *options, *stream)
    expected = workload(
        "muse-rides",
        20,
        nested=1.0,
        slide="5 SECONDS",
        group="driver",
        adjacent=0.5,
        measures=0.5,
        events_per_window=6_000,
        matstates=0.01,
    )
    assert Path("w.cep").read_text() == expected
    assert "-- events: stretto generate rides --rate 100 --rates Travel=" in expected


def test_standard_output(call) -> None:
    result = call(
        "workload", "motto-stocks", "--queries", "2", "--out", "-", "--ratio", "1", "--window-ratio", "4:1"
    )
    assert result.out == workload("motto-stocks", 2, ratio=1.0, window_ratio="4:1")
    assert result.err == "-: 2 queries\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mcep-stock"], "unknown workload `mcep-stock`, did you mean `mcep-stocks`?"),
        (["mcep-stocks", "--ratio", "0.5"], "mcep-stocks has no option `ratio`"),
        (["motto-stocks", "--level", "1"], "2 to 8 levels deep"),
        (["mcep-traffic", "--density", "0.99"], "a density of 0.99 is out of reach"),
    ],
)
def test_wrong_calls(call, arguments: list[str], message: str) -> None:
    result = call("workload", *arguments, "--queries", "50", "--out", "w.cep")
    assert result.code == 2
    assert message in result.err
    assert not Path("w.cep").exists()
