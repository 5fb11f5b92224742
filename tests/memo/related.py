"""Random workloads whose queries are alike: parts of one pattern, with terms, windows and operators that differ."""

from random import Random

from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import Sample

TYPES = ("A", "B", "C", "D")
TERMS = ("{0}.x < {1}.x", "{0}.n <= {1}.n", "{0}.k = {1}.k", "{0}.n < {1}.n + 1", "{0}.x - {1}.x >= {c}")
SINGLE = ("{0}.n > {c}", "{0}.n >= 0", "{0}.x < 2.0", "{0}.k = 1")


def related_workload(rng: Random, most: int = 16) -> Sample:
    """Two to four queries over a few types of which some may occur twice, and a stream of them."""
    types = [rng.choice(TYPES) if rng.random() < 0.2 else kind for kind in rng.sample(TYPES, 4)]
    pairs = [_pair_term(rng, len(types)) for _ in range(2)]
    singles = [(rng.randrange(4), rng.choice(SINGLE).format(f"v{rng.randrange(4)}", c=0)) for _ in range(2)]
    windows = rng.sample((4, 6, 8), 2)
    texts = [_query(rng, i, types, pairs, singles, windows) for i in range(rng.choice((2, 3, 3, 4)))]
    return Sample("\n".join(texts), SCHEMA, random_events(rng, sorted(set(types)), most=most))


def _pair_term(rng: Random, count: int) -> str:
    one, other = rng.sample(range(count), 2)
    return rng.choice(TERMS).format(f"v{one}", f"v{other}", c=rng.choice((0, 1)))


def _query(
    rng: Random,
    number: int,
    types: list[str],
    pairs: list[str],
    singles: list[tuple[int, str]],
    windows: list[int],
) -> str:
    slots = sorted(rng.sample(range(4), rng.choice((2, 3, 3, 4))))
    if rng.random() < 0.15:
        rng.shuffle(slots)
    names = {f"v{slot}" for slot in slots}
    parts = [f"{types[slot]} v{slot}" for slot in slots]
    if rng.random() < 0.15:
        parts[0] += rng.choice(("+", "{1,2}"))
    known = [*pairs, *(term for _, term in singles)]
    where = [term for term in known if rng.random() < 0.5 and _named(term) <= names]
    if rng.random() < 0.1:
        where.append("[k]")
    clauses = f"WHERE {' AND '.join(where)} " if where else ""
    unit = "EVENTS" if rng.random() < 0.1 else "us"
    return f"QUERY q{number} PATTERN {_pattern(rng, parts)} {clauses}WITHIN {rng.choice(windows)} {unit};"


def _named(term: str) -> set[str]:
    return {word.split(".")[0] for word in term.split() if word.startswith("v")}


def _pattern(rng: Random, parts: list[str]) -> str:
    """Mostly a sequence, with a negation in between, or some of it in a conjunction."""
    word = rng.choice(("SEQ", "SEQ", "SEQ", "AND", "ANY" if len(parts) < 4 else "AND"))
    if len(parts) > 2 and rng.random() < 0.3:
        inner = "AND" if word == "SEQ" else "SEQ"
        cut = rng.randrange(len(parts) - 1)
        parts = [*parts[:cut], f"{inner}({', '.join(parts[cut : cut + 2])})", *parts[cut + 2 :]]
    if word == "SEQ" and rng.random() < 0.3:
        place = rng.randint(1, len(parts)) if rng.random() < 0.3 else rng.randint(1, len(parts) - 1)
        parts = [*parts[:place], f"NOT({rng.choice(TYPES)} w)", *parts[place:]]
    return f"{word}({', '.join(parts)})" if len(parts) > 1 else parts[0]
