"""Reads query text to syntax. It finds and lists every mistake of a text, not only the first."""

from collections.abc import Iterable
from typing import Any

from stretto.errors import Mistake, QueryError, StrettoError
from stretto.text import syntax
from stretto.text.clauses import drafts
from stretto.text.grammar import read
from stretto.text.statements import Parsed, parse_statement
from stretto.text.tokens import OpenStringError, TokenChunk, tokenize
from stretto.text.values import size_problem
from stretto.text.walk import fold_syntax


def parse(text: str, file: str = "") -> tuple[syntax.Statement, ...]:
    """The statements of a workload in their order; QueryError with every mistake if there is one."""
    statements, mistakes = parse_partial(text)
    if mistakes:
        raise QueryError(mistakes, text, file)
    return statements


def parse_partial(text: str) -> tuple[tuple[syntax.Statement, ...], tuple[Mistake, ...]]:
    """The statements that can be judged further, and all mistakes.

    A statement with mistakes in WHERE alone comes without its terms. One with other mistakes is left out, and so is
    every statement that reads from it, so that no message is wrong about names that were meant to exist.
    """
    try:
        parsed, mistakes = _parse_chunks(tokenize(text), text)
    except OpenStringError:
        parsed, mistakes = _parse_chunks(tokenize(text, across_lines=False), text)
    found = [one for one in parsed if one.statement is not None]
    if len(found) < len(parsed):
        found = _without_readers(found, {one.name for one in parsed if one.statement is None})
    return tuple(one.statement for one in found if one.statement is not None), tuple(mistakes)


def parse_expression(text: str) -> syntax.Expression:
    """One expression, as it may stand in WHERE or RETURN."""
    expression: syntax.Expression = _parse_alone("expression", text, "an expression")
    return expression


def parse_pattern(text: str) -> syntax.Pattern:
    """One pattern, as it may stand behind PATTERN."""
    pattern: syntax.Pattern = _parse_alone("pattern", text, "a pattern")
    return pattern


def parse_duration(text: str) -> int:
    """The microseconds of a duration such as "10 minutes" or "500ms"; it may be zero or negative."""
    value = _parse_alone("expression", text, "a duration")
    if not isinstance(value, syntax.Duration):
        raise QueryError([Mistake(f"`{text}` is not a duration", None, "write one like `10 SECONDS`")])
    return value.us


def option_us(text: str, name: str, *, positive: bool = False) -> int:
    """The microseconds of an option that takes a duration or `0`; StrettoError names the option."""
    try:
        us = 0 if text.strip() == "0" else parse_duration(text)
    except QueryError:
        hint = "write one like `10 seconds` or 500ms"
        raise StrettoError(f"{name}: `{text}` is not a duration ({hint})") from None
    if us < 0:
        raise StrettoError(f"{name}: `{text}` is negative")
    wrong = size_problem(us, "duration") if us or positive else None
    if wrong is not None:
        raise StrettoError(f"{name}: `{text}`: {wrong[0]}")
    return us


def _parse_chunks(chunks: Iterable[TokenChunk], text: str) -> tuple[list[Parsed], list[Mistake]]:
    mistakes: list[Mistake] = []
    parsed: list[Parsed] = []
    for chunk in chunks:
        mistakes += chunk.mistakes
        parsed += [parse_statement(draft, text) for draft in drafts(chunk, mistakes)]
    mistakes += [mistake for one in parsed for mistake in one.mistakes]
    return parsed, mistakes


def _parse_alone(rule: str, text: str, what: str) -> Any:
    try:
        chunks = list(tokenize(text))
    except OpenStringError:
        chunks = list(tokenize(text, across_lines=False))
    tokens = [token for chunk in chunks for token in chunk.tokens]
    mistakes = [mistake for chunk in chunks for mistake in chunk.mistakes]
    if len(tokens) == 1:
        raise QueryError([*mistakes, Mistake(f"expected {what}", tokens[0].span)], text)
    outcome = read(rule, tokens, text)
    if mistakes or outcome.mistakes:
        raise QueryError([*mistakes, *outcome.mistakes], text)
    return outcome.value


def _without_readers(parsed: list[Parsed], lost: set[str]) -> list[Parsed]:
    """The statements that read none of the lost ones, directly or through another."""
    while True:
        kept = [one for one in parsed if lost.isdisjoint(_reads(one.statement))]
        if len(kept) == len(parsed):
            return kept
        lost = lost | {one.name for one in parsed} - {one.name for one in kept}
        parsed = kept


def _reads(statement: syntax.Statement | None) -> Iterable[str]:
    """The types and streams that a statement names."""
    match statement:
        case syntax.Query():
            table = set() if statement.for_each is None else {statement.for_each.table}
            return _types(statement.pattern) | table
        case syntax.CreatePatternStream():
            return _types(statement.query.pattern)
        case syntax.CreateEvent():
            return (statement.source,)
        case syntax.CreateStream():
            return [source.stream for source in statement.sources]
        case _:
            return ()


def _types(pattern: syntax.Pattern) -> set[str]:
    def union(node: syntax.Node, below: list[set[str]]) -> set[str]:
        own = {node.type} if isinstance(node, syntax.Atom) else set()
        return own.union(*below)

    return fold_syntax(pattern, union)
