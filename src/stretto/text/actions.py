"""What each rule of the grammar builds: syntax nodes with their spans. Pure functions of the parts of the rule.

The names are those of the rules and of the aliases behind `->` in grammar.lark; each takes the list of all parts,
signs and keywords included.
"""

from collections.abc import Callable
from typing import Any, Literal, cast

from stretto.errors import Span
from stretto.text import syntax
from stretto.text.tokens import Token

Parts = list[Any]
_BOUNDS: dict[str, tuple[int, int | None]] = {"PLUS": (1, None), "STAR": (0, None), "QMARK": (0, 1)}


def _across(first: Any, last: Any) -> Span:
    """From the start of one token or node to the end of another."""
    start = first if isinstance(first, Token) else first.span
    end = last if isinstance(last, Token) else last.span
    return Span(start.line, start.column, end.end_line, end.end_column)


def _is(part: Any, kind: str) -> bool:
    return isinstance(part, Token) and part.type == kind


def logic(word: str, parts: list[syntax.Expression], span: Span | None = None) -> syntax.Logic:
    """AND or OR of the parts; those of the same word are taken apart, since a Logic never holds its own word."""
    flat: list[syntax.Expression] = []
    for part in parts:
        if isinstance(part, syntax.Logic) and part.word == word:
            flat.extend(part.parts)
        else:
            flat.append(part)
    return syntax.Logic(cast("Any", word), tuple(flat), span=span)


def conjuncts(expression: syntax.Expression) -> tuple[syntax.Expression, ...]:
    """The terms of a condition: the parts of a top-level AND, else the expression alone."""
    if isinstance(expression, syntax.Logic) and expression.word == "AND":
        return expression.parts
    return (expression,)


Action = Callable[["Actions", Parts], Any]


def _leaf(kind: Callable[..., syntax.Expression]) -> Action:
    """What one token says by its value."""
    return lambda _, parts: kind(parts[0].value, span=parts[0].span)


def _listed(word: Literal["SEQ", "AND", "ANY"]) -> Action:
    """Patterns with a sign between each two."""
    return lambda _, parts: syntax.Combine(word, tuple(parts[::2]), span=_across(parts[0], parts[-1]))


