"""Random workloads in which ANY, AND and SEQ are over the same streams, or some of them."""

from random import Random

from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import Sample

TYPES = "ABCDE"


def disjunctions(rng: Random, most: int = 20) -> Sample:
    """An ANY of three to five streams, and one to three queries over some or all of these, or one more."""
    streams = rng.sample(TYPES, rng.randint(3, 5))
    filtered = rng.random() < 0.3
    texts = [_query("any", "ANY", streams, rng, filtered=filtered)]
    for number in range(rng.randint(1, 3)):
        some = list(streams)
        if rng.random() < 0.3:
            some = rng.sample(streams, rng.randint(2, len(streams)))
        elif rng.random() < 0.2:
            some = list({*streams, rng.choice(TYPES)})
        rng.shuffle(some)
        word = rng.choice(("ANY", "AND", "AND", "SEQ", "SEQ"))
        texts.append(_query(f"q{number}", word, some, rng, filtered=filtered))
    return Sample("\n".join(texts), SCHEMA, random_events(rng, TYPES, most=most))


def _query(name: str, word: str, streams: list[str], rng: Random, *, filtered: bool) -> str:
    """The first stream by name has a filter, so that streams stay the same; what is no ANY may have more."""
    first, last = min(streams).lower(), streams[-1].lower()
    terms = [f"{first}.x > 0"] * filtered
    parts = ", ".join(f"{one} {one.lower()}" for one in streams)
    if word != "ANY" and rng.random() < 0.3:
        terms.append(f"{streams[0].lower()}.x <= {last}.x")
    if word == "SEQ" and rng.random() < 0.2:
        parts = parts.replace(", ", f", NOT({rng.choice(TYPES)} no), ", 1)
    window = rng.choice(("6 MICROSECONDS",) * 4 + ("3 MICROSECONDS", "4 EVENTS"))
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    return f"QUERY {name} PATTERN {word}({parts}){where} WITHIN {window};"
