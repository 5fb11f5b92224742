"""The page of a plan: whole, escaped, complete, and with nothing to load."""

from base64 import b64encode
from hashlib import sha256

import pytest
from tests.explain.test_measured import MEASURED
from tests.plan.estimated import SHARED, emit, plan, without_figures
from tests.support.html_page import LOADS, Page, read

from stretto.explain.html.page import explain_page
from stretto.explain.html.sections import MOST_DRAWN
from stretto.pattern.nodes import Stream
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.explanation import Measured, explanation
from stretto.plan.ops import Op, Scan
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema
from stretto.stats.profile import Stats
from stretto.trends.work import TrendWork, UnitWork

SCHEMA = Schema({"x": Kind.INT, "s": Kind.STRING}, frozenset("ABCD"))
STATS = Stats.assumed(SCHEMA).with_rates({"A": 1.0, "B": 50.0, "C": 2.0, "D": 50.0})
TRENDS = """
QUERY one PATTERN SEQ(A a, B b+) WITHIN 100 s RETURN COUNT(*);
QUERY two PATTERN SEQ(C c, B b+) WITHIN 100 s RETURN COUNT(*);
QUERY slid PATTERN SEQ(A a, D d+)+ WITHIN 100 s SLIDE 1 s RETURN COUNT(*);
"""


def planned(text: str, optimizer: str = "auto") -> Plan:
    return optimize(Workload.parse(text), STATS, optimizer)


def cells(page: str, row: str) -> list[str]:
    """The cells of the row of a table where these words stand."""
    found = page[page.rindex("<tr", 0, page.index(row) + 3) :]
    parts = found[: found.index("</tr>")].split("<td")[1:]
    return [read(f"<i{part}</i>".replace("</td>", "")).text.strip() for part in parts]


def boxes(page: Page) -> dict[str, list[int]]:
    """The boxes of all drawings with the queries they serve."""
    found = [one for one in page.all("g") if one.get("data-node")]
    return {one["data-node"] or "": [int(n) for n in (one["data-queries"] or "").split()] for one in found}


def boxes_text(queries: tuple[str, ...], names: list[str]) -> str:
    return " ".join(str(names.index(query)) for query in queries)


def test_every_operator_is_drawn_and_told_of() -> None:
    text = explain_page(explanation(SHARED), title="Plan of it")
    page = read(text)
    assert page.text.count("Plan of it") == 2
    names = list(SHARED.queries)
    serves = {f"n{n}": [names.index(q) for q in SHARED.serves(n)] for n in range(len(SHARED.ops))}
    assert boxes(page) == serves
    rows = {row["id"]: row["data-queries"] for row in page.all("tr") if "id" in row}
    assert rows == {name: " ".join(map(str, queries)) for name, queries in serves.items()}
    lines = [(line["data-from"], line["data-to"]) for line in page.all("path")]
    assert lines == [(f"n{s}", f"n{n}") for n, op in enumerate(SHARED.ops) for s in op.inputs]
    assert [one["value"] for one in page.all("option")] == ["", "0", "1"]
    assert cells(text, '<tr id="n2"') == [
        "n2 join",
        "SEQ(A c0, B c1)",
        "2: q1, q2",
        "rule_2",
        "25",
        "3 ms",
        "99%",
    ]


def test_the_summary() -> None:
    text = read(explain_page(explanation(SHARED))).text
    for words in ("3 ms", "43 ms", "14x as much", "0.4%", "310 ms", "8", "3 for several queries"):
        assert words in text
    assert "within 0.4% of the best of the plans considered" in text


def test_queries_and_what_each_shares() -> None:
    text = explain_page(explanation(SHARED))
    assert cells(text, 'data-chooses="operators" value="0"') == ["q1", "1: q2", "5", "3", "3 ms", "1.5 ms"]


def test_without_an_estimate() -> None:
    text = read(explain_page(explanation(without_figures(SHARED)))).text
    assert "Rows and CPU time are unknown without statistics" in text
    assert "best plan" not in text


def test_what_a_run_measured() -> None:
    text = explain_page(explanation(SHARED, MEASURED))
    assert cells(text, '<tr id="n2"')[4:] == ["25", "10", "2.50", "3 ms", "3 ms", "95%"]
    assert cells(text, '<tr id="n7"')[4:] == ["", "3", "", "", "5 us", "0.2%"]
    page = read(text).text
    assert "run over 5,000 events" in page
    assert "worst 3.00 at n6" in page


