"""Every rule adds the ways that its cases say, and names a law that there is."""

import re
from pathlib import Path

import pytest
from tests.memo.rule_cases import ALL_RULES, CASES, Case, load, load_all, memo_of, rule_named, ways_of, write
from tests.support.golden import Golden

from stretto.memo import rules
from stretto.memo.explore import Rules, explore
from stretto.memo.ways import Kind
from stretto.papers.motto import rules as motto

LAWS = (Path(__file__).parents[2] / "docs" / "laws.md").read_text()
NAMES = sorted(rule.__name__ for rule in ALL_RULES)


@pytest.mark.parametrize("case", load_all(), ids=lambda case: f"{case.rule}: {case.title}")
def test_case(case: Case, golden: Golden) -> None:
    found = ways_of(case.text, case.rule) or ("none",)
    if golden.bless:
        cases = load(CASES / f"{case.rule}.txt")
        write(
            case.rule, [Case(c.rule, c.title, c.text, found) if c.title == case.title else c for c in cases]
        )
        return
    assert sorted(found) == sorted(case.ways)


def test_rules_and_cases_are_in_step() -> None:
    assert sorted({path.stem for path in CASES.glob("*.txt")}) == NAMES
    for name in NAMES:
        assert any(case.ways != ("none",) for case in load(CASES / f"{name}.txt")), f"{name} never adds a way"


@pytest.mark.parametrize("name", NAMES)
def test_rule_names_its_law(name: str) -> None:
    rule = next(rule for rule in ALL_RULES if rule.__name__ == name)
    text = rule.__doc__ or ""
    law = re.search(r"Law: (L\d+)\.", text)
    assert law
    assert "Requires:" in text
    assert "Source:" in text
    section = re.search(rf"^### {law[1]} .*?(?=^### |\Z)", LAWS, flags=re.MULTILINE | re.DOTALL)
    assert section, f"docs/laws.md has no {law[1]}"
    named = re.search(r"^rules: (.*)$", section[0], flags=re.MULTILINE)
    assert named
    assert name in named[1].split(", ")


def test_laws_name_rules_that_exist() -> None:
    numbers = re.findall(r"^### L(\d+) ", LAWS, flags=re.MULTILINE)
    assert numbers == [str(i + 1) for i in range(len(numbers))]
    named = {
        name for line in re.findall(r"^rules: (.*)$", LAWS, flags=re.MULTILINE) for name in line.split(", ")
    }
    assert named - {"(given)"} == set(NAMES)


@pytest.mark.parametrize("case", load_all(), ids=lambda case: f"{case.rule}: {case.title}")
def test_memo_is_whole_and_without_cycles(case: Case) -> None:
    """Every piece that is read can be computed, and none needs itself; with the rule alone and with all of ours."""
    for used in (rule_named(case.rule), motto.MOTTO, rules.AUTO):
        memo = memo_of(case.text)
        explore(memo, used)
        order: dict[int, int] = {}
        for _ in range(len(memo) + 1):
            for number in range(len(memo)):
                if number not in order and all(
                    piece in order for way in memo.ways[number] for piece in way.pieces
                ):
                    order[number] = len(order)
        read = {piece for ways in memo.ways for way in ways for piece in way.pieces}
        assert read <= order.keys()
        assert all(memo.ways[number] for number in read)


def test_rules_applied_twice_add_nothing() -> None:
    for case in load_all():
        for used in (motto.MOTTO, motto.LCSE, rules.AUTO):
            memo = memo_of(case.text)
            explore(memo, used)
            size = len(memo), sum(map(len, memo.ways))
            explore(memo, used)
            assert (len(memo), sum(map(len, memo.ways))) == size, (case.title, used)


def test_motto_reads_one_source() -> None:
    """The ways of MOTTO's rules are arcs of a tree: one query or sub-query, the rest are single slots."""
    for case in load_all():
        for used in (motto.MOTTO, motto.MOTTO_MST, motto.LCSE):
            memo = memo_of(case.text)
            explore(memo, used)
            for number in range(len(memo)):
                for way in memo.ways[number]:
                    if way.kind in (Kind.JOIN, Kind.FILTER):
                        assert len({p for p in way.pieces if len(memo.pieces[p].slots) > 1}) <= 1


def test_an_ablation_is_a_shorter_tuple() -> None:
    memo = memo_of("QUERY q PATTERN SEQ(A, B, C) WITHIN 9 s; QUERY r PATTERN SEQ(A, B, D) WITHIN 9 s;")
    explore(memo, Rules(motto.MOTTO.pieces, motto.MOTTO.workload[:2]))
    assert all(way.rule == "join_left_to_right" for n in memo.cores() for way in memo.ways[n])
