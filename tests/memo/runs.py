"""Random workloads of NEXT queries that begin alike and go on in other ways."""

from random import Random

from tests.support.random_events import SCHEMA, random_events
from tests.support.strategies import Sample

TYPES = ("A", "B", "C", "D")
OF_TWO = ("v0.n <= v1.n", "v0.k = v1.k", "v1.x > v0.x")
OF_MORE = ("v2.n >= v0.n", "v1.k = v2.k AND v0.k = v2.k", "v2.x != v1.x", "v3.n >= v1.n")
REPETITIONS = ("", "", "", "+", "?", "{0,2}", "{2,3}")


def prefixed_runs(rng: Random, most: int = 16) -> Sample:
    """Two to four queries over the same first steps, with terms on these, and a stream of events."""
    types = [rng.choice(TYPES) for _ in range(3)]
    marks = [rng.choice(REPETITIONS), "", rng.choice(("", "", "+"))]
    if rng.random() < 0.5:
        marks[:2] = "", rng.choice(REPETITIONS)
    common = rng.choice((2, 2, 3))
    where = ["[k]"] if rng.random() < 0.3 else []
    where += [term for term in OF_TWO if rng.random() < 0.3]
    having = ["v1.x >= v0.x"] if rng.random() < 0.2 else []
    having += ["v0[i].n >= v0[i-1].n"] if marks[0] in ("+", "{2,3}") and rng.random() < 0.5 else []
    sizes = [rng.choice((4, 8, 12, 30)) for _ in range(2)]
    unit = "EVENTS" if rng.random() < 0.15 else "us"
    texts = []
    for number in range(rng.choice((2, 3, 4))):
        steps = [f"{kind} v{i}{mark}" for i, (kind, mark) in enumerate(zip(types, marks, strict=True))]
        steps = steps[:common]
        for i in range(common, rng.choice((common, common + 1, common + 1, common + 2))):
            steps.append(f"{rng.choice(TYPES)} v{i}{rng.choice(REPETITIONS)}")
        own = [term for term in OF_MORE if rng.random() < 0.3 and _named(term) < len(steps)]
        ends = [f"LAST(v{len(steps) - 1}).n >= 0"] if steps[-1].endswith("+") and rng.random() < 0.3 else []
        if rng.random() < 0.25:
            steps.insert(rng.randint(1, len(steps)), f"NOT({rng.choice(TYPES)} w)")
        clauses = f"WHERE {' AND '.join([*where, *own])} " if where or own else ""
        clauses += f"HAVING {' AND '.join([*having, *ends])} " if having or ends else ""
        window = f"{rng.choice(sizes)} {unit}"
        texts.append(f"QUERY q{number} PATTERN SEQ({', '.join(steps)}) {clauses}WITHIN {window} SELECT NEXT;")
    return Sample("\n".join(texts), SCHEMA, random_events(rng, list(TYPES), most=most))


def _named(term: str) -> int:
    """The last step that a term names."""
    return max(int(term[at + 1]) for at, letter in enumerate(term) if letter == "v")
