"""Random workloads of SELECT LAST: sequences of types and NOTs, with terms that their steps can decide."""

import re
from collections.abc import Callable
from random import Random

from tests.support.random_events import SCHEMA, TYPES, random_events
from tests.support.strategies import PatternWriter, Sample, Terms

from stretto.errors import QueryError
from stretto.pattern.workload import Workload


def last_query(rng: Random, name: str, streams: tuple[str, ...], *, keep: bool) -> str:
    """One query; where a term on a NOT named a later step, without that NOT's terms."""
    writer = PatternWriter(rng, streams, sets=0)
    parts = [writer.leaf(repeated=False) for _ in range(rng.choice((1, 2, 2, 2, 3, 3, 4)))]
    parts = writer.with_nots(parts, chance=0.35)
    pattern = f"SEQ({', '.join(parts)})" if len(parts) > 1 else parts[0]
    terms = Terms(rng, writer.variables)
    where = [terms.term() for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))]
    if rng.random() < 0.6:
        where += [
            f"[{attribute}]" for attribute in rng.sample(("k", "f", "s", "x", "at"), rng.choice((1, 1, 2)))
        ]
    unit = rng.choice(("us", "us", "us", "EVENTS"))
    returned = f" RETURN {', '.join(terms.returned())}" if rng.random() < 0.3 else ""
    thinned = rng.choice(("", "", "", " KEEP APART", " KEEP FIRST FOR 4 us")) if keep and unit == "us" else ""
    terms_text = f" WHERE {' AND '.join(where)}" if where else ""
    return (
        f"QUERY {name} PATTERN {pattern}{terms_text}"
        f" WITHIN {rng.choice((3, 5, 8, 12, 20))} {unit} SELECT LAST{returned}{thinned};"
    )


def last_workload(rng: Random, most: int = 36, *, keep: bool = True) -> Sample:
    """One or two queries that bind, and a stream that is longer than other policies would allow."""
    types = tuple(rng.sample(TYPES, rng.choice((2, 2, 3, 4))))
    texts: list[str] = []
    while len(texts) < rng.choice((1, 1, 2)):
        text = last_query(rng, f"q{len(texts)}", types, keep=keep)
        try:
            Workload.parse(text).bind(SCHEMA)
        except QueryError as error:
            assert "comes after the NOT" in str(error), (text, str(error))  # noqa: PT017 - else not worth a try
            continue
        texts.append(text)
    return Sample("\n".join(texts), SCHEMA, random_events(rng, types, most=most))


def reading_last(text: str, binds: Callable[[str], object]) -> str:
    """A workload whose sequences are read by LAST, as many of them as `binds` lets pass; HAVING is left out."""
    statements = text.split("\n")
    for number, statement in enumerate(statements):
        found = re.sub(r"HAVING .* WITHIN", "WITHIN", statement)
        found = re.sub(
            r"PATTERN .*?(?= WHERE| WITHIN)", lambda one: re.sub(r"[+*?]|\{[\d,]*\}", "", one[0]), found
        )
        found = re.sub(r"SELECT (NEXT|STRICT|ANY)", "SELECT LAST", found)
        changed = "\n".join([*statements[:number], found, *statements[number + 1 :]])
        try:
            binds(changed)
        except QueryError:
            continue
        statements[number] = found
    return "\n".join(statements)
