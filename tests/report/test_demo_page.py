"""The page of the demonstration: whole, escaped, and with nothing to load."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pyarrow as pa
import pytest

from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize
from stretto.report.demo_page import Alone, Demo, Step, demo_page
from stretto.report.picture import picture
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
    plan = optimize(Workload.parse(TEXT), Stats.of(EVENTS), "share")
    return Demo(
        title="A demonstration",
        where="here & now",
        events=400,
        plan=plan,
        steps=[Step("find", "a <b> c", 1.5)],
        seconds=2.0,
        alone=Alone({"two": 3.0, "three": 5.0}, 3),
        found={"two": 1_234, "three": 0, "odd <name> & more": 5},
        top=[["two", "09:30", "09:31", "a=1 b=2", "1,000"]],
        pace=[("09:30", 3), ("09:35", 0)],
        pictured=["two", "odd <name> & more"],
        workload=TEXT,
    )


class Reader(HTMLParser):
    """Open elements, and whether every one was closed."""

    VOID = ("meta", "br", "path", "rect")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs) -> None:
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def test_the_page_is_whole(told: Demo) -> None:
    text = read(demo_page(told)).text
    for words in ("1,239", "a <b> c", "here & now", "odd <name> & more", "6.0 times", "2 of 3 queries ran"):
        assert words in text


def test_nothing_is_loaded_from_elsewhere(told: Demo) -> None:
    assert not re.search(r"https?://|<script|<link|<img|@import|url\(", demo_page(told))


def test_all_queries_one_by_one(told: Demo) -> None:
    assert Alone({"a": 1.0, "b": 2.0}, 2).all_seconds == 3.0
    assert Alone({}, 5).all_seconds == 0.0
    assert told.speedup == 6.0


def test_nothing_to_compare_with(told: Demo) -> None:
    text = read(demo_page(replace(told, alone=Alone({}, 3)))).text
    assert "one by one" not in text.replace("Together or one by one", "")


def test_the_picture_holds_what_the_queries_need(told: Demo) -> None:
    drawn = picture(told.plan, ["two"])
    needed = [n for n in range(len(told.plan.ops)) if "two" in told.plan.serves(n)]
    edges = sum(len(told.plan.ops[n].inputs) for n in needed)
    assert (drawn.count("<rect"), drawn.count("<path")) == (len(needed), edges)
    assert 'class="shared"' in drawn
    assert "three" not in drawn


def test_a_picture_of_nothing(told: Demo) -> None:
    assert "<rect" not in picture(told.plan, [])
