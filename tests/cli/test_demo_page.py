"""The page of the demonstration: whole, escaped, and with nothing to load."""

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.support.html_page import LOADS, read

from stretto.cli.demo.page import Alone, Demo, Step, demo_page
from stretto.explain.html.picture import picture
from stretto.pattern.workload import Workload
from stretto.plan.explanation import explanation
from stretto.plan.optimize import optimize
from stretto.stats.profile import Stats

TEXT = """
QUERY two PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 s;
QUERY three PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 10 s;
QUERY "odd <name> & more" PATTERN SEQ(A a, B b, D d) WHERE a.x < b.x WITHIN 10 s;
"""
EVENTS = pa.table(
    {
        "ts": pa.array(range(0, 400_000_000, 1_000_000), pa.timestamp("us")),
        "type": ["A", "B", "C", "D"] * 100,
        "x": [float(i * 7 % 11) for i in range(400)],
    }
)


@pytest.fixture(scope="module")
def told() -> Demo:
    plan = explanation(optimize(Workload.parse(TEXT), Stats.of(EVENTS), "share"))
    return Demo(
        title="A demonstration",
        where="here & now",
        events=400,
        plan=plan,
        steps=[Step("find", "a <b> c", 1.5)],
        seconds=2.0,
        alone=Alone({"two": 3.0, "three": 5.0}, 3),
        found={"two": 1_234, "three": 0, "odd <name> & more": 5},
        top=[["two", "09:30", "09:31", "buy 5 A at 1.00, sell 6 B at 2.00", "1,000"]],
        pace=[("09:30", 3), ("09:35", 0)],
        pictured=["two", "odd <name> & more"],
        workload=TEXT,
        unshared=9.0,
    )


def test_the_page_is_whole(told: Demo) -> None:
    text = read(demo_page(told)).text
    for words in (
        "1,239",
        "a <b> c",
        "here & now",
        "odd <name> & more",
        "6xas fast as one by one",
        "2 of 3 queries ran",
        "4.5xas fast as with nothing shared",
        "buy 5 A",
        "one Spark job",
    ):
        assert words in text


def test_nothing_is_loaded_from_elsewhere(told: Demo) -> None:
    page = demo_page(told)
    assert "<script" not in page
    assert not LOADS.search(page)


def test_all_queries_one_by_one(told: Demo) -> None:
    assert Alone({"a": 1.0, "b": 2.0}, 2).all_seconds == 3.0
    assert Alone({}, 5).all_seconds == 0.0
    assert told.speedup == 6.0


def test_nothing_to_compare_with(told: Demo) -> None:
    text = read(demo_page(replace(told, alone=Alone({}, 3)))).text
    assert "one by one" not in text.replace("Together or one by one", "")


def test_the_picture_holds_what_the_queries_need(told: Demo) -> None:
    drawn = picture(told.plan, ["two"])
    needed = [row for row in told.plan.rows if "two" in row.serves]
    edges = sum(len(row.inputs) for row in needed)
    assert [box.name for box in drawn.boxes] == [row.name for row in needed]
    assert len(drawn.lines) == edges
    assert "shared" in {box.kind for box in drawn.boxes}
    assert [box.label for box in drawn.boxes if box.kind == "query"] == ["two"]


def test_a_picture_of_nothing(told: Demo) -> None:
    drawn = picture(told.plan, [])
    assert not drawn.boxes
    assert drawn.width > 0
