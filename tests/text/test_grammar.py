"""The grammar file describes whole workloads, not only the clauses that the parser starts from."""

import pytest
from lark import Lark

from stretto.text.grammar import GRAMMAR, _Given, _lark
from stretto.text.messages import expectation
from stretto.text.tokens import KEYWORDS, Token


def test_the_whole_language_is_lalr() -> None:
    parser = Lark(GRAMMAR.read_text("utf-8"), parser="lalr", lexer=_Given, start="workload", strict=False)
    words = "QUERY NAME PATTERN COMBINE LPAR NAME NAME COMMA NAME NAME RPAR "
    words += "WHERE NAME DOT NAME COMPARE LITERAL WITHIN DURATION SEMICOLON"
    tokens = [Token(word, word, 0, 1, 1, 1, 1, 0) for word in words.split()]
    assert parser.parse(tokens).data == "workload"


def test_every_terminal_goes_by_a_human_name() -> None:
    words = KEYWORDS | {"EVENT", "STREAM", "TABLE", "EACH", "KEY", "BY"}
    for terminal in _lark().terminals:
        assert terminal.name in words or terminal.name not in expectation({terminal.name})


@pytest.mark.parametrize(
    ("accepted", "text"),
    [
        ({"RPAR"}, "expected `)`"),
        ({"RPAR", "COMMA", "VBAR", "AMPERSAND"}, "expected `,` or `)`"),
        ({"$END"}, "expected nothing more here"),
        ({"NAME", "COMBINE", "NEGATE", "KLEENE", "LPAR", "BANG"}, "expected a pattern"),
        ({"AND", "OR", "PLUS", "MINUS", "$END"}, "expected `AND` or `OR`"),
    ],
)
def test_expectation(accepted: set[str], text: str) -> None:
    assert expectation(accepted) == text
