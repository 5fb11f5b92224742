"""Terms that hold together read as they were written: an OR among them stands in parentheses."""

from stretto.pattern.describe import piece_text, stream_text
from stretto.pattern.normal import normalize
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

SCHEMA = Schema({"x": Kind.INT, "y": Kind.INT}, frozenset("AB"))


def test_an_or_beside_other_terms_stands_in_parentheses() -> None:
    text = "QUERY q PATTERN SEQ(A a, B b) WHERE {} WITHIN 5 us;"
    where = "(a.x = 1 OR a.x = 2) AND a.y > 3 AND (a.x < b.x OR a.y < b.y) AND [x]"
    (query,) = Workload.parse(text.format(where)).bind(SCHEMA).detections
    (branch,) = normalize(query).branches
    shown = piece_text(branch.piece)
    assert "A[(x = 1 OR x = 2) AND y > 3]" in shown
    assert "where (0.x < 1.x OR 0.y < 1.y) AND [x]" in shown
    (alone,) = Workload.parse(text.format("a.x = 1 OR a.x = 2")).bind(SCHEMA).detections
    assert stream_text(normalize(alone).branches[0].piece.slots[0].source) == "A[x = 1 OR x = 2]"
