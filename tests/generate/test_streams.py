"""The generators: determinism, rates, shapes, and refusals."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stretto.errors import EventsError
from stretto.generate.streams import PACED, STREAMS, StreamOptions, generate, generate_batches, type_names


def times(table: pa.Table) -> np.ndarray:
    return table["ts"].cast(pa.int64()).to_numpy()


@pytest.mark.parametrize("kind", STREAMS)
def test_the_same_seed_gives_the_same_events_however_they_are_cut(kind: str) -> None:
    whole = generate(kind, 70_000, seed=5)
    cut = pa.Table.from_batches(generate_batches(kind, 70_000, StreamOptions(seed=5), batch=999))
    assert cut.combine_chunks().equals(whole)
    assert generate(kind, 1_000, seed=5).equals(whole.slice(0, 1_000).combine_chunks())
    assert not generate(kind, 1_000, seed=6).equals(whole.slice(0, 1_000).combine_chunks())


@pytest.mark.parametrize("kind", [kind for kind in STREAMS if kind not in PACED])
@pytest.mark.parametrize("rate", [10.0, 5_000.0])
def test_rate_and_order(kind: str, rate: float) -> None:
    table = generate(kind, 100_000, seed=1, rate=rate)
    us = times(table)
    assert (np.diff(us) >= 0).all()
    assert table.num_rows / ((us[-1] - us[0]) / 1e6) == pytest.approx(rate, rel=0.03)
    assert table.schema.field("type").type == pa.dictionary(pa.int32(), pa.string())
    assert table.schema.field("ts").type == pa.timestamp("us")


@pytest.mark.parametrize("kind", STREAMS)
def test_no_events(kind: str) -> None:
    assert generate(kind, 0).num_rows == 0
    assert generate(kind, 0).schema == generate(kind, 1).schema


def test_uniform_types_and_attributes() -> None:
    table = generate("uniform", 50_000, types=4, keys=7)
    counts = {row["values"]: row["counts"] for row in table["type"].value_counts().to_pylist()}
    assert sorted(counts) == ["A", "B", "C", "D"]
    assert min(counts.values()) > 12_000
    assert sorted(table["k"].unique().to_pylist()) == list(range(7))
    assert pc.min(table["x"]).as_py() >= 0
    assert pc.max(table["x"]).as_py() < 1
    assert pc.mean(table["x"]).as_py() == pytest.approx(0.5, abs=0.01)


def test_poisson_gaps() -> None:
    gaps = np.diff(times(generate("uniform", 60_000, rate=100.0))) / 1e6
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)


def test_zipf_shares() -> None:
    table = generate("zipf", 100_000, types=5, exponent=2.0)
    counts = {row["values"]: row["counts"] for row in table["type"].value_counts().to_pylist()}
    assert counts["A"] / counts["B"] == pytest.approx(4, rel=0.1)
    assert counts["A"] / counts["C"] == pytest.approx(9, rel=0.1)


def test_stock_prices_walk_per_symbol_across_blocks() -> None:
    table = generate("stocks", 140_000, types=3)
    assert sorted(table["type"].unique().to_pylist()) == ["AAPL", "INTC", "MSFT"]
    assert set(table["side"].unique().to_pylist()) == {"buy", "sell"}
    one = table.filter(pc.equal(table["type"].cast(pa.string()), "AAPL"))["price"].to_numpy()
    assert np.abs(np.diff(np.log(one))).max() < 0.01


def test_packets_go_through_their_steps_in_order() -> None:
    table = generate("datacenter", 200_000, machines=5, rate=100.0)
    frame = {name: table[name].to_pylist() for name in ("type", "packet")}
    steps: dict[int, list[str]] = {}
    for kind, packet in zip(frame["type"], frame["packet"], strict=True):
        if packet is not None:
            steps.setdefault(packet, []).append(kind)
    finished = [steps[packet] for packet in range(len(steps) - 2_000)]
    assert {tuple(s) for s in finished} == {
        ("start", "delivery", "end", "ack"),
        ("start", "delivery", "end"),
        ("start", "end", "error"),
        ("start", "end"),
    }
    no_ack = sum("ack" not in s for s in finished) / len(finished)
    assert no_ack == pytest.approx(1 - 0.97 * 0.95, abs=0.01)
    loads = table.filter(pc.is_valid(table["load"]))
    assert set(loads["type"].unique().to_pylist()) == {"cpu", "net"}
    assert loads["packet"].null_count == loads.num_rows


def test_type_names_go_on_after_z() -> None:
    assert type_names(28)[24:] == ["Y", "Z", "AA", "AB"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: generate("unifrom", 1), "unknown stream `unifrom`, did you mean `uniform`?"),
        (lambda: generate("nothing like it", 1), "known: uniform, zipf, stocks, datacenter"),
        (lambda: generate("uniform", -1), "number of events must not be negative"),
        (lambda: generate("uniform", 1, rate=0), "rate must be a positive"),
        (lambda: generate("uniform", 1, rate=float("nan")), "rate must be a positive"),
        (lambda: generate("uniform", 1, types=0), "types must be at least 1"),
        (lambda: generate("uniform", 1, seed=-1), "seed must not be negative"),
        (lambda: generate("zipf", 1, exponent=-1.0), "exponent must not be negative"),
        (lambda: generate("stocks", 1, types=14), "at most 13 symbols"),
    ],
)
def test_refusals(call, message: str) -> None:
    with pytest.raises(EventsError) as caught:
        call()
    assert message in str(caught.value)
