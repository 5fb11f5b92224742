"""Runs the grammar: reads the tokens of one clause to its value, by the start rule of that clause."""

import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, Final
from zlib import crc32

from lark import Lark, UnexpectedToken
from lark import __version__ as lark_version
from lark.grammar import Rule
from lark.lexer import Lexer, LexerState, TerminalDef

from stretto.errors import Mistake
from stretto.records import dataclass
from stretto.text import syntax
from stretto.text.actions import Actions
from stretto.text.clauses import parts_at
from stretto.text.messages import habit_at, unexpected
from stretto.text.terminals import (
    Reader,
    as_expression,
    as_for_each,
    as_keep,
    as_names,
    as_pattern,
    as_window,
)
from stretto.text.tokens import Token
from stretto.text.walk import MAX_DEPTH, depth_of

GRAMMAR: Final = files("stretto.text") / "grammar.lark"
"""Also where the package is read from an archive, as executors may do."""
TABLES: Final = files("stretto.text") / "grammar.json"
"""The parser's tables: making them takes longer than reading a hundred queries. They are data: nothing is run."""
_READERS: Final[dict[str, Reader]] = {
    "pattern": as_pattern,
    "expression": as_expression,
    "condition": as_expression,
    "returned": as_expression,
    "items": as_expression,
    "window": as_window,
    "policy": as_names,
    "group_names": as_names,
    "source": as_names,
    "for_each": as_for_each,
    "file": as_expression,
    "keep": as_keep,
    "limit": as_keep,
}
# A long clause in which something is wrong is read again part by part, so that each part tells of its own mistake.
_PARTS: Final = {
    "condition": ("AND", "expression"),
    "returned": ("COMMA", "returned"),
    "items": ("COMMA", "items"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The value of a clause and what is wrong with it; `stuck` is the token that cannot stand where it does."""

    value: Any
    mistakes: list[Mistake]
    stuck: Token | None = None


class _Given(Lexer):
    """A lexer for lark that hands on terminals which exist already."""

    __future_interface__ = 2

    def __init__(self, conf: object) -> None:
        """Nothing to set up."""

    def lex(self, lexer_state: LexerState, parser_state: object) -> Iterator[Any]:  # noqa: ARG002 - lark's interface
        given: Any = lexer_state.text  # the list of terminals, handed on as it is
        return iter(given)


@cache
def _lark() -> Lark:
    """The parser, made on first use and kept: from its tables, if they are of this grammar and this lark."""
    kept = json.loads(TABLES.read_text("utf-8"), object_hook=_numbered)
    if kept["of"] != tables_of():
        return made()
    data = kept["data"]
    data["options"]["lexer"] = data["parser"]["lexer_conf"]["lexer_type"] = _Given
    whole: Any = Lark  # what it makes of tables has no types
    parser: Lark = whole._load_from_dict(data, kept["memo"], transformer=Actions())  # noqa: SLF001 - lark has no other way from a dict
    return parser


def made() -> Lark:
    """The parser, from the grammar."""
    return Lark(
        GRAMMAR.read_text("utf-8"),
        parser="lalr",
        lexer=_Given,
        start=list(_READERS),
        transformer=Actions(),
        keep_all_tokens=True,
        maybe_placeholders=False,
        cache=_made_before(),
    )


def saved(parser: Lark) -> str:
    """The tables of a parser, as they are kept; what is an object in it is ours and not kept."""
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    ours = {"lexer", "transformer", "cache", "_plugins"}
    data["options"] = {name: value for name, value in data["options"].items() if name not in ours}
    del data["parser"]["lexer_conf"]["lexer_type"]
    return json.dumps({"of": tables_of(), "data": data, "memo": memo}, separators=(",", ":")) + "\n"


def tables_of() -> str:
    """What tables are made of."""
    return f"lark {lark_version}, grammar {crc32(GRAMMAR.read_bytes()):08x}"


def _numbered(node: dict[str, Any]) -> dict[str | int, Any]:
    """Keys that are numbers, which JSON does not have."""
    return {int(key) if key.isdigit() else key: value for key, value in node.items()}


def _made_before() -> str | bool:
    """Where lark keeps what it made: beside Python's compiled modules, if it keeps any."""
    folder = Path(cache_from_source(__file__)).parent
    if sys.dont_write_bytecode or not folder.is_dir():
        return False
    return str(folder / f"grammar.{sys.implementation.cache_tag}.tables")


def read(rule: str, tokens: list[Token], text: str) -> Outcome:
    """The value that a start rule gives for tokens of which the last one follows the clause."""
    terminals, mistakes = _READERS[rule](tokens)
    try:
        value = _lark().parse(terminals, start=rule)
    except UnexpectedToken as error:
        ended = (
            error.token.type == "$END"
        )  # too early: what follows the clause is shown, but is no part of it
        at: Token = tokens[-1] if ended else error.token
        wrong = unexpected(
            at,
            text[at.start_pos : at.end_pos],
            error.accepts or error.expected,
            rule,
            "" if ended else habit_at(tokens, at, rule),
        )
        return Outcome(None, mistakes + (_of_parts(rule, tokens, text) or [wrong]), None if ended else at)
    if len(terminals) > MAX_DEPTH:
        mistakes += [too_deep(node) for node in _roots(value) if depth_of(node) > MAX_DEPTH]
    return Outcome(value, mistakes)


def too_deep(node: syntax.Node) -> Mistake:
    return Mistake(f"nested more than {MAX_DEPTH:,} levels deep", node.span)


def _of_parts(rule: str, tokens: list[Token], text: str) -> list[Mistake]:
    """The mistakes of the parts of a clause, if it has several; empty if only the whole is wrong."""
    sign, part_rule = _PARTS.get(rule, ("", ""))
    parts = parts_at(tokens, sign) if sign else []
    if len(parts) < 2:
        return []
    return [mistake for part in parts for mistake in read(part_rule, part, text).mistakes]


def _roots(value: Any) -> Iterable[syntax.Node]:
    """The patterns and expressions of a clause's value."""
    if isinstance(value, syntax.Pattern | syntax.Expression):
        return (value,)
    if isinstance(value, tuple):
        return [item.value if isinstance(item, syntax.Item) else item for item in value if item is not None]
    return ()
