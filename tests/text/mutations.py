"""Workloads damaged in their structure: unclosed, doubled, swapped, cut off, tokens moved between statements."""

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

TESTS = Path(__file__).parent.parent
TOKEN = re.compile(r"'[^']*'|\"[^\"]*\"|--[^\n]*|\w+|\s+|.", re.DOTALL)
BRACKETS = frozenset("()[]{}'\";,")
WORDS = """
QUERY CREATE EVENT STREAM PATTERN WHERE WITHIN SELECT RETURN GROUP BY FROM JOIN ON AS AND OR NOT IN BETWEEN IS NULL TRUE
TIMESTAMP SLIDE SEQ ANY KL NEXT STRICT COUNT LAST EVENTS SECONDS i a b q
""".split()  # noqa: SIM905 - readable as words
ODD = """
( ) ' " ; , . [ ] { } + * ? ! & | - -- < = % @ ' \\ '' "" [i] [i-1]. {2,1} 5 0 -1 1e999 99999999999999999999 é 𝒳 ‘
""".split()  # noqa: SIM905
ODD += [
    "5 s",
    "GROUP BY",
    "IS NOT",
    '"new\nline"',
    "\n",
    "\r",
    "\x00",
    "\x1b[2J",
    "\ud800",
    "\ufeff",
    "\u202e",
    "\u2028",
]

Tokens = list[str]


def texts() -> list[str]:
    """Workloads that can be read, of one to a few statements: of the examples, the cases and the goldens."""
    goldens = [path for path in sorted(TESTS.glob("golden/*/*.cep")) if path.parent.name != "text"]
    found = [path.read_text("utf-8") for path in goldens]
    for path in sorted((TESTS.parent / "examples").glob("*.cep")):
        found += [f"{statement};" for statement in path.read_text("utf-8").split(";\n") if statement.strip()]
    for path in sorted((TESTS / "cases").glob("*.cep")):
        queries = re.findall(r"^-- query: .*\n([^-]+)", path.read_text("utf-8"), re.MULTILINE)
        found += [
            query if query.startswith(("QUERY", "CREATE")) else f"QUERY q {query};" for query in queries
        ]
    return found


def mutated(random: Random, sources: list[str]) -> str:
    """One to three workloads behind each other, changed in one to six places."""
    tokens = [
        token
        for text in random.choices(sources, k=random.choice((1, 1, 1, 2, 3)))
        for token in TOKEN.findall(text)
    ]
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        if tokens:
            random.choice(WAYS)(tokens, random)
    return "".join(tokens)


def _place(tokens: Tokens, random: Random) -> int:
    return random.randrange(len(tokens))


def _stretch(tokens: Tokens, random: Random) -> slice:
    start = _place(tokens, random)
    return slice(start, start + random.choice((1, 2, 4, 9, 30)))


def _delete(tokens: Tokens, random: Random) -> None:
    del tokens[_stretch(tokens, random)]


def _double(tokens: Tokens, random: Random) -> None:
    part = _stretch(tokens, random)
    tokens[part.start : part.start] = tokens[part]


def _swap(tokens: Tokens, random: Random) -> None:
    one, other = _place(tokens, random), _place(tokens, random)
    tokens[one], tokens[other] = tokens[other], tokens[one]


def _move(tokens: Tokens, random: Random) -> None:
    part = _stretch(tokens, random)
    moved = tokens[part]
    del tokens[part]
    to = random.randint(0, len(tokens))
    tokens[to:to] = [" ", *moved, " "]


def _cut(tokens: Tokens, random: Random) -> None:
    del tokens[_place(tokens, random) :]


def _behead(tokens: Tokens, random: Random) -> None:
    del tokens[: min(_place(tokens, random), random.choice((1, 3, 8)))]


