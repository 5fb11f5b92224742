"""Terms over texts, times and lists as written to typed terms: patterns, networks, units and zones are checked here."""

from collections.abc import Callable
from ipaddress import ip_network
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from stretto.errors import near
from stretto.pattern.binding.kinds import a, kind_of, to_float
from stretto.pattern.binding.scope import listing
from stretto.pattern.binding.written import is_quoted
from stretto.pattern.functions import NUMBERS, SIGNATURES, Signature
from stretto.pattern.predicates import Apply, Const, Element, Expr
from stretto.records import dataclass
from stretto.schema import LISTS, Kind
from stretto.text import syntax
from stretto.text.regular_expressions import regex_problem

if TYPE_CHECKING:
    from stretto.pattern.binding.terms import ExpressionBinder

UNITS: Final = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
"""What DATE_TRUNC cuts times to."""


@dataclass(slots=True)
class Quantified:
    """The list that ANY or ALL inside of a condition goes through, once there is one."""

    word: str = ""
    of: Expr | None = None


def is_condition(node: syntax.Expression) -> bool:
    """Whether a node is true or false by what it is, so that ANY and ALL inside of it end there."""
    match node:
        case syntax.Binary(op=op):
            return op not in ("+", "-", "*", "/", "%")
        case syntax.Call(function=name):
            return name in ("STARTS_WITH", "ENDS_WITH", "CONTAINS", "CIDR_MATCH")
    return True


def quantify(bound: Expr | None, found: Quantified | None) -> Expr | None:
    """A condition over the elements of a list as one over the list."""
    if bound is None or found is None or found.of is None:
        return bound
    return Apply(found.word.lower(), (found.of, bound), Kind.BOOL)


# ---- LIKE, MATCHES, CONTAINS -------------------------------------------------------------------------------


def bind_text_test(binder: "ExpressionBinder", node: syntax.TextTest) -> Expr | None:
    found = _contains(binder, node) if node.word == "CONTAINS" else _like(binder, node)
    return Apply("not", (found,), Kind.BOOL) if found is not None and node.negated else found


def _like(binder: "ExpressionBinder", node: syntax.TextTest) -> Expr | None:
    value = _of_kind(binder, node.value, Kind.STRING, node.word)
    pattern = _constant(binder, node.pattern, f"the pattern of {node.word}")
    if node.escape is None:
        rest: tuple[Const, ...] = ()
    else:
        escape = _constant(binder, node.escape, "ESCAPE")
        if escape is None:
            return None
        if node.word not in ("LIKE", "ILIKE") or len(str(escape.value)) != 1:
            message = (
                "ESCAPE takes one character"
                if node.word in ("LIKE", "ILIKE")
                else f"{node.word} has no ESCAPE"
            )
            binder.report.add(message, node.escape.span, "as in `LIKE '50!%' ESCAPE '!'`")
            return None
        rest = (escape,)
    if value is None or pattern is None:
        return None
    text = str(pattern.value)
    if node.word in ("MATCHES", "IMATCHES"):
        problem = regex_problem(text)
        if problem:
            note = "regular expressions are RE2's: no back-references, no look-around"
            binder.report.add(f"not a regular expression: {problem}", node.pattern.span, note)
            return None
    elif rest and _ends_in_escape(text, str(rest[0].value)):
        binder.report.add(
            "the pattern ends in its ESCAPE", node.pattern.span, "nothing is there to be escaped"
        )
        return None
    return Apply(node.word.lower(), (value, pattern, *rest), Kind.BOOL)


def _ends_in_escape(pattern: str, escape: str) -> bool:
    at = 0
    while at < len(pattern):
        if pattern[at] == escape:
            at += 1
            if at == len(pattern):
                return True
        at += 1
    return False


def _contains(binder: "ExpressionBinder", node: syntax.TextTest) -> Expr | None:
    value, part = binder.expression(node.value), binder.expression(node.pattern)
    if value is None or part is None:
        return None
    return _holding(binder, value, part, node)


