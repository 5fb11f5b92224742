"""Reads query text to syntax. It finds and lists every mistake of a text, not only the first."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from stretto.errors import Mistake, QueryError, Span, StrettoError
from stretto.json_depth import HALF_PAIR
from stretto.text import syntax
from stretto.text.alike.statements import AlikeQueries, AlikeReader, Statements
from stretto.text.clauses import drafts
from stretto.text.grammar import read
from stretto.text.statements import Parsed, parse_statement
from stretto.text.tokens import OpenStringError, TokenChunk, line_starts, tokenize
from stretto.text.values import size_problem

Plain = list[tuple[int, Parsed]]
"""Statements that were parsed, each with which one of the text it is."""


def parse(text: str, file: str = "") -> Sequence[syntax.Statement]:
    """The statements of a workload in their order; QueryError with every mistake if there is one."""
    statements, mistakes, _ = parse_partial(text)
    if mistakes:
        raise QueryError(mistakes, text, file)
    return statements


def parse_partial(
    text: str,
) -> tuple[Sequence[syntax.Statement], tuple[Mistake, ...], frozenset[str]]:
    """The statements that can be judged further, all mistakes, and the names of the statements that are left out.

    A statement with mistakes in WHERE alone comes without its terms. A statement with other mistakes is left out: its
    name means something, but nothing is known of it. The statements are a tuple, or `Statements` where many are alike.
    """
    half = _half_pair(text)
    if half is not None:
        return (), (half,), frozenset()
    lines = line_starts(text)
    reader = AlikeReader(text, lines)
    try:
        mistakes = _read_all(reader)
    except OpenStringError:
        reader = AlikeReader(text, lines)
        mistakes = _read_plain(reader)
    parsed = [(number, one) for number, one in enumerate(reader.parsed) if one is not None]
    plain = [(number, one.statement) for number, one in parsed if one.statement is not None]
    alike = reader.alike
    lost = frozenset(one.name for _, one in parsed if one.statement is None)
    if lost:
        mistakes = [*mistakes, *_duplicates([*parsed, *_named(alike, lost)])]
    if alike:
        return Statements(tuple(plain), tuple(alike)), tuple(mistakes), lost
    return tuple(statement for _, statement in plain), tuple(mistakes), lost


def _named(alike: list[AlikeQueries], names: frozenset[str]) -> Plain:
    """Those of the alike queries that have one of these names, and which statements they are."""
    runs = (run.only(names) for run in alike)
    return [
        (number, Parsed(query.name, query, query_span=query.name_span))
        for run in runs
        for number, query in zip(run.numbers, run.queries(), strict=True)
    ]


def _duplicates(parsed: Plain) -> list[Mistake]:
    """Queries with the name of one before them, of which one has mistakes: whole ones are compared when bound."""
    first: dict[str, Parsed] = {}
    found: list[Mistake] = []
    for _, one in sorted(parsed, key=itemgetter(0)):
        if one.query_span is None:
            continue
        before = first.setdefault(one.name, one)
        if before is not one and (before.statement is None or one.statement is None):
            note = "another query has that name already"
            found.append(Mistake(f"duplicate query `{one.name}`", one.query_span, note))
    return found


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


def _read_all(reader: AlikeReader) -> list[Mistake]:
    """All mistakes of a text whose strings are closed, while the reader takes its statements."""
    text, at = reader.text, 0
    mistakes: list[Mistake] = []
    chunks = tokenize(text, starts=reader.lines)
    while True:
        end = reader.take_alike(at)
        if end is not None:
            at = end
            chunks = tokenize(text, start=at, starts=reader.lines)
        chunk = next(chunks)
        reader.take_parsed(chunk, at, _parse_chunk(chunk, text, mistakes))
        if chunk.tokens[-1].type == "END":
            break
        at = chunk.tokens[-1].end_pos
    reader.finish()
    return _all_mistakes(reader, mistakes)


def _read_plain(reader: AlikeReader) -> list[Mistake]:
    """The same for a text with a string that is never closed."""
    mistakes: list[Mistake] = []
    for chunk in tokenize(reader.text, across_lines=False, starts=reader.lines):
        reader.parsed += _parse_chunk(chunk, reader.text, mistakes)
    return _all_mistakes(reader, mistakes)


def _parse_chunk(chunk: TokenChunk, text: str, mistakes: list[Mistake]) -> list[Parsed]:
    mistakes += chunk.mistakes
    return [parse_statement(draft, text) for draft in drafts(chunk, mistakes)]


def _all_mistakes(reader: AlikeReader, of_tokens: list[Mistake]) -> list[Mistake]:
    found = (mistake for one in reader.parsed if one is not None for mistake in one.mistakes)
    return [*of_tokens, *found]


def _half_pair(text: str) -> Mistake | None:
    """Return the mistake of a text with half of a surrogate pair, None where there is none."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        column = error.start - text.rfind("\n", 0, error.start)
        at = Span(line, column, line, column + 1)
        return Mistake(f"{HALF_PAIR}, which is not Unicode text", at, "write the whole character")
    return None


def _parse_alone(rule: str, text: str, what: str) -> Any:
    half = _half_pair(text)
    if half is not None:
        raise QueryError([half], text)
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
