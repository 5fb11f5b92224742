"""Plans as flowcharts."""

import re

import pytest
from tests.plan.estimated import SHARED, emit, plan, without_figures

from stretto.explain.mermaid import LONGEST, to_mermaid
from stretto.pattern.nodes import Stream
from stretto.plan.dag import Plan
from stretto.plan.explanation import explanation
from stretto.plan.ops import Op, Scan

HEAD = ["flowchart TD", "    classDef shared fill:#fff3c4,stroke:#b7791f,stroke-width:2px,color:#1a202c"]
NODE = re.compile(r'    \w+(\(\[|\[\[|\[)"[^"\n]*"(\]\)|\]\]|\])(:::shared)?')
EDGE = re.compile(r'    n\d+ -->(\|"[^"\n]*"\|)? n\d+')


def test_nodes_edges_and_figures() -> None:
    assert to_mermaid(explanation(SHARED)).splitlines() == [
        *HEAD,
        '    n0(["scan for 2 queries<br/>A c0<br/>2,400 rows, 24 us, 0.8%"]):::shared',
        '    n1(["scan for 2 queries<br/>B c0<br/>680 rows, 6.8 us, 0.2%"]):::shared',
        '    n2["join for 2 queries<br/>SEQ(A c0, B c1)<br/>25 rows, 3 ms, 99%"]:::shared',
        '    n0 -->|"2,400 rows"| n2',
        '    n1 -->|"680 rows"| n2',
        '    n3["filter<br/>SEQ(A c0, B c1)<br/>0.8 rows, 400 ns, #lt;0.1%"]',
        '    n2 -->|"25 rows"| n3',
        '    n4[["emit q1<br/>SEQ(A a, B b)<br/>0.8 rows, 100 ns, #lt;0.1%"]]',
        '    n3 -->|"0.8 rows"| n4',
        '    n5(["scan<br/>C c0<br/>16 rows, 160 ns, #lt;0.1%"])',
        '    n6["join<br/>SEQ(A c0, B c1, C c2)<br/>0 rows, 8.5 us, 0.3%"]',
        '    n2 -->|"25 rows"| n6',
        '    n5 -->|"16 rows"| n6',
        '    n7[["emit q2<br/>SEQ(A a, B b, C c)"]]',
        '    n6 -->|"0 rows"| n7',
    ]


def test_without_an_estimate_there_are_no_figures() -> None:
    text = to_mermaid(explanation(without_figures(SHARED)))
    assert '    n2["join for 2 queries<br/>SEQ(A c0, B c1)"]:::shared\n    n0 --> n2\n' in text
    assert "|" not in text


@pytest.mark.parametrize(
    "name", ['say "A"', "a#b;", "<b>&amp;</b>", "`tick`", "two\nlines", "end", "]]", "\x1b[2J\x0b\u2028"]
)
def test_names_of_all_kinds_keep_it_valid(name: str) -> None:
    odd = plan((Scan(Stream(name)), emit(name, 0, (name,), (0,))), "none")
    lines = to_mermaid(explanation(odd)).splitlines()
    assert lines[:2] == HEAD
    assert all(NODE.fullmatch(line) or EDGE.fullmatch(line) for line in lines[2:])


def queries(count: int, name: str = "T") -> Plan:
    ops: list[Op] = [Scan(Stream(name))]
    for number in range(count):
        ops.append(emit(f"q{number}", 0, ("a",), (0,)))
    return plan(tuple(ops), "none")


def test_long_pieces_are_cut() -> None:
    lines = to_mermaid(explanation(queries(1, "T" * 500))).splitlines()
    assert f"{'T' * (LONGEST - 3)}..." in lines[2]
    assert all(len(line) < LONGEST + 40 for line in lines)


def test_of_a_large_plan_as_much_is_drawn_as_mermaid_takes() -> None:
    assert "too large" not in to_mermaid(explanation(queries(500)))
    by_edges = to_mermaid(explanation(queries(501))).splitlines()
    assert by_edges[-1] == '    more["1 more query: too large to draw, see EXPLAIN as text or JSON"]'
    assert sum(" --> " in line for line in by_edges) == 500
    by_text = to_mermaid(explanation(queries(400, "T" * 150)))
    assert len(by_text) <= 50_000
    assert re.search(r'more\["\d+ more queries: too large to draw', by_text)
