"""What the generators of workloads have in common: readable files of queries, and checks of options."""

from collections.abc import Sequence

from stretto.errors import StrettoError
from stretto.records import dataclass

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WIDE = 90


@dataclass(frozen=True, slots=True)
class Written:
    """One query without its name: clauses in the language, `more` of them line by line, and a note above it."""

    pattern: str
    window: str
    where: tuple[str, ...] = ()
    note: str = ""
    more: tuple[str, ...] = ()


def workload_text(header: Sequence[str], definitions: Sequence[str], queries: Sequence[Written]) -> str:
    """Comments that tell how the workload was made, its definitions, and the queries as q1, q2, .."""
    digits = len(str(len(queries)))
    parts = ["\n".join(f"-- {line}" for line in header)]
    if definitions:
        parts.append("\n".join(definitions))
    parts += [_query(f"q{number:0{digits}d}", query) for number, query in enumerate(queries, start=1)]
    return "\n\n".join(parts) + "\n"


def _query(name: str, query: Written) -> str:
    lines = [f"-- {query.note}"] if query.note else []
    lines += [f"QUERY {name}", f"PATTERN {query.pattern}"]
    if query.where:
        lines.append("WHERE   " + _wrapped(query.where))
    return "\n".join([*lines, f"WITHIN  {query.window}", *query.more]) + ";"


def _wrapped(terms: Sequence[str]) -> str:
    """Terms in lines of a readable length."""
    text = terms[0]
    for term in terms[1:]:
        here = f" AND {term}"
        wide = len(text) - text.rfind("\n") + len(here) > WIDE
        text += f" AND\n        {term}" if wide else here
    return text


def need_shares(most: float = 1.0, **shares: float | None) -> None:
    """Refuse options that are not between 0 and `most`; None was not given."""
    for name, share in shares.items():
        if share is not None and not 0.0 <= share <= most:
            raise StrettoError(f"{name} must be between 0 and {most:g}, not {share}")
