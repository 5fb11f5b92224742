"""The Python face: every call takes what is at hand, and says in a sentence what it cannot take."""

import subprocess
import sys
import warnings
from datetime import datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stretto
from stretto import SEQ, E

TEXT = "QUERY rise PATTERN SEQ(A a, B b+) WHERE a.x < b.x WITHIN 10 SECONDS RETURN a.x AS x, a.s AS s;"
SECOND = 1_000_000
EVENTS = pa.table(
    {
        "ts": pa.array([0, SECOND, 2 * SECOND], pa.timestamp("us")),
        "type": ["A", "B", "B"],
        "x": [1.0, 2.0, 3.0],
        "s": ["<b>", None, "é"],
    }
)


def forms_of_events(folder: Path) -> dict:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pq.write_table(EVENTS, folder / "e.parquet")
    del pandas
    return {
        "arrow": EVENTS,
        "batches": EVENTS.to_batches(),
        "pandas": EVENTS.to_pandas(),
        "polars": polars.from_arrow(EVENTS),
        "polars categories": polars.from_arrow(EVENTS).with_columns(
            polars.col("type").cast(polars.Categorical)
        ),
        "columns": {name: EVENTS[name] for name in EVENTS.column_names},
        "path": folder / "e.parquet",
    }


def test_every_form_of_events(tmp_path: Path) -> None:
    for name, events in forms_of_events(tmp_path).items():
        assert stretto.run(TEXT, events).counts() == {"rise": 3}, name
        if name != "path":
            assert stretto.Stats.of(events).events == 3, name


