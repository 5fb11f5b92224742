"""Queries that are alike but for their names and constants: the first ones are parsed, the others are one match each.

A program that writes a hundred thousand rules writes one statement a hundred thousand times. From the tokens of such
a statement an expression is made that matches exactly the texts with the same tokens, whatever the name of the query
and the constants of WHERE, HAVING and WITHIN are; so a further statement costs one match, and its constants are read
on the way. A text that does not match, or whose constants are none (a window of zero), takes the way of all others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from typing import Any, Final, Literal

from stretto.records import dataclass
from stretto.text import syntax
from stretto.text.tokens import IDENTIFIER, KEYWORDS, SKIPPED, Token
from stretto.text.values import UNITS, duration_us, size_problem
from stretto.text.walk import children_of

Kind = Literal["int", "float", "str", "duration"]
Row = tuple[str, ...]

# What ends a token of the lexer: no longer word, number, string or sign may begin where it does.
_WORD_END: Final = r"(?!\w)"
_NUMBER_END: Final = r"(?![0-9]|\.[0-9]|[eE][+-]?[0-9])"
_SIGN_END: Final = {"<": "(?![=>])", ">": "(?!=)", "!": "(?!=)", "=": "(?!=)", "-": "(?!-)", ".": "(?![0-9])"}
# Longer numbers and those with an exponent are rare, and some of them are none.
_NUMBER: Final = {"int": r"([0-9]{1,18}+)", "float": r"([0-9]{0,18}+\.[0-9]{1,18}+)"}
_STRING: Final = r"'([^']*+(?:''[^']*+)*+)'"
_UNIT: Final = rf"((?i:{'|'.join(sorted(UNITS, key=len, reverse=True))}))" + _WORD_END


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant that may be another one in each statement: its node in the first, and where a match has its text.

    A duration's unit is the group behind that of its number. `node` is None for the window.
    """

    node: syntax.Expression | None
    kind: Kind
    group: int
    negative: bool = False

    def values(self, rows: Sequence[Row]) -> list[int | float | str]:
        """The same of many matches; most durations come again and again."""
        if self.kind != "duration":
            return [self.value(row) for row in rows]
        texts = [(row[self.group], row[self.group + 1]) for row in rows]
        first = dict(zip(texts, rows, strict=True))
        known = {text: self.value(row) for text, row in first.items()}
        return [known[text] for text in texts]

    def value(self, row: Row) -> int | float | str:
        """What the groups of a match say; ValueError if they say nothing."""
        sign = "-" if self.negative else ""
        text = row[self.group]
        match self.kind:
            case "int":
                return int(sign + text)
            case "float":
                return float(sign + text)
            case "duration":
                return duration_us(sign + text, row[self.group + 1].upper())
            case "str":
                return text.replace("''", "'")


@dataclass(frozen=True, slots=True)
class Template:
    """What matches the statements like one; the first group is the name of the query."""

    first: syntax.Query
    matching: re.Pattern[str]
    constants: tuple[Constant, ...]
    _durations: dict[tuple[int, str, str], bool] = field(default_factory=dict)

    def row(self, text: str, at: int) -> tuple[Row, int] | None:
        """The name and the constants of the statement at a place, and where it ends; None if it is not alike."""
        found = self.matching.match(text, at)
        if found is None:
            return None
        row = found.groups()
        if row[0].upper() in KEYWORDS:
            return None
        for constant in self.constants:
            if constant.kind == "duration" and not self._is_duration(constant, row):
                return None
        return row, found.end()

    def _is_duration(self, constant: Constant, row: Row) -> bool:
        """Whether a duration can be one where it stands. There are few different ones: each is looked at once."""
        key = constant.group, row[constant.group], row[constant.group + 1]
        known = self._durations.get(key)
        if known is None:
            try:
                us = constant.value(row)
            except ValueError:
                return False
            known = constant.node is not None or size_problem(int(us), "window") is None
            self._durations[key] = known
        return known