def _holding(binder: "ExpressionBinder", value: Expr, part: Expr, node: syntax.Expression) -> Expr | None:
    kind, wanted = kind_of(value), kind_of(value).element or Kind.STRING
    if kind is not Kind.STRING and kind not in LISTS:
        message = f"`CONTAINS` cannot search {a(kind)}"
        binder.report.add(message, node.span, "it takes a text or a list")
        return None
    if kind_of(part) in NUMBERS and wanted is Kind.FLOAT:
        part = to_float(part)
    if kind_of(part) is not wanted:
        binder.report.add(f"type clash: {kind} CONTAINS {kind_of(part)}", node.span, f"it takes {a(wanted)}")
        return None
    return Apply("contains" if kind is Kind.STRING else "has", (value, part), Kind.BOOL)


# ---- functions ---------------------------------------------------------------------------------------------


def bind_function(binder: "ExpressionBinder", node: syntax.Call) -> Expr | None:
    """A call of a function of texts, times or lists."""
    signature = SIGNATURES.get(node.function)
    if signature is not None:
        return _fixed(binder, node, signature)
    return _SPECIAL[node.function](binder, node)


def _fixed(binder: "ExpressionBinder", node: syntax.Call, signature: Signature) -> Expr | None:
    if not binder.arity(node, signature.least, len(signature.takes)):
        return None
    bound = [
        binder.argument(node, i, binder.expression(argument), takes)
        for i, (argument, takes) in enumerate(zip(node.arguments, signature.takes, strict=False))
    ]
    known = tuple(argument for argument in bound if argument is not None)
    if len(known) < len(bound):
        return None
    if signature.op == "length" and kind_of(known[0]) in LISTS:
        return Apply("size", known, Kind.INT)
    if signature.takes[0] == {Kind.TIME} or signature.op == "date_trunc":
        known_words = _time_words(binder, node, signature, known)
        if known_words is None:
            return None
        known = known_words
    return Apply(signature.op, known, signature.result)


def _time_words(
    binder: "ExpressionBinder", node: syntax.Call, signature: Signature, known: tuple[Expr, ...]
) -> tuple[Expr, ...] | None:
    """The unit and the zone of a function of times, which must be constants that exist."""
    truncates = signature.op == "date_trunc"
    if truncates:
        unit = _constant(binder, node.arguments[0], "the unit of DATE_TRUNC")
        if unit is None:
            return None
        word = str(unit.value).lower()
        if word not in UNITS:
            note = near(word, UNITS) or f"known: {', '.join(UNITS)}"
            binder.report.add(f"unknown unit `{unit.value}`", node.arguments[0].span, note)
            return None
        known = (Const(word, Kind.STRING), *known[1:])
    if len(known) == len(signature.takes):
        zone = _constant(binder, node.arguments[-1], "the zone of a time")
        if zone is None:
            return None
        try:
            ZoneInfo(str(zone.value))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            note = "as in `'Europe/Berlin'` or `'UTC'`"
            binder.report.add(f"unknown time zone `{zone.value}`", node.arguments[-1].span, note)
            return None
    return known


def _concat(binder: "ExpressionBinder", node: syntax.Call) -> Expr | None:
    return _variadic(binder, node, "concat", Kind.STRING)


def _variadic(binder: "ExpressionBinder", node: syntax.Call, op: str, kind: Kind) -> Expr | None:
    if not binder.arity(node, 1, None):
        return None
    bound = [
        binder.argument(node, i, binder.expression(part), frozenset({kind}))
        for i, part in enumerate(node.arguments)
    ]
    known = tuple(part for part in bound if part is not None)
    return Apply(op, known, kind) if len(known) == len(bound) else None


def _contains_call(binder: "ExpressionBinder", node: syntax.Call) -> Expr | None:
    if not binder.arity(node, 2, 2):
        return None
    value, part = (binder.expression(argument) for argument in node.arguments)
    return None if value is None or part is None else _holding(binder, value, part, node)


def _cidr_match(binder: "ExpressionBinder", node: syntax.Call) -> Expr | None:
    if not binder.arity(node, 2, None):
        return None
    value = _of_kind(binder, node.arguments[0], Kind.STRING, node.function)
    networks: list[Const] = []
    for argument in node.arguments[1:]:
        network = _constant(binder, argument, "a network")
        if network is None:
            continue
        try:
            networks.append(Const(str(ip_network(str(network.value), strict=False)), Kind.STRING))
        except ValueError:
            note = "as in `'10.0.0.0/8'` or `'fd00::/8'`"
            binder.report.add(f"`{network.value}` is no network", argument.span, note)
    if value is None or len(networks) < len(node.arguments) - 1:
        return None
    return Apply("cidr_match", (value, *networks), Kind.BOOL)


