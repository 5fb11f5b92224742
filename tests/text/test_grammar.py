"""The grammar file describes whole workloads, not only the clauses that the parser starts from."""

import json
from pathlib import Path

import pytest
from lark import Lark
from tests.support.golden import Golden

from stretto.text import grammar
from stretto.text.grammar import GRAMMAR, TABLES, _Given, _lark, made, saved, tables_of
from stretto.text.messages import expectation
from stretto.text.parser import parse
from stretto.text.tokens import KEYWORDS, Token


def test_the_whole_language_is_lalr() -> None:
    parser = Lark(GRAMMAR.read_text("utf-8"), parser="lalr", lexer=_Given, start="workload", strict=False)
    words = "QUERY NAME PATTERN COMBINE LPAR NAME NAME COMMA NAME NAME RPAR "
    words += "WHERE NAME DOT NAME COMPARE LITERAL WITHIN DURATION SEMICOLON"
    tokens = [Token(word, word, 0, 1, 1, 1, 1, 0) for word in words.split()]
    assert parser.parse(tokens).data == "workload"


def test_every_terminal_goes_by_a_human_name() -> None:
    words = KEYWORDS | {"EVENT", "STREAM", "TABLE", "EACH", "KEY", "BY", "PER"}
    words |= {"CASE", "WHEN", "THEN", "ELSE", "END", "ESCAPE"}
    lines = GRAMMAR.read_text("utf-8").splitlines()
    declared = {name for line in lines if line.startswith("%declare ") for name in line.split()[1:]}
    assert {"NAME", "RPAR", "AND", "LASTING"} <= declared
    for name in declared:
        assert name in words or name not in expectation({name})


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


def test_the_tables_are_of_this_grammar(golden: Golden, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--bless` writes them. States have other numbers in every process, so that their texts are not compared."""
    monkeypatch.setattr(grammar, "_made_before", lambda: False)
    if golden.bless and json.loads(TABLES.read_text("utf-8"))["of"] != tables_of():
        Path(str(TABLES)).write_text(saved(made()), encoding="utf-8")
    assert json.loads(TABLES.read_text("utf-8"))["of"] == tables_of(), (
        "`pytest --bless` writes text/grammar.json"
    )


def test_tables_that_are_kept_read_as_those_that_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "QUERY q PATTERN SEQ(A a, NOT(B b), C+ c) WHERE a.x + 1 > 2 AND [y] WITHIN 1 MINUTE RETURN a.x AS x;"
    )
    kept = parse(text)
    monkeypatch.setattr(grammar, "_made_before", lambda: False)
    monkeypatch.setattr(grammar, "_lark", made)
    assert parse(text) == kept


def test_tables_of_another_lark_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar, "_made_before", lambda: False)
    monkeypatch.setattr(grammar, "lark_version", "0.1")
    parser = _lark.__wrapped__()
    assert parser.source_path != "<deserialized>"
