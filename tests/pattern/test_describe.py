import pytest

from stretto.pattern.describe import (
    duration_text,
    piece_text,
    stream_key,
    stream_text,
    term_text,
    window_text,
)
from stretto.pattern.nodes import Stream, Window
from stretto.pattern.order import Order
from stretto.pattern.piece import Piece, Slot
from stretto.pattern.predicates import Apply, Ref
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.FLOAT, "n": Kind.INT, "s": Kind.STRING, "f": Kind.BOOL})


@pytest.mark.parametrize(
    "text",
    [
        "a.x < b.x",
        "a.x - (b.x - 1) > a.x - b.x - 1",
        "(a.x + 1) * 2 = -b.x",
        "a.n > 1 OR a.f AND NOT b.f",
        "(a.n > 1 OR a.f) = b.f",
        "a.s IN ('it''s', 'b') OR a.s IS NULL",
        "b.ts - a.ts <= 5m",
        "LEAST(a.n, b.n) % 2 = 1",
        "FIRST(b).x < LAST(b).x + SUM(b.x)",
        "b[i].n > b[i-1].n",
        "COUNT(b) = 3",
        "a.s IS NOT NULL",
        "(a.s IS NOT NULL) = b.f",
    ],
)
def test_terms_read_as_written(text: str) -> None:
    written = text.replace("5m", "5 min")
    workload = Workload.parse(f"QUERY q PATTERN SEQ(A a, B b+) WHERE ({written}) WITHIN 1 s;")
    (query,) = workload.bind(SCHEMA).detections
    assert " AND ".join(term_text(term, ["a", "b"]) for term in query.terms) == text


def test_columns_without_names_are_numbers() -> None:
    (query,) = Workload.parse("QUERY q PATTERN A a WHERE a.n > 1 WITHIN 1 s;").bind(SCHEMA).detections
    assert term_text(query.terms[0]) == "0.n > 1"
    assert stream_text(Stream("A", query.terms)) == "A[n > 1]"


def test_an_or_among_terms_is_in_parentheses() -> None:
    where = "[s] AND a.x > 1 AND (a.x > 2 OR a.f) AND (b.n = 1 OR a.f)"
    text = f"QUERY q PATTERN SEQ(A a, B b) WHERE {where} WITHIN 1 s;"
    (detection,) = Workload.parse(text).bind(SCHEMA).normal_forms()
    (branch,) = detection.branches
    shown = piece_text(branch.piece, [detection.variables[i] for i in branch.columns])
    assert shown == "SEQ(A[x > 1 AND (x > 2 OR f)] a, B b) where (b.n = 1 OR a.f) AND [s] within 1s"


def test_a_key_is_not_null() -> None:
    key = Apply("=", (Ref(0, "s", Kind.STRING), Ref(0, "s", Kind.STRING)), Kind.BOOL)
    assert stream_text(Stream("A", (key,))) == "A[s IS NOT NULL]"


def test_keys_of_statistics_stay_as_they_are() -> None:
    """Files of statistics know terms by them."""
    (query,) = Workload.parse("QUERY q PATTERN A a WHERE a.x > 1 OR a.f WITHIN 1 s;").bind(SCHEMA).detections
    key = Apply("=", (Ref(0, "s", Kind.STRING), Ref(0, "s", Kind.STRING)), Kind.BOOL)
    assert stream_key(Stream("A", (*query.terms, key))) == "A[x > 1.0 OR f AND s = s]"


def test_windows() -> None:
    assert window_text(Window(90_000_000)) == "90s"
    assert window_text(Window(7, "events")) == "7 events"
    assert [duration_text(us) for us in (0, 1500, 2_000_000, 7_200_000_000)] == ["0us", "1500us", "2s", "2h"]


def test_an_order_that_is_no_nesting_is_spelled_out() -> None:
    slots = tuple(Slot(Stream(kind)) for kind in "ABCD")
    piece = Piece(slots, Order.of(((0, 2), (1, 2), (1, 3))), (), (), (), Window(1))
    assert piece_text(piece) == "AND(A, B, C, D) ordered 0<2, 1<2, 1<3 within 1us"
