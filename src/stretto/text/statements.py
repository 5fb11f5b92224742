"""Makes statements of drafts: which clauses a statement has, in which order, and what they must say."""

from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any

from stretto.errors import Mistake, Span, near
from stretto.records import dataclass
from stretto.text import syntax
from stretto.text.clauses import SECOND_WORDS, Clause, StatementDraft, is_word
from stretto.text.grammar import read
from stretto.text.keeping import problems
from stretto.text.messages import habit_of_statement, habit_of_word, nearest_clause
from stretto.text.tokens import QUERY_CLAUSES, STREAM_CLAUSES, Token
from stretto.text.values import size_problem

_RULES = {
    "PATTERN": "pattern",
    "WHERE": "condition",
    "HAVING": "condition",
    "ON": "condition",
    "WITHIN": "window",
    "RETURN": "returned",
    "AGGREGATE": "returned",
    "KEEP": "keep",
    "LIMIT": "limit",
    "GROUP": "group_names",
    "FROM": "source",
    "JOIN": "source",
    "FOR": "for_each",
}
_SHOWN = {"GROUP": "GROUP BY", "FOR": "FOR EACH"}
_WANTED = {
    "pattern": "expected a pattern",
    "condition": "expected a condition",
    "window": "expected a duration such as `10 SECONDS`",
    "returned": "expected an expression",
    "group_names": "expected the name of an attribute",
    "source": "expected the name of a stream",
    "policy": "expected `ANY`, `NEXT`, `LAST` or `STRICT`",
    "keep": "expected `ALL`, `FIRST`, `APART` or `LONGEST`, as in `KEEP FIRST PER a.user FOR 1 HOUR`",
    "limit": "expected a number and a period, as in `LIMIT 10 PER 1 HOUR`",
    "items": "expected `*` or expressions",
    "for_each": "expected a table, a name for its rows and the key, as in `FOR EACH limits r KEY r.id`",
    "file": "expected a file in single quotes, as in `FROM 'limits.csv'`",
}
_POLICIES = ("ANY", "NEXT", "LAST", "STRICT")


@dataclass(frozen=True, slots=True)
class _StatementShape:
    """A kind of statement: its clauses, those that open it in this order, and those that it needs."""

    title: str
    clauses: tuple[str, ...]
    order: tuple[str, ...]
    required: tuple[tuple[str, str], ...]
    select: str
    foreign: str
    words: tuple[str, ...]  # of the clauses that it is cut into, its own or not


_MATCHED = (
    ("PATTERN", "expected `PATTERN` and what to look for, as in `PATTERN SEQ(A a, B b)`"),
    ("WITHIN", "expected the longest time from first to last event, as in `WITHIN 10 MINUTES`"),
)
_QUERY = _StatementShape("query", QUERY_CLAUSES, ("FOR", "PATTERN"), _MATCHED, "policy", "", QUERY_CLAUSES)
_PATTERN_STREAM = _StatementShape(
    "stream",
    QUERY_CLAUSES[1:],
    ("PATTERN",),
    _MATCHED,
    "policy",
    "a stream is one stream: only a query stands for several",
    QUERY_CLAUSES,
)
_SELECTED = (("SELECT", "expected `SELECT`"), ("FROM", "expected `FROM` and the name of a stream"))
_EVENT = _StatementShape(
    "event",
    ("SELECT", "FROM", "WHERE"),
    ("SELECT", "FROM"),
    _SELECTED,
    "items",
    "an event is a plain selection: SELECT * FROM stream WHERE ...; CREATE STREAM has the rest",
    STREAM_CLAUSES,
)
_STREAM = _StatementShape(
    "stream", STREAM_CLAUSES, ("SELECT", "FROM", "JOIN", "ON"), _SELECTED, "items", "", STREAM_CLAUSES
)
_TABLE = _StatementShape(
    "table",
    ("FROM",),
    ("FROM",),
    (("FROM", "expected `FROM` and a file in single quotes, as in `FROM 'limits.csv'`"),),
    "",
    "a table is the rows of a file",
    STREAM_CLAUSES,
)


@dataclass(slots=True)
class Parsed:
    """The result of one statement. Without mistakes, `statement` is whole. With mistakes in WHERE alone it has no
    terms. Else it is None. `name` is empty if even the name is missing. `query_span`: where the name of a query stands.
    """

    name: str = ""
    statement: syntax.Statement | None = None
    mistakes: list[Mistake] = field(default_factory=list)
    query_span: Span | None = None


def parse_statement(draft: StatementDraft, text: str) -> Parsed:
    """One statement, with all of its mistakes."""
    parsed = Parsed()
    kind = _kind(draft.tokens, parsed.mistakes)
    if kind is _QUERY:
        _query(draft, text, parsed)
    elif kind is _TABLE:
        _table(draft, text, parsed)
    elif kind is not None:
        _create(kind, draft, text, parsed)
    return parsed