def _coalesce(binder: "ExpressionBinder", node: syntax.Call) -> Expr | None:
    if not binder.arity(node, 1, None):
        return None
    bound = [binder.expression(argument) for argument in node.arguments]
    known = [argument for argument in bound if argument is not None]
    if len(known) < len(bound):
        return None
    alike = _alike(binder, known, node)
    return None if alike is None else Apply("coalesce", tuple(alike), kind_of(alike[0]))


def _quantifier(binder: "ExpressionBinder", node: syntax.Call) -> Expr | None:
    """ANY or ALL of a list: an element, in the condition around it."""
    if not binder.arity(node, 1, 1):
        return None
    value = binder.argument(node, 0, binder.expression(node.arguments[0]), LISTS)
    if value is None:
        return None
    if binder.quantified is None:
        note = f"as in `{node.function}(a.args) LIKE '%x%'`"
        binder.report.add(f"`{node.function}` of a list stands in a comparison", node.span, note)
        return None
    if binder.quantified.of is not None:
        note = "split it into two terms"
        binder.report.add("a comparison goes through one list", node.span, note)
        return None
    binder.quantified.word, binder.quantified.of = node.function, value
    element = kind_of(value).element
    assert element is not None
    return Element(element)


_SPECIAL: Final[dict[str, Callable[["ExpressionBinder", syntax.Call], Expr | None]]] = {
    "CONCAT": _concat,
    "CONTAINS": _contains_call,
    "CIDR_MATCH": _cidr_match,
    "COALESCE": _coalesce,
    "ANY": _quantifier,
    "ALL": _quantifier,
}


# ---- CASE --------------------------------------------------------------------------------------------------


def bind_case(binder: "ExpressionBinder", node: syntax.Case) -> Expr | None:
    conditions = [binder.condition(when) for when, _ in node.whens]
    written = [value for _, value in node.whens] + ([] if node.otherwise is None else [node.otherwise])
    values = [binder.expression(value) for value in written]
    known = [value for value in values if value is not None]
    judged = [condition for condition in conditions if condition is not None]
    if len(known) < len(values) or len(judged) < len(conditions):
        return None
    alike = _alike(binder, known, node)
    if alike is None:
        return None
    kind = kind_of(alike[0])
    otherwise = alike.pop() if node.otherwise is not None else Const(None, kind)
    parts = [part for pair in zip(judged, alike, strict=True) for part in pair]
    return Apply("case", (*parts, otherwise), kind)


# ---- what several of them ask ------------------------------------------------------------------------------


def _alike(binder: "ExpressionBinder", values: list[Expr], node: syntax.Expression) -> list[Expr] | None:
    """Values of one kind; integers beside doubles become doubles."""
    kinds = {kind_of(value) for value in values}
    if len(kinds) > 1 and kinds <= NUMBERS:
        return [to_float(value) for value in values]
    if len(kinds) > 1:
        binder.report.add(f"type clash: values of {listing(kinds)}", node.span, "use one kind")
        return None
    return values


def _of_kind(binder: "ExpressionBinder", node: syntax.Expression, kind: Kind, what: str) -> Expr | None:
    bound = binder.expression(node)
    if bound is None or kind_of(bound) is kind:
        return bound
    note = (
        "write `ANY(x)` or `ALL(x)` for the elements of a list"
        if kind_of(bound) in LISTS
        else f"it takes {a(kind)}"
    )
    binder.report.add(f"`{what}` cannot take {a(kind_of(bound))}", node.span, note)
    return None


def _constant(binder: "ExpressionBinder", node: syntax.Expression, what: str) -> Const | None:
    """A text that stands in the query itself, so that it is looked at once, and now."""
    if isinstance(node, syntax.Literal) and isinstance(node.value, str):
        return Const(node.value, Kind.STRING)
    before = len(binder.report.mistakes)
    bound = None if isinstance(node, syntax.Name) and node.variable is None else binder.expression(node)
    if isinstance(bound, Const) and bound.kind is Kind.STRING:
        return bound
    if len(binder.report.mistakes) == before:
        note = "it must not depend on events"
        if isinstance(node, syntax.Name) and is_quoted(node):
            note = f"write '{node.name}'; double quotes are for names"
        binder.report.add(f"{what} is a text in single quotes", node.span, note)
    return None
