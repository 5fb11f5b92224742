"""Cases of rules: queries, and the ways that one rule adds for them. `pytest --bless` rewrites what is expected.

A file `cases/RULE.txt` holds the cases of one rule, each with a title, queries, and lines `piece <- KIND input; input`.
Pieces of one slot are named by their type alone.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stretto.memo import rules
from stretto.memo.explore import Rules, explore
from stretto.memo.memo import Memo, build_memo
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.ways import Way
from stretto.papers.motto import rules as motto
from stretto.pattern.describe import piece_text
from stretto.pattern.disjunction import as_one_piece
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema

CASES = Path(__file__).parent / "cases"
TYPES = (*(f"E{i}" for i in range(1, 10)), *"ABCDE")
SCHEMA = Schema({"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT}, frozenset(TYPES))
PIECE_RULES = frozenset((*rules.AUTO.pieces, rules.split_overlapping))
GROWN_RULES = frozenset((*rules.AUTO.grown, rules.split_kleene))
ALL_RULES = (*rules.ALL, *motto.ALL)


@dataclass(frozen=True)
class Case:
    rule: str
    title: str
    text: str
    ways: tuple[str, ...]


def load(path: Path) -> list[Case]:
    found = []
    parts = re.split(r"^-- case: (.*)\n", path.read_text(), flags=re.MULTILINE)
    for title, body in zip(parts[1::2], parts[2::2], strict=True):
        text, expected = body.split("-- ways\n")
        found.append(Case(path.stem, title, text.strip(), tuple(expected.strip().splitlines())))
    return found


def load_all() -> list[Case]:
    return [case for path in sorted(CASES.glob("*.txt")) for case in load(path)]


def write(rule: str, cases: Iterable[Case]) -> None:
    """The file of a rule, with these cases."""
    texts = (f"-- case: {c.title}\n{c.text}\n-- ways\n{chr(10).join(c.ways)}\n" for c in cases)
    (CASES / f"{rule}.txt").write_text("\n".join(texts))


def memo_of(text: str) -> Memo:
    return build_memo(map(as_one_piece, Workload.parse(text).bind(SCHEMA).normal_forms()))


def rule_named(name: str) -> Rules:
    """One rule alone, beside each query's own order."""
    rule = next(rule for rule in ALL_RULES if rule.__name__ == name)
    if rule is join_left_to_right:
        return Rules((join_left_to_right,))
    if rule in PIECE_RULES:
        return Rules((join_left_to_right, rule))
    if rule in GROWN_RULES:
        return Rules((join_left_to_right,), grown=(rule,))
    if name == "keep_complete":  # it reads what the other one makes
        return Rules((join_left_to_right,), rules.DISJUNCTION)
    if name == "join_wider":  # it looks at joins that are there
        return Rules(rules.AUTO.pieces, (rule,))
    return Rules((join_left_to_right,), (rule,))


def ways_of(text: str, name: str) -> tuple[str, ...]:
    """The ways that a rule adds to a workload, as text."""
    memo = memo_of(text)
    explore(memo, rule_named(name))
    return tuple(
        way_text(memo, number, way)
        for number in range(len(memo))
        for way in memo.ways[number]
        if way.rule == name
    )


def way_text(memo: Memo, number: int, way: Way) -> str:
    inputs = "; ".join(short(memo, part) for part in way.pieces)
    return f"{short(memo, number)} <- {way.kind.upper()} {inputs}"


def short(memo: Memo, number: int) -> str:
    text = piece_text(memo.pieces[number])
    return re.sub(r" within 0us$", "", text)