def _kind(tokens: Sequence[Token], mistakes: list[Mistake]) -> _StatementShape | None:
    """What the first words say, or were meant to say."""
    word = _keyword(tokens[0], ("QUERY", "CREATE"), "statement", mistakes)
    if word != "CREATE":
        return _QUERY if word else None
    made = _keyword(tokens[1], ("EVENT", "STREAM", "TABLE"), "kind of thing to create", mistakes)
    return {"EVENT": _EVENT, "STREAM": _STREAM, "TABLE": _TABLE}.get(made)


def _keyword(token: Token, known: tuple[str, ...], what: str, mistakes: list[Mistake]) -> str:
    """The known word that a token is or comes near to; else an empty text."""
    word = token.value.upper() if is_word(token) and not token.quoted else ""
    if word in known:
        return word
    hint = habit_of_statement(token) if what == "statement" else ""
    if word == "QUERY":  # behind CREATE
        hint = "a query has no CREATE: write `QUERY q PATTERN SEQ(A a, B b) WITHIN 10 MINUTES`"
    hint = hint or (near(word, known) if word else "")
    shown = f"`{token.value}`" if token.type != "END" else "end of the text"
    note = hint or f"expected {' or '.join(f'`{other}`' for other in known)}"
    mistakes.append(Mistake(f"unknown {what} {shown}" if word else f"unexpected {shown}", token.span, note))
    return next((other for other in known if f"`{other}`" in hint), "")


def _query(draft: StatementDraft, text: str, parsed: Parsed) -> None:
    tokens = draft.tokens
    named = _has_name(tokens, 1, "PATTERN")
    if not named:
        parsed.mistakes.append(
            Mistake("a query needs a name", tokens[1].span, "expected a name after `QUERY`")
        )
    parsed.name = tokens[1].value if named else ""
    parsed.query_span = tokens[1].span if named else None
    query = _matching(_QUERY, 1 + named, tokens[1], draft, text, parsed)
    if named:
        parsed.statement = query


def _matching(
    shape: _StatementShape, start: int, name: Token, draft: StatementDraft, text: str, parsed: Parsed
) -> syntax.Query | None:
    """The query that the clauses from token `start` on make; None if they do not."""
    found, broken = _read_clauses(shape, draft.clauses(start, shape.words), draft, text, parsed)
    select = _policy(found.get("SELECT"), parsed.mistakes, broken)
    within, slide = found.get("WITHIN", (None, None))
    if broken - {"WHERE", "HAVING"} or within is None:
        return None
    return syntax.Query(
        parsed.name,
        found["PATTERN"],
        within,
        () if "WHERE" in broken else found.get("WHERE", ()),
        select,
        found.get("AGGREGATE", found.get("RETURN", ())),
        found.get("GROUP", ()),
        slide,
        () if "HAVING" in broken else found.get("HAVING", ()),
        found.get("FOR"),
        found.get("KEEP"),
        found.get("LIMIT"),
        "AGGREGATE" in found,
        span=_whole(draft.tokens),
        name_span=name.span,
    )


def _create(shape: _StatementShape, draft: StatementDraft, text: str, parsed: Parsed) -> None:
    tokens = draft.tokens
    named = _has_name(tokens, 2, "AS")
    if not named:
        note = f"expected a name after `CREATE {shape.title.upper()}`"
        parsed.mistakes.append(Mistake(f"the {shape.title} needs a name", tokens[2].span, note))
    parsed.name = tokens[2].value if named else ""
    start = 2 + named
    introduced = tokens[start].type == "AS"
    if not introduced:
        parsed.mistakes.append(_unexpected(tokens[start], text, "expected `AS SELECT`"))
    if shape is _STREAM and tokens[start + introduced].type == "PATTERN":
        query = _matching(_PATTERN_STREAM, start + introduced, tokens[2], draft, text, parsed)
        if named and introduced and query is not None:
            places = {"span": query.span, "name_span": query.name_span}
            parsed.statement = syntax.CreatePatternStream(parsed.name, query, **places)
        return
    found, broken = _read_clauses(shape, draft.clauses(start + introduced, shape.words), draft, text, parsed)
    if not (named and introduced) or broken - {"WHERE"}:
        return
    where = () if "WHERE" in broken else found.get("WHERE", ())
    places = {"span": _whole(tokens), "name_span": tokens[2].span}
    source: syntax.Source = found["FROM"]
    if shape is _EVENT:
        parsed.statement = syntax.CreateEvent(
            parsed.name, source.stream, where, source_span=source.span, **places
        )
        return
    sources = (source, found["JOIN"]) if "JOIN" in found else (source,)
    parsed.statement = syntax.CreateStream(
        parsed.name,
        found["SELECT"],
        sources,
        found.get("ON", ()),
        where,
        found.get("GROUP", ()),
        found["WITHIN"][0] if "WITHIN" in found else None,
        **places,
    )