class Actions:
    """One method per rule; lark calls them while it parses, so no parse tree is ever built."""

    # ---- patterns

    def atom(self, parts: Parts) -> syntax.Atom:
        variable = parts[1].value if len(parts) == 2 else None
        return syntax.Atom(parts[0].value, variable, span=_across(parts[0], parts[-1]))

    def named_late(self, parts: Parts) -> syntax.Repeat:
        """`Buy+ d` is `Buy d+`."""
        repeat, name = parts
        span = _across(repeat, name)
        atom = syntax.Atom(repeat.part.type, name.value, span=span)
        return syntax.Repeat(atom, repeat.low, repeat.high, span=span)

    def repeat(self, parts: Parts) -> syntax.Repeat:
        part, sign = parts
        low, high = sign.value if sign.type == "REPEAT" else _BOUNDS[sign.type]
        return syntax.Repeat(part, low, high, span=_across(part, sign))

    def kleene(self, parts: Parts) -> syntax.Repeat:
        return syntax.Repeat(parts[2], 1, None, span=_across(parts[0], parts[3]))

    def negation(self, parts: Parts) -> syntax.Not:
        return syntax.Not(parts[1], span=_across(parts[0], parts[1]))

    def negate(self, parts: Parts) -> syntax.Not:
        return syntax.Not(parts[2], span=_across(parts[0], parts[3]))

    def combine(self, parts: Parts) -> syntax.Combine:
        return syntax.Combine(parts[0].value, tuple(parts[2:-1:2]), span=_across(parts[0], parts[-1]))

    pattern, choice, both = _listed("SEQ"), _listed("ANY"), _listed("AND")

    def inner(self, parts: Parts) -> Any:
        return parts[1]

    # ---- expressions

    def condition(self, parts: Parts) -> tuple[syntax.Expression, ...]:
        return conjuncts(parts[0])

    def expression(self, parts: Parts) -> syntax.Logic:
        return logic("OR", parts[::2], _across(parts[0], parts[-1]))

    def conjunction(self, parts: Parts) -> syntax.Logic:
        return logic("AND", parts[::2], _across(parts[0], parts[-1]))

    def unary(self, parts: Parts) -> syntax.Unary:
        op: Any = "NOT" if parts[0].type == "NOT" else "-"
        return syntax.Unary(op, parts[1], span=_across(parts[0], parts[1]))

    def binary(self, parts: Parts) -> syntax.Binary:
        left, op, right = parts
        start, end = left.span, right.span
        span = Span(start.line, start.column, end.end_line, end.end_column)
        return syntax.Binary(op.value, left, right, span=span)

    def is_in(self, parts: Parts) -> syntax.In:
        negated = parts[1].type == "NOT"
        options = tuple(parts[3 + negated : -1 : 2])
        return syntax.In(parts[0], options, negated, span=_across(parts[0], parts[-1]))

    def between(self, parts: Parts) -> syntax.Between:
        value, low, high = parts[0], parts[-3], parts[-1]
        return syntax.Between(value, low, high, parts[1].type == "NOT", span=_across(value, high))

    def is_null(self, parts: Parts) -> syntax.IsNull:
        return syntax.IsNull(parts[0], parts[2].type == "NOT", span=_across(parts[0], parts[-1]))

    def text_test(self, parts: Parts) -> syntax.TextTest:
        negated = parts[1].type == "NOT"
        test, pattern, *more = parts[1 + negated :]
        escape = more[1] if more else None
        span = _across(parts[0], parts[-1])
        return syntax.TextTest(test.value, parts[0], pattern, escape, negated, span=span)

    def when(self, parts: Parts) -> tuple[syntax.Expression, syntax.Expression]:
        return parts[1], parts[3]

    def case(self, parts: Parts) -> syntax.Case:
        whens = tuple(part for part in parts if isinstance(part, tuple) and not isinstance(part, Token))
        otherwise = parts[-2] if isinstance(parts[-2], syntax.Expression) else None
        return syntax.Case(whens, otherwise, span=_across(parts[0], parts[-1]))

    def path(self, parts: Parts) -> Token:
        """`process.name`: a field of a struct, as one name."""
        if len(parts) == 1:
            return cast("Token", parts[0])
        first, last = parts[0], parts[-1]
        joined = ".".join(part.value for part in parts[::2])
        return Token(
            "NAME",
            joined,
            first.start_pos,
            first.line,
            first.column,
            last.end_line,
            last.end_column,
            last.end_pos,
        )

    literal = _leaf(syntax.Literal)
    duration = _leaf(syntax.Duration)
    timestamp = _leaf(syntax.Timestamp)
    name = _leaf(syntax.Name)

    def null(self, parts: Parts) -> syntax.Literal:
        return syntax.Literal(None, span=parts[0].span)

    def name_of(self, parts: Parts) -> syntax.Name:
        variable, _, name = parts
        span = Span(variable.line, variable.column, name.end_line, name.end_column)
        return syntax.Name(name.value, variable.value, span=span)

    def indexed(self, parts: Parts) -> syntax.Name:
        variable, index, _, name = parts
        return syntax.Name(name.value, variable.value, index.value, span=_across(variable, name))

    def star(self, parts: Parts) -> syntax.Star:
        return syntax.Star(span=parts[0].span)

    def star_of(self, parts: Parts) -> syntax.Star:
        return syntax.Star(parts[0].value, span=_across(parts[0], parts[-1]))

    def call(self, parts: Parts) -> syntax.Call:
        arguments = tuple(parts[2:-1:2])
        return syntax.Call(parts[0].value.upper(), arguments, span=_across(parts[0], parts[-1]))

    def field(self, parts: Parts) -> syntax.Call:
        call, _, name = parts
        return syntax.Call(call.function, call.arguments, name.value, span=_across(call, name))

    def same(self, parts: Parts) -> syntax.Expression:
        names = [syntax.Same(token.value, span=token.span) for token in parts[1:-1:2]]
        if len(names) == 1:
            return syntax.Same(names[0].attribute, span=_across(parts[0], parts[-1]))
        return syntax.Logic("AND", tuple(names), span=_across(parts[0], parts[-1]))

    # ---- the other clauses

    def window(self, parts: Parts) -> tuple[syntax.Within, syntax.Duration | None]:
        size = parts[0]
        within = syntax.Within(size.value, "events" if size.type == "COUNT" else "us", span=size.span)
        return within, (syntax.Duration(parts[2].value, span=parts[2].span) if len(parts) == 3 else None)

    def row_window(self, parts: Parts) -> tuple[syntax.Within, None]:
        row = self.name_of(parts)
        return syntax.Within(0, row=row, span=row.span), None

    def for_each(self, parts: Parts) -> syntax.ForEach:
        table, *rest = parts
        named = bool(rest) and rest[0].type == "NAME"
        key = self.name_of(rest[-3:]) if len(rest) > 1 else None
        variable = rest[0].value if named else None
        return syntax.ForEach(table.value, variable, key, span=_across(table, parts[-1]))

    def file(self, parts: Parts) -> Token:
        return cast("Token", parts[0])

    def keep(self, parts: Parts) -> syntax.Keep:
        per = tuple(part for part in parts if isinstance(part, syntax.Expression))
        lasting = (
            syntax.Duration(parts[-1].value, span=parts[-1].span) if _is(parts[-1], "DURATION") else None
        )
        word: Any = parts[0].value.upper()
        return syntax.Keep(word, per, lasting, span=_across(parts[0], parts[-1]))

    def limit(self, parts: Parts) -> syntax.Limit:
        per = parts[-1].value if len(parts) == 3 else 0
        return syntax.Limit(parts[0].value, syntax.Duration(per), span=_across(parts[0], parts[-1]))

    def policy(self, parts: Parts) -> Token:
        return cast("Token", parts[0])

    def listed(self, parts: Parts) -> tuple[Any, ...]:
        return tuple(parts[::2])

    returned = items = group_names = listed

    def item(self, parts: Parts) -> syntax.Item:
        name = parts[2].value if len(parts) == 3 else None
        return syntax.Item(parts[0], name, span=_across(parts[0], parts[-1]))

    def source(self, parts: Parts) -> syntax.Source:
        alias = parts[1].value if len(parts) == 2 else None
        return syntax.Source(parts[0].value, alias, span=_across(parts[0], parts[-1]))
