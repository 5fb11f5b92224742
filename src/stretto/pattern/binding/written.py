"""What stands in a clause as written: its terms, and how variables are named in them."""

from collections.abc import Iterable, Iterator

from stretto.errors import Span
from stretto.pattern.binding.scope import Known
from stretto.pattern.predicates import Which
from stretto.records import dataclass
from stretto.text import syntax


@dataclass(frozen=True, slots=True)
class NamedVariable:
    """A variable named in an expression, and how: a Which, or the name of an aggregate."""

    variable: Known
    how: Which | str
    span: Span | None


def conjuncts(where: Iterable[syntax.Expression]) -> Iterator[syntax.Expression]:
    """The terms of a WHERE, with AND split. A BETWEEN is one term."""
    for node in where:
        if isinstance(node, syntax.Logic) and node.word == "AND":
            yield from conjuncts(node.parts)
        else:
            yield node


def is_quoted(node: syntax.Name) -> bool:
    """Whether a name alone stands in double quotes, as texts do in other languages."""
    at = node.span
    return (
        at is not None
        and node.variable is None
        and at.line == at.end_line
        and (at.end_column - at.column >= len(node.name) + 2)
    )


def bounds_of(node: syntax.Between) -> tuple[syntax.Expression, syntax.Expression]:
    return (
        syntax.Binary(">=", node.value, node.low, span=node.span),
        syntax.Binary("<=", node.value, node.high, span=node.span),
    )