def _table(draft: StatementDraft, text: str, parsed: Parsed) -> None:
    tokens = draft.tokens
    named = _has_name(tokens, 2, "FROM")
    if not named:
        parsed.mistakes.append(
            Mistake("the table needs a name", tokens[2].span, "expected a name after `CREATE TABLE`")
        )
    parsed.name = tokens[2].value if named else ""
    found, broken = _read_clauses(_TABLE, draft.clauses(2 + named, _TABLE.words), draft, text, parsed)
    if named and not broken:
        path: Token = found["FROM"]
        parsed.statement = syntax.CreateTable(
            parsed.name, path.value, path_span=path.span, span=_whole(tokens), name_span=tokens[2].span
        )


def _has_name(tokens: Sequence[Token], at: int, follower: str) -> bool:
    """Whether a name stands there, and not already the keyword that follows it."""
    return is_word(tokens[at]) and (tokens[at].type != follower or tokens[at + 1].type == follower)


def _read_clauses(
    shape: _StatementShape, clauses: list[Clause], draft: StatementDraft, text: str, parsed: Parsed
) -> tuple[dict[str, Any], set[str]]:
    """The value of each clause, and the words of those with mistakes (an empty word for what fits nowhere)."""
    found: dict[str, Any] = {}
    broken: set[str] = set()
    heads: dict[str, Token] = {}
    pending = list(reversed(clauses))
    while pending:
        clause = pending.pop()
        before = len(parsed.mistakes)
        meant = _read_clause(shape, clause, heads, found, text, parsed)
        if meant is not None:
            present = heads.keys() | {other.word for other in pending}
            word = nearest_clause(meant, tuple(word for word in shape.clauses if word not in present))
            if word:
                del parsed.mistakes[before:]
                pending += _split_at(clause, meant, word, parsed.mistakes)
                heads.pop(clause.word, None)
                broken.add("")
                continue
        if len(parsed.mistakes) > before:
            broken.add(clause.word)
    _check_present(shape, heads, draft, parsed, broken)
    return found, broken


def _read_clause(
    shape: _StatementShape,
    clause: Clause,
    heads: dict[str, Token],
    found: dict[str, Any],
    text: str,
    parsed: Parsed,
) -> Token | None:
    """Read one clause into `found` and its mistakes into `parsed`; returns the token it was stuck at, if at any."""
    word, mistakes = clause.word, parsed.mistakes
    shown = _SHOWN.get(word, word)
    if not word:
        following = clause.tokens[1] if len(clause.tokens) > 1 else None
        needed = (other for other, _ in shape.required if other not in heads)
        expected = habit_of_word(clause.head, following) or f"expected `{next(needed, 'WHERE')}`"
        mistakes.append(_unexpected(clause.head, text, expected))
        return clause.head
    if word not in shape.clauses:
        mistakes.append(
            Mistake(f"CREATE {shape.title.upper()} has no {shown}", clause.head.span, shape.foreign)
        )
    elif (other := {"RETURN": "AGGREGATE", "AGGREGATE": "RETURN"}.get(word)) in heads:
        note = "AGGREGATE gives totals of trends, RETURN columns of matches"
        mistakes.append(Mistake(f"{word} beside {other}", clause.head.span, note))
    elif word in heads:
        note = f"the first stands in line {heads[word].line}"
        note += "; write one WHERE with AND between the conditions" if word == "WHERE" else ""
        mistakes.append(Mistake(f"{shown} is given twice", clause.head.span, note))
    else:
        _check_order(shape, word, clause.head, heads, mistakes)
    first = word not in heads
    heads.setdefault(word, clause.head)
    rule = "file" if shape is _TABLE and word == "FROM" else _RULES.get(word, shape.select) or "items"
    if len(clause.tokens) == 1:
        mistakes.append(Mistake(f"{shown} is empty", clause.head.span, _WANTED[rule]))
        return None
    outcome = read(rule, clause.tokens, text)
    mistakes += outcome.mistakes
    if outcome.value is not None:
        mistakes += _wrong_values(shape, word, outcome.value)
        if first:
            found[word] = outcome.value
    return outcome.stuck


