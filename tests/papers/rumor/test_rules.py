"""Each m-rule by a workload that it fires on, and one that it must not."""

import re
from pathlib import Path

import pytest
from tests.papers.rumor.workloads import CPU, plan_of, rules_of

from stretto.papers.rumor.rules import PRIORITIES, RULES

LAWS = (Path(__file__).parents[3] / "docs" / "laws.md").read_text()
SMOOTHED = "CREATE STREAM smoothed AS SELECT pid, AVG(load) AS load FROM cpu GROUP BY pid WITHIN 5 SECONDS;"


def selection(name: str, where: str, of: str = "cpu") -> str:
    return f"CREATE STREAM {name} AS SELECT pid, load FROM {of} WHERE {where};"


def sequence(name: str, first: str, rest: str = "T t", where: str = "a.pid = t.pid", within: int = 5) -> str:
    return f"QUERY {name} PATTERN SEQ({first} a, {rest}) WHERE {where} WITHIN {within} SECONDS SELECT NEXT;"


def aggregate(name: str, of: str, by: str = "pid", function: str = "AVG", where: str = "") -> str:
    items = f"pid, {function}(load) AS load"
    return f"CREATE STREAM {name} AS SELECT {items} FROM {of} {where} GROUP BY {by} WITHIN 5 SECONDS;"


def join(name: str, one: str, on: str = "a.pid = b.pid", within: int = 1, other: str = "T") -> str:
    items = "a.pid AS pid, a.load AS load"
    return (
        f"CREATE STREAM {name} AS SELECT {items} FROM {one} a JOIN {other} b ON {on} WITHIN {within} SECONDS;"
    )


TWO = selection("s0", "load < 1") + selection("s1", "load < 2")
READ = sequence("q0", "s0", where="a.pid = t.pid") + sequence("q1", "s1", where="a.load = t.load")

SMOOTH = SMOOTHED + selection("s0", "load < 1", "smoothed") + selection("s1", "load < 2", "smoothed")
READ_U = sequence("q0", "u0") + sequence("q1", "u1", "T t+")

FIRES = {
    "s_sigma": TWO + READ,
    "s_alpha": aggregate("m0", "cpu")
    + aggregate("m1", "cpu", "host")
    + sequence("q0", "m0")
    + sequence("q1", "m1"),
    "s_join": join("j0", "cpu")
    + join("j1", "cpu", within=2)
    + sequence("q0", "j0")
    + sequence("q1", "j1", "T t+"),
    "s_seq": sequence("q0", "cpu") + sequence("q1", "cpu", within=7),
    "s_mu": sequence("q0", "cpu", "T t+")
    + sequence("q1", "cpu", "T t+", "a.pid = t.pid AND LAST(t).load > 3"),
    "c_sigma": SMOOTH + selection("u0", "pid > 3", "s0") + selection("u1", "pid > 3", "s1") + READ_U,
    "c_pi": TWO + sequence("q0", "s0") + sequence("q1", "s1", "T t+"),
    "c_alpha": aggregate("m0", "cpu", where="WHERE load < 1")
    + aggregate("m1", "cpu", where="WHERE load < 2")
    + sequence("q0", "m0")
    + sequence("q1", "m1", "T t+"),
    "c_join": TWO + join("j0", "s0") + join("j1", "s1") + sequence("q0", "j0") + sequence("q1", "j1", "T t+"),
    "c_seq": sequence("q0", "cpu", where="a.load < 1 AND a.pid = t.pid")
    + sequence("q1", "cpu", where="a.load < 2 AND a.pid = t.pid"),
    "c_mu": SMOOTH + sequence("q0", "s0", "smoothed t+") + sequence("q1", "s1", "smoothed t+"),
}

