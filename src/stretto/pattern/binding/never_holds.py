"""Terms that can never hold, as far as the text alone tells: `x > 5 AND x < 3`, `COUNT(a) >= 5` of one event."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Final

from stretto.errors import Mistake
from stretto.pattern.binding.scope import Known
from stretto.pattern.binding.written import bounds_of
from stretto.records import dataclass
from stretto.text import syntax
from stretto.text.printer import expression_text

KIND: Final = "terms that can never hold"
_COMPARE: Final = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_TURNED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True, slots=True)
class _Bound:
    """A comparison of one attribute, or of the COUNT of a variable, with a constant."""

    what: syntax.Expression
    op: str
    value: float | str
    term: syntax.Expression

    @property
    def key(self) -> str:
        return expression_text(self.what)


_Bounds = dict[str | tuple[str, float | str], _Bound]
"""The bounds of one attribute by the sign of their comparison; excluded values each by itself."""


def never_holding(terms: Iterable[syntax.Expression], variables: Mapping[str, Known]) -> list[Mistake]:
    """A warning for each term that no event satisfies, alone or beside a term before it.

    `terms` hold together. A term that names a variable which a match leaves unbound does not apply to that match.
    """
    warnings: list[Mistake] = []
    seen: dict[str, _Bounds] = {}
    for bound in (bound for term in terms for bound in _bounds(term)):
        if isinstance(bound.what, syntax.Call):
            known = variables.get(_counted(bound.what))
            single = known is not None and not known.listed and not known.negated
            if known is not None and single and not _holds_for_one(bound):
                note = f"`{known.name}` is not repeated and binds one event: write `Type {known.name}+` for several"
                text = f"`{expression_text(bound.term)}` can never hold"
                warnings.append(Mistake(text, bound.term.span, note, KIND))
            continue
        before = seen.setdefault(bound.key, {})
        other = next((rival for rival in _rivals(before, bound) if _exclude([rival, bound])), None)
        if other is not None:
            text = f"`{expression_text(other.term)}` and `{expression_text(bound.term)}` can never both hold"
            note = "write OR between them, or correct a constant"
            warnings.append(Mistake(text, bound.term.span, note, KIND))
        _keep(before, bound)
    return warnings


def _keep(before: _Bounds, bound: _Bound) -> None:
    """Keep the first equality, every excluded value, and the tightest bound on each side.

    So a new bound is compared with four others at most, however many bounds an attribute has.
    """
    place: str | tuple[str, float | str] = bound.op[0]
    if bound.op == "!=":
        place = (bound.op, bound.value)
    other = before.get(place)
    if other is None or _is_tighter(bound, other):
        before[place] = bound


def _is_tighter(bound: _Bound, other: _Bound) -> bool:
    """Whether a bound excludes more than another bound of the same side; of equalities the first stays."""
    if bound.op in ("=", "!=") or isinstance(bound.value, str) or isinstance(other.value, str):
        return False
    if bound.value == other.value:
        return len(bound.op) < len(other.op)
    return (bound.value > other.value) == (bound.op[0] == ">")


def _rivals(before: _Bounds, bound: _Bound) -> Iterator[_Bound]:
    """Yield the bounds that may exclude a bound of the same attribute."""
    for place in ("=", "<", ">", ("!=", bound.value)):
        if place in before:
            yield before[place]


def _bounds(term: syntax.Expression) -> Iterable[_Bound]:
    if isinstance(term, syntax.Between) and not term.negated:
        return [bound for part in bounds_of(term) for bound in _bounds(part)]
    if not isinstance(term, syntax.Binary) or term.op not in _COMPARE:
        return []
    left, right, op = term.left, term.right, term.op
    if isinstance(left, syntax.Literal):
        left, right, op = right, left, _TURNED.get(op, op)
    value = right.value if isinstance(right, syntax.Literal) else None
    if value is None or isinstance(value, bool):
        return []
    is_attribute = isinstance(left, syntax.Name) and not left.index
    is_count = isinstance(left, syntax.Call) and bool(_counted(left))
    return [_Bound(left, op, value, term)] if is_attribute or is_count else []


def _counted(call: syntax.Call) -> str:
    """The variable of COUNT(v); empty for other calls."""
    if call.function != "COUNT" or len(call.arguments) != 1 or not isinstance(call.arguments[0], syntax.Name):
        return ""
    name = call.arguments[0]
    return name.variable or name.name


def _holds_for_one(bound: _Bound) -> bool:
    return isinstance(bound.value, str) or bool(_COMPARE[bound.op](1, bound.value))


def _exclude(bounds: Sequence[_Bound]) -> bool:
    """Whether no value satisfies all of these comparisons of one attribute."""
    equal = [bound.value for bound in bounds if bound.op == "="]
    if any(isinstance(bound.value, str) for bound in bounds):
        texts = {value for value in equal if isinstance(value, str)}
        return len(texts) > 1 or any(
            bound.op == "!=" and bound.value in texts for bound in bounds if isinstance(bound.value, str)
        )
    numbers = [(bound.op, float(bound.value)) for bound in bounds]
    lows = [(value, op == ">") for op, value in numbers if op in (">", ">=", "=")]
    highs = [(value, op == "<") for op, value in numbers if op in ("<", "<=", "=")]
    crossed = any(
        low > high or (low == high and (above or below)) for low, above in lows for high, below in highs
    )
    return crossed or any(bound.op == "!=" and bound.value in equal for bound in bounds)