def test_every_form_of_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "rules.cep"
    path.write_text(TEXT)
    read = stretto.Workload.read(path)
    plan = stretto.optimize(path, EVENTS)
    built = stretto.query("rise", SEQ(E("A", "a"), E("B", "b").plus())).where("a.x < b.x").within(10)
    for workload in (TEXT, path, read, plan, built):
        assert stretto.run(workload, EVENTS).counts() == {"rise": 3}
        assert "emit rise" in stretto.explain(workload, EVENTS)
    assert stretto.explain(TEXT, format="mermaid").startswith("flowchart")
    assert "<svg" in stretto.explain(plan, format="html")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: stretto.run(7, EVENTS), TypeError, "a workload is a stretto.Workload, .* not int"),
        (lambda: stretto.run("rules.cep", EVENTS), stretto.StrettoError, r"give pathlib.Path\('rules.cep'\)"),
        (lambda: stretto.run(TEXT, 7), stretto.EventsError, "events are an Arrow table .* not int"),
        (lambda: stretto.run(TEXT, "trades"), stretto.EventsError, "not a text"),
        (lambda: stretto.run(TEXT, [1, 2]), stretto.EventsError, "this list is no table"),
        (lambda: stretto.run(TEXT, EVENTS)["rize"], KeyError, "did you mean `rise`"),
        (lambda: stretto.run(TEXT, EVENTS)[3], IndexError, "there are 3 matches"),
        (
            lambda: stretto.run(TEXT, EVENTS, ts_unit="h"),
            stretto.StrettoError,
            "ts_unit is one of s, ms, us, ns",
        ),
        (lambda: stretto.run(TEXT, EVENTS)[1.5], TypeError, "a number or a slice, not float"),
        (
            lambda: stretto.run(TEXT, EVENTS, special=3),
            TypeError,
            "special= is a stretto.Special, .* not int",
        ),
        (lambda: stretto.optimize(TEXT, EVENTS, 5), TypeError, "optimizer= is a name .* not int"),
        (lambda: stretto.optimize(TEXT, EVENTS, budget="2 s"), TypeError, "budget= is a number of seconds"),
        (
            lambda: stretto.Engine(TEXT),
            TypeError,
            r"a stretto.Plan, as stretto.optimize\(.*\) makes it, not str",
        ),
        (lambda: stretto.Engine(stretto.optimize(TEXT, EVENTS)).push(3), stretto.EventsError, "not int"),
        (lambda: stretto.Workload.parse(Path("a")), TypeError, r"not PosixPath; Workload.read\(path\) reads"),
        (lambda: stretto.Workload().add(3), TypeError, r"text, stretto.query\(..\), .* not int"),
        (lambda: stretto.Schema.of(3), stretto.EventsError, "that of Arrow columns .* not int"),
        (lambda: E(3), TypeError, "a name is a text, not int"),
        (lambda: stretto.query(3, E("A", "a")), TypeError, "a name is a text, not int"),
    ],
)
def test_a_wrong_kind_gets_a_sentence(call, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(stretto.StrettoWarning, match="unknown type `Bb`"):
        stretto.run("QUERY q PATTERN SEQ(A a, Bb b) WITHIN 1 SECOND;", EVENTS)
    with pytest.warns(
        stretto.StrettoWarning, match=r"none of the 2 events of type `B` .* passes `B\[x > 9\]`"
    ):
        stretto.optimize("QUERY q PATTERN SEQ(A a, B b) WHERE b.x > 9.0 WITHIN 1 SECOND;", EVENTS)
    many = pa.table({"ts": pa.array(np.arange(4000) * 1000, pa.timestamp("us")), "type": np.arange(4000) % 3})
    many = many.set_column(1, "type", pa.array(["A", "B", "C"]).take(many["type"]))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        monkeypatch.setattr("stretto.face.calls.default_memory_bytes", lambda: 1 << 30)
        stretto.optimize("QUERY q PATTERN SEQ(A a, B b, C c) WITHIN 2 SECONDS;", many)
    assert "matches expected of 4,000 events" in str(said[0].message)
    assert "GiB are allowed" in str(said[1].message)


@pytest.mark.parametrize("window", ["9 us", "1 HOUR"])
def test_events_of_a_short_time_are_not_expected_to_match_for_a_second(window: str) -> None:
    times = pa.array(range(40), pa.timestamp("us"))
    short = pa.table({"ts": times, "type": pa.array(["A", "B"]).take(np.arange(40) % 2)})
    stretto.run(f"QUERY q PATTERN SEQ(A a, B b) WITHIN {window};", short)  # a warning would fail the test


def test_warnings_point_to_the_caller() -> None:
    many = pa.table(
        {"ts": np.arange(4000) + 1_700_000_000, "type": pa.array(["A", "B"]).take(np.arange(4000) % 2)}
    )
    text = "QUERY q PATTERN SEQ(A a, Bb b, A c) WITHIN 3 MINUTES; QUERY r PATTERN SEQ(A a, B b, A c) WITHIN 3 MINUTES;"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stretto.optimize(text, many)
        stretto.run(text, many)
    assert {warning.filename for warning in said} == {__file__}
    first = [str(warning.message) for warning in said[: len(said) // 2]]
    for what in ("read as seconds", "unknown type `Bb`", "matches expected of 4,000 events"):
        assert any(what in message for message in first)


def test_integers_as_times() -> None:
    for unit, factor in (("s", 1), ("ms", 1_000), ("us", SECOND), ("ns", 1_000 * SECOND)):
        times = pa.array([(1_700_000_000 + i) * factor for i in range(3)])
        table = EVENTS.set_column(0, "ts", times)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            (first, *_) = stretto.run(TEXT, table)
        assert (unit == "us") == (not said)
        assert first["start"].isoformat() == "2023-11-14T22:13:20"
        assert len(stretto.run(TEXT, table, ts_unit=unit)) == 3
    with pytest.raises(stretto.EventsError, match="not clear in which unit"):
        stretto.run(TEXT, EVENTS.set_column(0, "ts", pa.array([1, 2, 3])))


def test_matches_as_rows_and_frames() -> None:
    matches = stretto.run(TEXT, EVENTS)
    rows = list(matches)
    assert [row["events"] for row in rows] == [
        {"a": [0], "b": [1]},
        {"a": [0], "b": [2]},
        {"a": [0], "b": [1, 2]},
    ]
    assert rows[0]["returned"] == {"x": 1.0, "s": "<b>"}
    assert matches[0] == rows[0]
    assert matches[-1] == rows[-1]
    assert matches[1:] == rows[1:]
    assert matches[::-1] == rows[::-1]
    assert list(matches.to_pandas()["query"]) == ["rise"] * 3
    assert matches.to_polars().height == 3


@pytest.mark.parametrize("longest", ["10 seconds", timedelta(seconds=10), 10, 10.0])
def test_windows(longest) -> None:
    query = stretto.query("q", SEQ(E("A", "a"), E("B", "b"))).within(longest)
    assert "WITHIN 10 SECONDS" in stretto.Workload().add(query).to_text().replace("WITHIN  ", "WITHIN ")


@pytest.mark.parametrize("wrong", [None, True, float("nan"), float("inf"), 0, -1])
def test_windows_that_are_none(wrong) -> None:
    with pytest.raises(stretto.QueryError):
        stretto.query("q", SEQ(E("A", "a"), E("B", "b"))).within(wrong)


class Balanced(HTMLParser):
    """Every tag that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_what_a_notebook_shows() -> None:
    workload = stretto.Workload.parse(TEXT)
    stats = stretto.Stats.of(EVENTS, workload=workload)
    plan = stretto.optimize(workload, stats)
    matches = stretto.run(plan, EVENTS)
    shown = {
        repr(workload): "<Workload: 1 query>",
        repr(stats): "<Stats: 3 events in 2 s, 2 types, 2 attributes>",
        repr(plan): f"<Plan by auto: 1 query, {len(plan.ops)} operators>",
        repr(matches): "<Matches: 3 of 1 query>",
        repr(stretto.Engine(plan)): f"<Engine of {plan!r}>",
        repr(stretto.Schema.of(EVENTS)): "<Schema: x double, s string>",
    }
    assert list(shown) == list(shown.values())
    bundle = plan._repr_mimebundle_()
    assert bundle["text/plain"].startswith(plan.explain()[:40])
    for page in (workload._repr_html_(), stats._repr_html_(), matches._repr_html_(), bundle["text/html"]):
        parser = Balanced()
        parser.feed(page)
        assert not parser.open
        assert "<b>" not in page
    assert "<td>a=0 b=1,2</td><td>x=1.0 s=&lt;b&gt;</td>" in matches._repr_html_()
    assert "SEQ(A a, B b+)" in workload._repr_html_()


def test_the_public_names() -> None:
    assert set(stretto.__all__) <= set(dir(stretto))
    for name in stretto.__all__:
        assert getattr(stretto, name) is not None
    assert callable(stretto.explain)


def test_importing_loads_little() -> None:
    heavy = "{'numpy', 'pyarrow', 'numba', 'pyspark', 'pandas'}"
    code = f"import sys, stretto; print(*sorted({{m.split('.')[0] for m in sys.modules}} & {heavy}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"


def test_times_and_durations_are_pythons_own() -> None:
    text = "QUERY q PATTERN SEQ(A a, B b*) WITHIN 1 MINUTE RETURN a.ts AS at, LAST(b).ts - a.ts AS took, b.*;"
    table = pa.table(
        {
            "ts": pa.array([1, 3], pa.timestamp("s")),
            "type": ["A", "B"],
            "spent": pa.array([None, 5], pa.duration("us")),
        }
    )
    alone, both = sorted(stretto.run(text, table), key=lambda match: len(match["events"]))
    begun, ended = (datetime(1970, 1, 1, 0, 0, second) for second in (1, 3))  # noqa: DTZ001
    assert alone["returned"] == {"at": begun, "took": None, "b.*": None}
    spent = timedelta(microseconds=5)
    assert both["returned"] == {
        "at": begun,
        "took": timedelta(seconds=2),
        "b.*": [{"ts": ended, "spent": spent}],
    }


def test_what_is_built_shows_its_text() -> None:
    a, b = stretto.E("A", "a"), stretto.E("B", "b")
    built = stretto.query("q", stretto.SEQ(a, b.plus())).where(a.x < 3)
    assert repr(a) == "<A a>"
    assert repr(a.x < 3) == "<a.x < 3>"
    assert repr(stretto.SEQ(a, b.plus())) == "<SEQ(A a, B b+)>"
    assert repr(built) == "<query q: SEQ(A a, B b+), without a window yet>"
    assert repr(built.within(5)) == "<QUERY q PATTERN SEQ(A a, B b+) WHERE a.x < 3 WITHIN 5 SECONDS;>"
