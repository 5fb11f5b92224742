"""Every rule adds the ways that its cases say, and names a law that there is."""

import re
from pathlib import Path

import pytest
from tests.memo.rule_cases import (
    ALL_RULES,
    CASES,
    GROWN_RULES,
    PIECE_RULES,
    Case,
    load,
    load_all,
    memo_of,
    rule_named,
    ways_of,
    write,
)
from tests.support.golden import Golden

from stretto.memo import rules
from stretto.memo.explore import PieceRule, Rules, WorkloadRule, explore
from stretto.memo.memo import Memo
from stretto.memo.ways import Way, WayKind
from stretto.papers.motto import rules as motto
from stretto.papers.rumor.rules import RULES as M_RULES

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
    assert named == {*NAMES, *M_RULES}


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
                    if way.kind in (WayKind.JOIN, WayKind.FILTER):
                        assert len({p for p in way.pieces if len(memo.pieces[p].slots) > 1}) <= 1


def test_an_ablation_is_a_shorter_tuple() -> None:
    memo = memo_of("QUERY q PATTERN SEQ(A, B, C) WITHIN 9 s; QUERY r PATTERN SEQ(A, B, D) WITHIN 9 s;")
    explore(memo, Rules(motto.MOTTO.pieces, motto.MOTTO.workload[:2]))
    assert all(way.rule == "join_left_to_right" for n in memo.cores() for way in memo.ways[n])


def applied(rule: PieceRule | WorkloadRule, memo: Memo) -> list[tuple[int, Way]]:
    """All ways that a rule yields for a memo as it is, which are not added."""
    # Which of the two kinds a rule is, its list says and no type: hence what is ignored below.
    if rule in GROWN_RULES:
        return [(n, way) for n in range(len(memo)) if memo.grows(n) for way in rule(n, memo)]  # type: ignore[call-arg, arg-type, misc]
    if rule in PIECE_RULES:
        return [(n, way) for n in range(len(memo)) if memo.is_core(n) for way in rule(n, memo)]  # type: ignore[call-arg, arg-type, misc]
    return list(rule(memo))  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.__name__)
def test_a_rule_finds_the_same_again(rule: PieceRule | WorkloadRule) -> None:
    """It remembers nothing, and changes nothing but that what its ways read is there."""
    for case in load_all():
        memo = memo_of(case.text)
        explore(memo, rules.AUTO if rule in rules.ALL else motto.MOTTO)
        found, size = applied(rule, memo), -1
        while size < len(memo):  # what it invents may be read by it in turn
            size = len(memo)
            ways = [list(some) for some in memo.ways[:size]]
            found = applied(rule, memo)
            assert memo.ways[:size] == ways
        assert applied(rule, memo) == found
        assert {part for _, way in found for part in way.pieces} <= set(range(len(memo)))


def closure(memo: Memo) -> set[object]:
    """The ways of a memo, whatever the numbers of its pieces and the rule that came first."""
    return {
        (memo.pieces[n], way.kind, tuple((memo.pieces[part.piece], part.columns) for part in way.inputs))
        for n in range(len(memo))
        for way in memo.ways[n]
    }


NO_LIMIT_CUTS = (
    "QUERY q PATTERN SEQ(A, B, C) WITHIN 9 s; QUERY r PATTERN SEQ(A, B, D) WITHIN 9 s;",
    "QUERY q PATTERN SEQ(A, B, C) WITHIN 9 s; QUERY r PATTERN SEQ(A, C) WITHIN 5 s;",
    "QUERY q PATTERN SEQ(A, B, C) WITHIN 9 s; QUERY r PATTERN AND(A, B) WITHIN 9 s;",
    (
        "QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.n = 1 WITHIN 9 s;"
        " QUERY r PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.k = 2 WITHIN 9 s;"
    ),
    "QUERY q PATTERN SEQ(A, NOT(E), B) WITHIN 9 s; QUERY r PATTERN SEQ(A, B) WITHIN 9 s;",
)


@pytest.mark.parametrize("text", NO_LIMIT_CUTS)
@pytest.mark.parametrize("used", [rules.AUTO, motto.MOTTO], ids=["auto", "motto"])
def test_the_order_of_rules_does_not_matter(text: str, used: Rules) -> None:
    memo = memo_of(text)
    explore(memo, used)
    wanted = closure(memo)
    for turn in range(len(used.workload)):
        workload = used.workload[turn:] + used.workload[:turn]
        for other in (Rules(used.pieces, workload), Rules(used.pieces[::-1], workload[::-1])):
            memo = memo_of(text)
            explore(memo, other)
            assert closure(memo) == wanted
