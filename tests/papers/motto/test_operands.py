"""Pieces divided into levels, as MOTTO divides nested queries."""

from tests.memo.rule_cases import memo_of

from stretto.memo.memo import Memo
from stretto.papers.motto.operands import Operands, levels
from stretto.pattern.describe import piece_text
from stretto.pattern.project import project


def divided(pattern: str) -> list[str]:
    """The levels of a query of one branch, inner ones first, as `WORD(types of each operand)`."""
    memo = memo_of(f"QUERY q PATTERN {pattern} WITHIN 10 s;")
    (number,) = memo.cores()
    return [text(memo, level) for level in levels(memo, number)]


def text(memo: Memo, level: Operands) -> str:
    piece = memo.pieces[level.owner]
    operands = (piece_text(project(piece, slots)).removesuffix(" within 10s") for slots in level.slots)
    return f"{level.word}({', '.join(operands)})"


def test_one_level() -> None:
    assert divided("SEQ(A, B, C)") == ["SEQ(A, B, C)"]
    assert divided("AND(C, A, B)") == ["AND(A, B, C)"]


def test_nested_operators_of_one_kind_are_one_level() -> None:
    assert divided("SEQ(A, SEQ(B, C), D)") == ["SEQ(A, B, C, D)"]
    assert divided("AND(A, AND(C, B))") == ["AND(A, B, C)"]


def test_table_2() -> None:
    """q12, and the branches of q11, whose disjunction is split off before."""
    assert divided("SEQ(E1, CONJ(E2 & E3))") == ["AND(E2, E3)", "SEQ(E1, AND(E2, E3))"]
    memo = memo_of("QUERY q11 PATTERN SEQ(E1, DISJ(E4 | E5), CONJ(E2 & E3)) WITHIN 10 s;")
    assert [[text(memo, level) for level in levels(memo, number)] for number in memo.cores()] == [
        ["AND(E2, E3)", "SEQ(E1, E4, AND(E2, E3))"],
        ["AND(E4, E5)", "AND(E2, E3)", "SEQ(E1, AND(E4, E5), AND(E2, E3))"],
        ["AND(E2, E3)", "SEQ(E1, E5, AND(E2, E3))"],
    ]


def test_deep_nesting() -> None:
    assert divided("AND(A, SEQ(B, AND(C, SEQ(D, E))))") == [
        "SEQ(D, E)",
        "AND(C, SEQ(D, E))",
        "SEQ(B, AND(C, SEQ(D, E)))",
        "AND(A, SEQ(B, AND(C, SEQ(D, E))))",
    ]


def test_equal_operands_have_equal_keys() -> None:
    memo = memo_of(
        "QUERY q PATTERN SEQ(A a, AND(B b, C c)) WHERE a.n = 1 WITHIN 10 s;"
        "QUERY r PATTERN SEQ(AND(C u, B v), A w) WHERE w.n = 1 WITHIN 20 s;"
        "QUERY s PATTERN SEQ(AND(C u, B v), A w) WITHIN 20 s;"
    )
    one, two, three = (levels(memo, number)[-1].keys for number in memo.cores())
    assert set(one) == set(two)
    assert two[0] == three[0]
    assert two[1] != three[1]