def _unclose(tokens: Tokens, random: Random) -> None:
    """Delete or double a bracket, a quote, a comma or a semicolon."""
    places = [at for at, token in enumerate(tokens) if token[0] in BRACKETS]
    if places:
        at = random.choice(places)
        tokens[at] = random.choice(("", tokens[at] * 2, tokens[at][:-1], random.choice("()[]{}'\";,")))
        tokens[at] = tokens[at] or " "


def _misspell(tokens: Tokens, random: Random) -> None:
    """A letter of a word left out, doubled or another, or one word run into the next."""
    places = [at for at, token in enumerate(tokens) if token[0].isalpha()]
    if places:
        at = random.choice(places)
        word, place = tokens[at], random.randrange(len(tokens[at]))
        letter = random.choice(("", word[place] * 2, random.choice("AEINRTHUW"), word[place].swapcase()))
        other = random.choice(WORDS)
        tokens[at] = random.choice((word[:place] + letter + word[place + 1 :], other[:place] + word[place:]))
        tokens[at] = tokens[at] or " "


def _insert(tokens: Tokens, random: Random) -> None:
    at = random.randint(0, len(tokens))
    tokens[at:at] = [" ", random.choice(WORDS if random.random() < 0.6 else ODD), random.choice(("", " "))]
    tokens[:] = [token for token in tokens if token]


def _replace(tokens: Tokens, random: Random) -> None:
    tokens[_place(tokens, random)] = random.choice(WORDS if random.random() < 0.6 else ODD)


WAYS: tuple[Callable[[Tokens, Random], None], ...] = (
    _delete, _double, _swap, _move, _cut, _behead, _unclose, _misspell, _insert, _replace,
)  # fmt: skip


# ---- JSON

VALUES: list[Any] = [
    None,
    True,
    0,
    1,
    -1,
    5,
    2**63,
    10**400,
    1.5,
    float("inf"),
    float("nan"),
    [],
    {},
    [[]],
    [None],
]
VALUES += [["null"], ["all"], ["event", "A", "a"], ["event", "A"], ["float", 10**400], ["name", "x", "a", ""]]
VALUES += [
    "",
    "i",
    "us",
    "events",
    "repeat",
    "call",
    "SEQ",
    "NOT",
    "not",
    "and",
    "between",
    "float",
    "name",
    "event",
]
VALUES += ["\x1b[2J", "\ud800", "x" * 5000, {"query": "q"}]


def mutated_json(random: Random, sources: list[Any]) -> Any:
    """A workload in JSON with one to four of its values deleted, doubled, swapped, wrapped, unwrapped or replaced."""
    data = copy.deepcopy(random.choice(sources))
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        places = list(_places(data))
        if places:
            _damage(*random.choice(places), places, random)
    return data


def _places(root: Any) -> Iterator[tuple[Any, Any]]:
    """Every list and object with each of its keys."""
    pending = [root]
    while pending:
        inside = pending.pop()
        keys = (
            range(len(inside))
            if isinstance(inside, list)
            else list(inside)
            if isinstance(inside, dict)
            else ()
        )
        yield from ((inside, key) for key in keys)
        pending += [inside[key] for key in keys]


def _damage(inside: Any, key: Any, places: list[tuple[Any, Any]], random: Random) -> None:
    value = inside[key]
    match random.choice(("delete", "double", "swap", "wrap", "unwrap", "replace", "replace", "rename")):
        case "delete":
            del inside[key]
        case "double" if isinstance(inside, list):
            inside.insert(key, copy.deepcopy(value))
        case "swap":
            other, at = random.choice(places)
            inside[key], other[at] = copy.deepcopy(other[at]), copy.deepcopy(value)
        case "wrap":
            inside[key] = random.choice(([value], {"query": value}, [random.choice(VALUES), value]))
        case "unwrap" if isinstance(value, list) and value:
            inside[key] = value[-1]
        case "rename" if isinstance(inside, dict):
            inside[random.choice(("query", "event", "stream", "from", "where", "x"))] = inside.pop(key)
        case _:
            inside[key] = copy.deepcopy(random.choice(VALUES))
