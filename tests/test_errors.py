"""How mistakes are shown: bounded, whatever their number and the length of lines, and safe for a terminal."""

import pytest

from stretto.errors import LONGEST, MOST, WIDEST, Mistake, QueryError, Span, near
from stretto.pattern.workload import Workload


def test_thousands_of_mistakes_on_one_line() -> None:
    terms = " AND ".join(f"a.x{n} < zz{n}.y" for n in range(3000))
    with pytest.raises(QueryError) as caught:
        Workload.parse(f"QUERY q PATTERN A a WHERE {terms} WITHIN 5 s;").verify()
    assert len(caught.value.mistakes) == 3000
    shown = str(caught.value)
    assert shown.endswith("\nand 2,950 more")
    assert len(shown) < 50_000


def test_all_are_shown_up_to_a_number() -> None:
    mistakes = [Mistake(f"m{n}", Span(1, 1, 1, 2)) for n in range(MOST)]
    assert len(str(QueryError(mistakes, "x")).split("\n")) == 3 * MOST


@pytest.mark.parametrize("column", [1, 2, 79, 80, 81, 500, 919, 920, 921, 999, 1000, 1001])
def test_a_long_line_is_cut_around_the_caret(column: int) -> None:
    line = "".join(f"{n:04}" for n in range(250))
    _, excerpt, carets = Mistake("wrong", Span(1, column, 1, column + 1)).show(line).split("\n")
    assert len(excerpt) <= WIDEST + len("  1 | ....")
    at = carets.index("^")
    assert carets == " " * 4 + "| " + " " * (at - 6) + "^"
    seen = excerpt[6:].removeprefix("..")
    start = line.index(seen.removesuffix("..")) - (len(excerpt) - 6 - len(seen))
    assert start + at - 6 == column - 1
    assert excerpt.startswith("  1 | ..") == (column > WIDEST // 2 + 1)
    assert excerpt.endswith("..") == (column < len(line) - WIDEST // 2 + 1)


def test_a_long_stretch_is_marked_as_far_as_it_is_shown() -> None:
    shown = Mistake("wrong", Span(1, 3, 2, 4), "why").show("x" * 5000 + "\nabc")
    assert len(shown) < 3 * WIDEST
    assert shown.endswith("^ why")


def test_a_long_name_is_shortened() -> None:
    name = "n" * 100_000
    shown = Mistake(f"unknown variable `{name}`, which is odd").show()
    assert len(shown) == LONGEST
    assert shown.startswith("unknown variable `nnn")
    assert shown.endswith("nnn`, which is odd")


def test_long_names_are_not_compared() -> None:
    assert near("x" * 20_000 + "a", ["x" * 20_000 + "b"]) == ""
    assert near("prise", ["price"]) == "did you mean `price`?"


def test_control_characters_are_made_visible() -> None:
    text = 'QUERY "q\x1b[2J\n" PATTERN A a\tWHERE a.x = \x1b[31m AND "b\u202e".x < 1 WITHIN 5 s;'
    with pytest.raises(QueryError) as caught:
        Workload.parse(text, "odd\x1b]0;name\x07.cep")
    shown = str(caught.value)
    assert all(line.replace("\t", "").isprintable() for line in shown.split("\n"))
    assert "odd\\x1b]0;name\\x07.cep:2:" in shown
    assert "A a\tWHERE a.x = \\x1b[31m AND" in shown
    assert "b\\u202e" in shown


def test_the_caret_stands_below_what_was_escaped() -> None:
    shown = Mistake("wrong", Span(1, 2, 1, 3)).show("\x1b\x9bx")
    assert shown == "<workload>:1:2: wrong\n  1 | \\x1b\\x9bx\n    |     ^^^^"
