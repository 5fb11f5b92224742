"""Terms that compare an expression of one event with constants, and which of them many scans look up together."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from stretto.pattern.comparisons import RANGES, flipped
from stretto.pattern.predicates import Apply, Const, Expr, columns_of
from stretto.records import dataclass
from stretto.schema import Kind
from stretto.text.regular_expressions import like_parts

INDEX_FROM: Final = 4
"""So many scans of a type must compare the same expression before sorting its values pays."""


@dataclass(frozen=True, slots=True)
class ConstantTerm:
    """`of op constants`, the expression on the left; `op` leaves a range of values, or is `in`."""

    of: Expr
    op: str
    constants: tuple[Const, ...]

    @property
    def exact(self) -> bool:
        return self.op in ("=", "in")

    @property
    def kind(self) -> Kind:
        return self.constants[0].kind


def constant_term(term: Expr) -> ConstantTerm | None:
    """The term as a comparison with constants that an order of keys answers, if it is one."""
    if not isinstance(term, Apply):
        return None
    term = _as_equality(term)
    if term.op not in RANGES and term.op != "in":
        return None
    if term.op != "in" and isinstance(term.arguments[0], Const):
        term = flipped(term)
    of, *others = term.arguments
    constants = tuple(other for other in others if isinstance(other, Const))
    if not columns_of(of) or len(constants) < len(others):
        return None
    found = ConstantTerm(of, term.op, constants)
    # Texts have codes in no order.
    return None if found.kind is Kind.STRING and not found.exact else found


def looked_up(scans: Sequence[Sequence[Expr]]) -> list[int | None]:
    """Of the scans of one type, given by their terms: the place of the term that a scan looks up, if it does."""
    if len(scans) < INDEX_FROM:
        return [None] * len(scans)
    terms = [[constant_term(term) for term in where] for where in scans]
    comparing = Counter(of for own in terms for of in {one.of for one in own if one})
    found: list[int | None] = []
    for own in terms:
        choices = [(not one.exact, i) for i, one in enumerate(own) if one and comparing[one.of] >= INDEX_FROM]
        found.append(min(choices)[1] if choices else None)
    return found


def _as_equality(term: Apply) -> Apply:
    """That a text begins with another, as an equality of its beginning; any other term as it is."""
    if term.op not in ("like", "starts_with") or not all(isinstance(a, Const) for a in term.arguments[1:]):
        return term
    words = [str(argument.value) for argument in term.arguments[1:] if isinstance(argument, Const)]
    parts = like_parts(*words) if term.op == "like" else [words[0], None]
    match parts:
        case [str(start), None] if start:
            places = Const(1, Kind.INT), Const(len(start), Kind.INT)
            begins = Apply("substr", (term.arguments[0], *places), Kind.STRING)
            return Apply("=", (begins, Const(start, Kind.STRING)), Kind.BOOL)
    return term