HOSTILE = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a & b", "it's <b>"]


@pytest.mark.parametrize("name", HOSTILE)
def test_queries_are_data(name: str) -> None:
    quoted = name.replace("'", "''")
    text = f"""
        QUERY "{name.replace('"', '""')}" PATTERN SEQ(A a, B b) WHERE a.s = '{quoted}' WITHIN 10 s;
        QUERY t PATTERN SEQ(A a, B b+) WHERE a.s = '{quoted}' WITHIN 9 s RETURN COUNT(*);
    """
    made = planned(text)
    page = explain_page(explanation(made), title=name)
    found = read(page)
    assert {tag for tag, _ in found.elements} == KNOWN
    assert len(found.all("script")) == 1
    assert not any(key.startswith("on") for _, attributes in found.elements for key in attributes)
    assert found.text.count(name) >= 5


KNOWN = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "p",
        "div",
        "b",
        "span",
        "figure",
        "label",
    ),
    *(
        "select",
        "option",
        "button",
        "svg",
        "path",
        "a",
        "g",
        "rect",
        "text",
        "table",
        "tr",
        "th",
        "td",
        "code",
    ),
    *("details", "summary", "pre", "script"),
}


def test_nothing_is_loaded_and_one_script_is_run() -> None:
    text = explain_page(explanation(planned(TRENDS)))
    page = read(text)
    assert not LOADS.search(text)
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv")]
    script = page.code[-1]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert "addEventListener" in script


def test_trends() -> None:
    made = planned(TRENDS)
    assert made.trends is not None
    found = explanation(made)
    page = read(explain_page(found))
    names = list(found.queries)
    assert sorted(names) == sorted(query.name for query in made.trends.queries)
    assert boxes(page) == {row.name: [names.index(query) for query in row.serves] for row in found.rows}
    assert len(found.rows) == len(made.trends.nodes) + len(made.trends.units)
    lines = [(line["data-from"], line["data-to"], line["data-queries"]) for line in page.all("path")]
    edges = [
        (edge, boxes_text(tuple(query for queries in edge.parted for query in queries), names))
        for edge in found.edges
    ]
    assert lines[-len(edges) :] == [(f"n{edge.source}", f"n{edge.target}", own) for edge, own in edges]
    assert lines[: -len(edges)] == [
        (f"n{source}", row.name, boxes_text(row.serves, names)) for row in found.rows for source in row.inputs
    ]
    assert [option.get("value") for option in page.all("option")] == ["", *map(str, range(len(names)))]
    assert "shared matpoint" in {box.get("class") for box in page.all("g")}
    assert "(one, two)" in page.text
    assert "2 queries from B" in page.text
    assert "its windows from" in page.text


def test_trends_that_were_run() -> None:
    made = planned(TRENDS)
    assert made.trends is not None
    work = TrendWork((10, 600, 40, 5), tuple(UnitWork(650, 3e-3, 31, 9, 10) for _ in made.trends.units))
    found = explanation(made, Measured((), (), 700, 10.0, 0.25, work, {"one": 1234}))
    text = explain_page(found)
    (b,) = (row for row in found.rows if row.piece == "B")
    assert cells(text, f'<tr id="{b.name}"') == [
        *(f"{b.name} events", "B", "2: one, two", "merge_streams", "500", "600", "1.20", "", "-", "-"),
    ]
    assert "1,234" in read(text).text
    assert "90%" in read(text).text


def wide(count: int) -> Plan:
    ops: list[Op] = [Scan(Stream("A")), *(emit(f"q{i}", 0, ("a",), (0,)) for i in range(count))]
    return plan(tuple(ops), "none")


def test_of_a_huge_plan_as_much_is_drawn_as_can_be_looked_at() -> None:
    page = read(explain_page(explanation(wide(MOST_DRAWN + 10))))
    assert len(boxes(page)) == MOST_DRAWN
    assert "11 more queries: too many to draw" in page.text
    rows = [row for row in page.all("tr") if "id" in row]
    assert len(rows) == MOST_DRAWN + 11
    assert "more queries: too many" not in read(explain_page(explanation(wide(300)))).text
