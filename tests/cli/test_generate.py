"""`stretto generate`: files of the papers' event streams."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from stretto.generate.streams import generate


def test_a_file(call) -> None:
    result = call(
        "generate", "uniform", "--events", "1000", "--out", "e.parquet", "--seed", "7", "--rate", "5"
    )
    assert (result.code, result.out) == (0, "e.parquet: 1,000 events\n")
    expected = generate("uniform", 1000, seed=7, rate=5.0)
    assert pq.read_table("e.parquet").to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.arrow"])
def test_what_is_written_can_be_read(call, name: str) -> None:
    call("generate", "datacenter", "--events", "500", "--out", name, "--machines", "3")
    Path("q.cep").write_text("QUERY q PATTERN SEQ(start s, end e) WHERE s.packet = e.packet WITHIN 1 SECOND;")
    assert call("check", "q.cep", "--events", name).code == 0


def test_options(call) -> None:
    call(
        "generate",
        "zipf",
        "--events",
        "5000",
        "--out",
        "z.parquet",
        "--types",
        "3",
        "--keys",
        "2",
        "--exponent",
        "3",
    )
    expected = generate("zipf", 5000, types=3, keys=2, exponent=3.0)
    assert pq.read_table("z.parquet").to_pylist() == expected.to_pylist()


def test_rates_of_single_types(call) -> None:
    call(
        "generate",
        "rides",
        "--events",
        "300",
        "--out",
        "r.parquet",
        "--rates",
        "Travel=9,Pay=1",
        "--drivers",
        "5",
    )
    expected = generate("rides", 300, rates={"Travel": 9.0, "Pay": 1.0}, drivers=5)
    assert pq.read_table("r.parquet").to_pylist() == expected.to_pylist()


def test_standard_output(call) -> None:
    result = call("generate", "stocks", "--events", "3", "--out", "-")
    assert result.out.count("\n") == 3
    assert result.err == "-: 3 events\n"


def test_no_events(call) -> None:
    assert call("generate", "stocks", "--events", "0", "--out", "e.parquet").code == 0
    assert pq.read_table("e.parquet").num_rows == 0
    assert "price" in pq.read_table("e.parquet").column_names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["unifrom", "--events", "1", "--out", "e.csv"], "unknown stream `unifrom`, did you mean `uniform`?"),
        (["uniform", "--events", "1", "--out", "e.xls"], "unknown ending '.xls'"),
        (["uniform", "--events", "1", "--out", "no/e.csv"], "there is no folder"),
        (["uniform", "--events", "1", "--out", "e.csv", "--rate", "0"], "rate must be a positive"),
        (["stocks", "--events", "1", "--out", "e.csv", "--types", "99"], "at most 13 symbols"),
        (["rides", "--events", "1", "--out", "e.csv", "--rates", "Travel:9"], "write `Travel=95,Pool=0.5`"),
    ],
)
def test_wrong_calls(call, arguments: list[str], message: str) -> None:
    before = sorted(Path().iterdir())
    result = call("generate", *arguments)
    assert result.code == 2
    assert message in result.err
    assert sorted(Path().iterdir()) == before