MUST_NOT = {
    # other streams
    "s_sigma": selection("s0", "load < 1") + selection("s1", "load < 2", "T") + READ,
    # another function
    "s_alpha": aggregate("m0", "cpu")
    + aggregate("m1", "cpu", function="MAX")
    + sequence("q0", "m0")
    + sequence("q1", "m1"),
    # another predicate
    "s_join": join("j0", "cpu")
    + join("j1", "cpu", "a.load = b.load", 2)
    + sequence("q0", "j0")
    + sequence("q1", "j1"),
    # another definition
    "s_seq": sequence("q0", "cpu") + sequence("q1", "cpu", where="a.load = t.load"),
    # neighbours judge a run: what fails ends it
    "s_mu": sequence("q0", "cpu", "T t+")
    + sequence("q1", "cpu", "T t+").replace(" WITHIN", " HAVING t[i].load > t[i-1].load WITHIN"),
    # another predicate, over streams of a channel
    "c_sigma": SMOOTH + selection("u0", "pid > 3", "s0") + selection("u1", "pid > 4", "s1") + READ_U,
    # another projection
    "c_pi": selection("s0", "load < 1")
    + selection("s1", "load < 2").replace("load FROM", "load + 1 AS load FROM")
    + READ,
    # another group-by
    "c_alpha": aggregate("m0", "cpu", where="WHERE load < 1")
    + aggregate("m1", "cpu", "host", where="WHERE load < 2")
    + sequence("q0", "m0")
    + sequence("q1", "m1"),
    # another window
    "c_join": TWO
    + join("j0", "s0")
    + join("j1", "s1", within=2)
    + sequence("q0", "j0")
    + sequence("q1", "j1"),
    # the first stream is named again, so later events depend on it too
    "c_seq": TWO + sequence("q0", "s0", "s0 t") + sequence("q1", "s1", "s1 t"),
    # the second streams differ
    "c_mu": TWO + sequence("q0", "s0", "T t+") + sequence("q1", "s1", "cpu t+"),
}


@pytest.mark.parametrize("rule", RULES)
def test_fires(rule: str) -> None:
    assert rule in rules_of(plan_of(FIRES[rule]))
    assert rule not in rules_of(plan_of(FIRES[rule], [one for one in PRIORITIES if one.__name__ != rule]))


@pytest.mark.parametrize("rule", RULES)
def test_must_not(rule: str) -> None:
    assert rule not in rules_of(plan_of(MUST_NOT[rule]))


def test_streams_of_other_m_ops_are_no_channel() -> None:
    """Without one m-op for the selections there is nothing that could encode their events together."""
    text = FIRES["c_seq"]
    without = [rule for rule in PRIORITIES if rule.__name__ != "s_sigma"]
    assert plan_of(text).channels
    assert not plan_of(text, without).channels


@pytest.mark.parametrize("name", RULES)
def test_rule_names_its_law(name: str) -> None:
    text = RULES[name].__doc__ or ""
    law = re.search(r"Law: (L\d+)\.", text)
    assert law
    assert "Source:" in text
    section = re.search(rf"^### {law[1]} .*?(?=^### |\Z)", LAWS, flags=re.MULTILINE | re.DOTALL)
    assert section
    named = re.search(r"^rules: (.*)$", section[0], flags=re.MULTILINE)
    assert named
    assert name in named[1].split(", ")


def test_the_schema_is_that_of_the_figures() -> None:
    assert {"cpu", "T"} <= (CPU.types or set())


def test_joins_that_cross_are_not_one() -> None:
    """A pair is of the members that both events are of: one member's first with another's second is of neither."""
    streams = TWO + selection("t0", "load < 3", "T") + selection("t1", "load < 4", "T")
    joins = join("j0", "s0", other="t0") + join("j1", "s1", other="t1")
    queries = sequence("q0", "j0") + sequence("q1", "j1", "U t+")
    assert "c_join" in rules_of(plan_of(streams + joins + queries))
    crossed = join("j2", "s0", other="t1") + sequence("q2", "j2", "U t")
    plan = plan_of(streams + joins + crossed + queries)
    merged = [mop for mop in plan.mops if mop.rule == "c_join"]
    assert all("j2" not in {one.of for one in mop.operators} for mop in merged)
