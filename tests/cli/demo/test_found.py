"""Looking at the matches of the demonstration."""

import pyarrow as pa
import pyarrow.parquet as pq

from stretto.cli.demo.found import TOP, DemoMatches

MINUTE = 60_000_000


def matches(count: int) -> pa.Table:
    """Matches of two queries in turn, one a minute, of rising money."""
    times = pa.array([MINUTE * i for i in range(count)], pa.timestamp("us"))
    return pa.table(
        {
            "query": pa.array([f"q{i % 2}" for i in range(count)], pa.string()),
            "match_id": pa.array([f"{count - i:032x}" for i in range(count)], pa.string()),
            "start": times,
            "end": times,
            "events": pa.array(
                [[("a", [i]), ("b", [i, i + 1])] for i in range(count)],
                pa.map_(pa.string(), pa.list_(pa.int64())),
            ),
            "returned": pa.array([f'{{"money":{1000.5 * i}}}' for i in range(count)], pa.string()),
        }
    )


def test_read_from_files_of_a_folder(tmp_path) -> None:
    pq.write_table(matches(3), tmp_path / "part-0.parquet")
    pq.write_table(matches(2), tmp_path / "part-1.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    assert DemoMatches.read(tmp_path).counts(["q0", "q1", "q2"]) == {"q0": 3, "q1": 2, "q2": 0}


def test_ids_are_in_order() -> None:
    found = DemoMatches(matches(5)).ids("q0").to_pylist()
    assert found == sorted(found)
    assert len(found) == 3


def test_pace() -> None:
    assert DemoMatches(matches(12)).pace() == [("00:00", 5), ("00:05", 5), ("00:10", 2)]


def trades(count: int) -> pa.Table:
    return pa.table(
        {
            "type": [f"S{i}" for i in range(count)],
            "price": [i + 0.5 for i in range(count)],
            "volume": [1000 * i for i in range(count)],
            "side": ["buy" if i % 2 else "sell" for i in range(count)],
        }
    )


def test_top() -> None:
    best = DemoMatches(matches(100)).top(trades(101))
    assert len(best) == TOP
    one, two = "buy 99,000 S99 at 99.50", "sell 100,000 S100 at 100.50"
    assert best[0] == ["q1", "01:39:00", "01:39:00", f"{one}, {one}, {two}", "99,050"]


def test_nothing_found() -> None:
    found = DemoMatches(matches(0))
    assert (found.counts(["q0"]), found.pace(), found.top(trades(0))) == ({"q0": 0}, [], [])
    assert len(found.ids("q0")) == 0
