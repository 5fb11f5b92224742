"""Queries that mean the same have one plan, however they are written; some that look alike must not.

A file of tests/golden/same_plan holds groups: a heading, `-- same: title` or `-- differs: title`, and spellings parted
by `-- or`. `-- not yet: title` heads spellings that mean the same and get different plans today: the day they get one,
the test fails until the heading says `same`.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests.support.counted_time import count_time

from stretto.pattern.describe import term_text
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan
from stretto.plan.ops import Emit, Op
from stretto.plan.optimize import optimize
from stretto.schema import Kind, Schema
from stretto.stats.profile import Stats

FOLDER = Path(__file__).parents[1] / "golden" / "same_plan"
SCHEMA = Schema(
    {"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT, "s": Kind.STRING}, frozenset({"A", "B", "C", "D"})
)
STATS = Stats(SCHEMA, 1000.0, {"A": 100.0, "B": 31.0, "C": 7.0, "D": 2.3}, 140_300)  # no two rates tie


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    verdict: str
    spellings: tuple[str, ...]


def load() -> list[Group]:
    groups = []
    for file in sorted(FOLDER.glob("*.cep")):
        parts = re.split(r"^-- (same|differs|not yet): (.*)\n", file.read_text(), flags=re.MULTILINE)
        for verdict, title, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            spellings = (text.strip() for text in body.split("-- or\n"))
            groups.append(Group(f"{file.stem}: {title}", verdict, tuple(map(_workload, spellings))))
    return groups


def _workload(text: str) -> str:
    return text if re.match(r"(QUERY|CREATE)\b", text) else f"QUERY q {text};"


def shown(plan: Plan) -> tuple[list[object], str]:
    """The operators, columns of results by name, and EXPLAIN's text.

    What the query would cost as it is written is left out, for that is what differs, and so is the time to plan.
    """
    known = plan.estimate
    assert known is not None
    text = replace(plan, estimate=replace(known, alone=known.cost, seconds=0.0)).explain()
    return [_by_name(op) for op in plan.ops], text


def _by_name(op: Op) -> object:
    """An Emit without the order in which the text names its variables; other operators know no names."""
    if not isinstance(op, Emit):
        return op
    parts = [
        (part, tuple(op.variables[i] for i in columns), waits)
        for part, columns, waits in zip(op.parts, op.columns, op.waits, strict=True)
    ]
    lists = sorted(name for name, many in zip(op.variables, op.kleene, strict=True) if many)
    returned = [(item.name, term_text(item.value, op.variables)) for item in op.returns]
    return sorted(op.variables), lists, parts, op.window, op.distinct, returned


@pytest.mark.parametrize("group", load(), ids=lambda group: group.title)
def test_group(group: Group, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STRETTO_PRICES", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    count_time(monkeypatch)
    first, *others = (shown(optimize(Workload.parse(text), STATS)) for text in group.spellings)
    if group.verdict == "same":
        for other in others:
            assert other[1] == first[1]
            assert other[0] == first[0]
    elif group.verdict == "differs":
        assert all(other[0] != first[0] for other in others)
    else:
        assert any(other != first for other in others), "there is one plan now: write `-- same:`"


def test_groups_are_many_and_distinct() -> None:
    groups = load()
    assert sum(group.verdict == "same" for group in groups) >= 20
    assert len({group.title for group in groups}) == len(groups)
    assert all(len(set(group.spellings)) == len(group.spellings) > 1 for group in groups)