def signature(text: str, tokens: Sequence[Token]) -> tuple[str, ...]:
    """What alike statements have in common: kinds for numbers and strings, the text of all else but the name."""
    return tuple(
        token.type if token.type in ("NUMBER", "STRING") or at == 1 else text[token.start_pos : token.end_pos]
        for at, token in enumerate(tokens)
    )


def make_template(text: str, tokens: Sequence[Token], query: syntax.Query) -> Template | None:
    """What matches the statements like one that was read without a mistake; None where that cannot be said."""
    if tokens[1].type != "NAME" or tokens[1].quoted or tokens[-1].type != "SEMICOLON":
        return None
    places = {(token.line, token.column): at for at, token in enumerate(tokens)}
    leaves: dict[int, tuple[syntax.Node, bool]] = {}
    for leaf in _leaves(query):
        assert leaf.span is not None
        at = places[leaf.span.line, leaf.span.column]
        negative = tokens[at].type == "MINUS"
        leaves[at + negative] = leaf, negative
    constants: list[Constant] = []
    parts: list[str] = []
    unit = False
    for at, token in enumerate(tokens):
        if at == 1:
            parts.append(f"({IDENTIFIER})")
        elif unit:
            parts.append(_UNIT)
            unit = False
        elif at in leaves and not (token.type == "NUMBER" and "e" in token.value.lower()):
            leaf, negative = leaves[at]
            group = 1 + sum(2 if one.kind == "duration" else 1 for one in constants)
            constants.append(_constant(leaf, group, negative=negative))
            parts.append(_captured(token))
            unit = constants[-1].kind == "duration"
        else:
            parts.append(_fixed(token, text))
    return Template(query, re.compile(SKIPPED + SKIPPED.join(parts), re.DOTALL), tuple(constants))


def _leaves(query: syntax.Query) -> Iterator[syntax.Node]:
    """The constants of a query that may be others in a query like it."""
    pending: list[syntax.Node] = [*query.where, *query.having]
    while pending:
        node = pending.pop()
        if isinstance(node, syntax.Duration) or (
            isinstance(node, syntax.Literal) and node.kind in ("int", "float", "str")
        ):
            yield node
        elif (
            not isinstance(node, syntax.Unary) or node.op != "-"
        ):  # which is read as one with a number behind it
            pending += children_of(node)
    if query.within.unit == "us" and query.within.row is None:
        yield query.within


def _constant(leaf: syntax.Node, group: int, *, negative: bool) -> Constant:
    match leaf:
        case syntax.Literal(kind="int" | "float" | "str" as kind):
            return Constant(leaf, kind, group, negative)
        case syntax.Duration():
            return Constant(leaf, "duration", group, negative)
        case _:
            return Constant(None, "duration", group, negative)


def _captured(token: Token) -> str:
    """What matches a constant of the kind of one."""
    if token.type == "STRING":
        return _STRING
    return _NUMBER["float" if "." in token.value else "int"] + _NUMBER_END


def _fixed(token: Token, text: str) -> str:
    """What matches a token that all alike statements have."""
    written = text[token.start_pos : token.end_pos]
    match token.type:
        case "NUMBER":
            end = _NUMBER_END
        case "STRING":
            end = "(?!')"
        case "NAME" if token.quoted:
            end = '(?!")'
        case _:
            end = _SIGN_END.get(written, "") if not written[0].isidentifier() else _WORD_END
    return re.escape(written) + end


def placed(node: Any, nodes: Mapping[int, syntax.Name]) -> Any:
    """A tree with names in the place of constants, which are known by their identity."""
    if isinstance(node, tuple):
        return tuple(placed(one, nodes) for one in node)
    if id(node) in nodes:
        return nodes[id(node)]
    if not isinstance(node, syntax.Node) or not is_dataclass(node):
        return node
    values = {one.name: placed(getattr(node, one.name), nodes) for one in fields(node) if one.init}
    return type(node)(**values)
