"""Random workloads whose queries are variations of one another, so that there is much to share."""

from collections.abc import Sequence
from random import Random

from tests.support.random_events import SCHEMA, TYPES, random_events
from tests.support.strategies import Sample

TERMS = (
    "{a}.x < {b}.x",
    "{a}.k = {b}.k",
    "{a}.n <= {b}.n",
    "{a}.x + 1 > {b}.x",
    "{b}.n - {a}.n >= 0",
    "{b}.s != {a}.s",
)
ALONE = ("{a}.n >= 0", "{a}.x < 2", "{a}.f = TRUE")


def sharing_workload(rng: Random) -> Sample:
    """Three to six queries: parts of one list of types with other operators, windows, terms and signs."""
    base, texts = sharing_queries(rng)
    return Sample("\n".join(texts), SCHEMA, random_events(rng, sorted(set(base)), most=13))


def sharing_queries(rng: Random) -> tuple[list[str], list[str]]:
    """The list of types, and the queries q0, q1, .. made of it."""
    base = [rng.choice(TYPES) for _ in range(rng.choice((3, 4, 4)))]
    terms = _terms(rng, len(base))
    same = "[k]" if rng.random() < 0.15 else ""
    return base, [_query(rng, f"q{i}", base, terms, same) for i in range(rng.randint(3, 6))]


def _terms(rng: Random, count: int) -> list[tuple[tuple[int, ...], str]]:
    """Terms over places of the list: (places, text with {a} and {b})."""
    found: list[tuple[tuple[int, ...], str]] = []
    for _ in range(rng.choice((0, 1, 2, 3))):
        one, other = rng.sample(range(count), 2)
        found.append(((one, other), rng.choice(TERMS)))
    if rng.random() < 0.4:
        found.append(((rng.randrange(count),), rng.choice(ALONE)))
    return found


def _query(
    rng: Random, name: str, base: Sequence[str], terms: Sequence[tuple[tuple[int, ...], str]], same: str
) -> str:
    places = [i for i in range(len(base)) if rng.random() < 0.8] or [0]
    names = {place: f"v{i}" for i, place in enumerate(rng.sample(places, len(places)))}
    repeated = rng.choice(places) if rng.random() < 0.2 else None
    parts = [f"{base[place]} {names[place]}{'+' if place == repeated else ''}" for place in places]
    if rng.random() < 0.2 and len(parts) > 1:
        parts.insert(rng.randint(0, len(parts)), f"NOT({rng.choice(TYPES)} no)")
    kept = [
        text.format(a=names[at[0]], b=names[at[-1]])
        for at, text in terms
        if set(at) <= set(places) and rng.random() < 0.8
    ]
    kept += [same] if same else []
    where = f" WHERE {' AND '.join(kept)}" if kept else ""
    unit = "EVENTS" if rng.random() < 0.1 else "us"
    return f"QUERY {name} PATTERN {_pattern(rng, parts)}{where} WITHIN {rng.choice((4, 6, 6, 6, 9))} {unit};"


def _pattern(rng: Random, parts: list[str]) -> str:
    if len(parts) == 1:
        return parts[0]
    word = rng.choice(("SEQ", "SEQ", "SEQ", "SEQ", "AND", "AND", "ANY"))
    if word == "ANY" and any(part.startswith("NOT") for part in parts):
        word = "AND"
    plain = not any(part.startswith("NOT") for part in parts)
    if len(parts) > 2 and plain and rng.random() < 0.25:
        at = rng.randint(0, len(parts) - 2)
        inner = rng.choice(("SEQ", "AND"))
        parts = [*parts[:at], f"{inner}({', '.join(parts[at : at + 2])})", *parts[at + 2 :]]
    return f"{word}({', '.join(parts)})"