def _check_order(
    shape: _StatementShape, word: str, head: Token, heads: dict[str, Token], mistakes: list[Mistake]
) -> None:
    """The clauses of `order` open the statement, one after the other; the others follow in any order."""
    rank = {other: at for at, other in enumerate(shape.order)}
    after = [other for other in heads if rank.get(other, len(rank)) > rank.get(word, len(rank))]
    if after:
        later = _SHOWN.get(after[0], after[0])
        shown = _SHOWN.get(word, word)
        mistakes.append(Mistake(f"{shown} comes before {later}", head.span, f"move it before `{later}`"))
    if word == "ON" and "JOIN" not in heads:
        mistakes.append(
            Mistake("ON without JOIN", head.span, "expected `JOIN` and the name of a stream before it")
        )


def _split_at(clause: Clause, meant: Token, word: str, mistakes: list[Mistake]) -> list[Clause]:
    """A clause that runs into a misspelled keyword: its two halves, the second one first."""
    shown = _SHOWN.get(word, word)
    mistakes.append(Mistake(f"unknown clause `{meant.value}`", meant.span, f"did you mean `{shown}`?"))
    at = next(k for k, token in enumerate(clause.tokens) if token.start_pos == meant.start_pos)
    rest = clause.tokens[at + 1 :]
    if word in SECOND_WORDS and rest and is_word(rest[0], SECOND_WORDS[word]):
        rest = rest[1:]
    halves = [Clause(word, meant, rest)]
    if clause.word:
        halves.append(Clause(clause.word, clause.head, clause.tokens[: at + 1]))
    return halves


def _check_present(
    shape: _StatementShape, heads: dict[str, Token], draft: StatementDraft, parsed: Parsed, broken: set[str]
) -> None:
    """Required clauses must be there, unless a string that was never closed may have swallowed them."""
    for word, note in shape.required:
        if word not in heads:
            broken.add(word)
            if not any(token.type == "OPEN" for token in draft.tokens):
                what = f"{shape.title} `{parsed.name}`" if parsed.name else f"this {shape.title}"
                named = draft.tokens[1 if shape is _QUERY else 2] if parsed.name else draft.tokens[0]
                parsed.mistakes.append(Mistake(f"{what} has no {word}", named.span, note))


def _wrong_values(shape: _StatementShape, word: str, value: Any) -> Iterable[Mistake]:
    """Values that the grammar allows and the language does not."""
    if word == "WITHIN":
        yield from _wrong_window(shape, *value)
    elif word in ("KEEP", "LIMIT"):
        yield from problems(*((value, None) if word == "KEEP" else (None, value)))
    elif shape is _TABLE and word == "FROM" and not (isinstance(value.value, str) and value.value):
        yield Mistake("a table is read from a file", value.span, _WANTED["file"])
    elif (
        shape is _EVENT
        and word == "SELECT"
        and not (len(value) == 1 and isinstance(value[0].value, syntax.Star))
    ):
        yield Mistake(
            "an event keeps all attributes", value[0].span, "expected `*`; CREATE STREAM has projections"
        )
    elif shape is _EVENT and word == "FROM" and value.alias is not None:
        yield Mistake(
            "the source of an event takes no variable", value.span, "expected the name of a stream alone"
        )


def _wrong_window(
    shape: _StatementShape, within: syntax.Within, slide: syntax.Duration | None
) -> Iterable[Mistake]:
    if within.row is not None:
        if shape in (_STREAM, _PATTERN_STREAM):
            yield Mistake("the window of a stream is a duration", within.span, "as in `WITHIN 60 SECONDS`")
    elif not isinstance(within.size, int):
        yield Mistake("events are counted in whole numbers", within.span)
    elif wrong := size_problem(within.size, "window"):
        yield Mistake(wrong[0], within.span, wrong[1])
    if slide is not None and shape is not _QUERY:
        yield Mistake("only the window of a query has a SLIDE", slide.span)
    elif slide is not None and (wrong := size_problem(slide.us, "SLIDE")):
        yield Mistake(wrong[0], slide.span, wrong[1])


def _policy(word: Token | None, mistakes: list[Mistake], broken: set[str]) -> Any:
    if word is None:
        return None
    policy = word.value.upper()
    if policy in _POLICIES:
        return policy
    broken.add("SELECT")
    hint = near(policy, _POLICIES) or _WANTED["policy"]
    mistakes.append(Mistake(f"unknown policy `{word.value}`", word.span, hint))
    return None


def _unexpected(token: Token, text: str, expected: str) -> Mistake:
    if token.type == "END":
        return Mistake("unexpected end of the text", token.span, expected)
    return Mistake(f"unexpected `{text[token.start_pos : token.end_pos]}`", token.span, expected)


def _whole(tokens: Sequence[Token]) -> Span:
    first, last = tokens[0], tokens[-2]
    return Span(first.line, first.column, last.end_line, last.end_column)
