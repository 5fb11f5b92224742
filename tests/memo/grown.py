"""Random workloads of queries that differ in what repeats and in what they forbid."""

from random import Random

from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import Sample

TYPES = ("A", "B", "C", "D")
TERMS = (
    "v0.n <= v1.n",
    "v1.x < v2.x",
    "v0.k = v2.k",
    "v1[i-1].n <= v1[i].n",
    "FIRST(v1).n <= v2.n",
    "COUNT(v1) <= 2",
)
FORBIDDEN_TERMS = ("w.n > v0.n", "w.x < v1.x", "w.n >= LAST(v1).n", "w.k = v2.k")


def grown_workload(rng: Random, most: int = 13) -> Sample:
    """Two or three queries over one sequence or conjunction of three types, and a stream of them."""
    types = rng.sample(TYPES, 3) if rng.random() < 0.8 else [rng.choice(TYPES) for _ in range(3)]
    forbidden = [rng.choice(TYPES) for _ in range(2)]
    terms = rng.sample(TERMS, 2)
    size = rng.choice((4, 6, 8))
    unit = "EVENTS" if rng.random() < 0.2 else "us"
    word = rng.choice(("SEQ", "SEQ", "AND"))
    texts = [
        _query(rng, number, word, types, forbidden, terms, f"{size} {unit}")
        for number in range(rng.choice((2, 2, 3)))
    ]
    return Sample("\n".join(texts), SCHEMA, random_events(rng, list(TYPES), most=most))


def _query(
    rng: Random,
    number: int,
    word: str,
    types: list[str],
    forbidden: list[str],
    terms: list[str],
    window: str,
) -> str:
    repeated = [i for i in range(3) if rng.random() < 0.5]
    parts = [
        f"{kind} v{i}{rng.choice(('+', '+', '{1,2}', '{2,3}')) if i in repeated else ''}"
        for i, kind in enumerate(types)
    ]
    where = [term for term in terms if rng.random() < 0.4 and ("v1[" not in term or 1 in repeated)]
    where = [term for term in where if not ("(v1)" in term and 1 not in repeated)]
    if word == "AND" and rng.random() < 0.5:
        parts = [f"SEQ({parts[0]}, {parts[1]})", parts[2]]
    for j, kind in enumerate(forbidden):
        if rng.random() < 0.6:
            parts.insert(rng.randint(0, len(parts)), f"NOT({kind} w{j})")
            if rng.random() < 0.3:
                term = rng.choice(FORBIDDEN_TERMS).replace("w.", f"w{j}.")
                where.append(term if 1 in repeated else term.replace("LAST(v1)", "v1"))
    if rng.random() < 0.15:
        where.append("[k]")
    clauses = f"WHERE {' AND '.join(where)} " if where else ""
    return f"QUERY q{number} PATTERN {word}({', '.join(parts)}) {clauses}WITHIN {window};"
