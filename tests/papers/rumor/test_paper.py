"""The plans of the paper's own examples."""

import pytest
from tests.papers.rumor.workloads import CPU, plan_of, rules_of, shape

from stretto.memo.mops.operators import OperatorKind
from stretto.papers.rumor.rules import CHANNELS, PRIORITIES
from stretto.papers.rumor.sharable import are_sharable
from stretto.pattern.workload import Workload
from stretto.plan.optimize import optimize

NO_CHANNELS = [rule for rule in PRIORITIES if rule.__name__ not in CHANNELS]


# ---- Fig. 1: two selections before one aggregate ---------------------------------------------------------------

EXAMPLE_1 = """
CREATE STREAM one AS SELECT pid, AVG(load) AS load FROM cpu WHERE load < 20 GROUP BY pid WITHIN 5 SECONDS;
CREATE STREAM two AS SELECT pid, AVG(load) AS load FROM cpu WHERE load < 30 GROUP BY pid WITHIN 5 SECONDS;
QUERY Q1 PATTERN one r WHERE r.load > 9 WITHIN 1 SECOND;
QUERY Q2 PATTERN two r WHERE r.load > 9 WITHIN 1 SECOND;
"""


def test_figure_1a_every_operator_by_itself() -> None:
    assert shape(plan_of(EXAMPLE_1, ()))[:4] == [
        "as written: sigma x1",
        "as written: alpha x1",
        "as written: sigma x1",
        "as written: alpha x1",
    ]


def test_figure_1b_a_predicate_index_with_two_outputs() -> None:
    plan = plan_of(EXAMPLE_1, NO_CHANNELS)
    assert shape(plan)[:3] == ["s_sigma: sigma x2", "as written: alpha x1", "as written: alpha x1"]
    assert not plan.channels


def test_figure_1c_one_channel_before_one_aggregate() -> None:
    plan = plan_of(EXAMPLE_1)
    assert shape(plan)[:2] == ["s_sigma: sigma x2", "c_alpha: alpha x2"]
    assert plan.channels[0].streams == ("one.selected", "two.selected")
    text = optimize(Workload.parse(EXAMPLE_1), CPU, "rumor").explain()
    assert "of cpu where load < 20; load < 30" in text


# ---- Fig. 5, 7 and 8: prefixes, and the FR index above them -----------------------------------------------------

AUTOMATA = """
QUERY first  PATTERN SEQ(cpu a, T b) WHERE a.load < 5 AND b.pid = a.pid HAVING b.load > 7 WITHIN 9 SECONDS SELECT NEXT;
QUERY second PATTERN SEQ(cpu c, T d) WHERE c.load < 5 AND d.pid = c.pid HAVING d.load < 3 WITHIN 9 SECONDS SELECT NEXT;
"""


def test_figure_5_a_selection_then_a_sequence_then_a_selection() -> None:
    plan = plan_of(AUTOMATA.strip().splitlines()[0], ())
    kinds = [mop.kind for mop in plan.mops]
    assert kinds == [OperatorKind.SIGMA, OperatorKind.SEQ, OperatorKind.SIGMA]
    assert [mop.operators[0].inputs for mop in plan.mops] == [("cpu",), ("first.first", "T"), ("first.runs",)]


def test_a_rebind_edge_makes_it_mu() -> None:
    """4.2: with a rebind edge at the second state, the sequence is an iteration."""
    text = (
        AUTOMATA.strip()
        .splitlines()[0]
        .replace("T b", "T b+")
        .replace("b.load > 7", "b[i].load > b[i-1].load")
    )
    assert [mop.kind for mop in plan_of(text, ()).mops][:2] == [OperatorKind.SIGMA, OperatorKind.MU]


@pytest.mark.parametrize("number", [0, 1])
def test_figures_8a_and_8b_each_automaton_by_itself(number: int) -> None:
    plan = plan_of(AUTOMATA.strip().splitlines()[number])
    assert shape(plan) == ["as written: sigma x1", "as written: seq x1", "as written: sigma x1"]
    assert not plan.steps


def test_figure_7_states_are_merged_behind_states_that_were() -> None:
    """Inductively: where the first states differ, those behind them are not one without a channel."""
    other = AUTOMATA.replace("c.load < 5", "c.load < 6")
    assert "s_seq" not in rules_of(plan_of(other))
    assert "s_seq" not in rules_of(plan_of(other, NO_CHANNELS))
    iterated = AUTOMATA.replace("T b", "T b+").replace("T d", "T d+").replace("HAVING b.", "HAVING LAST(b).")
    merged = rules_of(plan_of(iterated.replace("HAVING d.", "HAVING LAST(d).")))
    assert merged["s_mu"] == 1
    assert merged["s_sigma"] == 1, "the FR index: one on what comes out of the merged state"


def test_figure_8_equal_prefixes_are_one_and_what_comes_after_them_an_index() -> None:
    plan = plan_of(AUTOMATA)
    assert shape(plan) == ["equal: sigma x2", "s_seq: seq x2", "s_sigma: sigma x2"]
    assert not plan.channels, "the streams are the same one"
    text = optimize(Workload.parse(AUTOMATA), CPU, "rumor").explain()
    assert text.count("= next ") == 1
    assert text.count("= filter ") == 2


# ---- Fig. 6: the motivating queries -------------------------------------------------------------------------------

SMOOTHED = "CREATE STREAM smoothed AS SELECT pid, AVG(load) AS load FROM cpu GROUP BY pid WITHIN 5 SECONDS;"


def query_1(name: str, start: float) -> str:
    """A rising run of smoothed loads that begins below `start` and ends above 90."""
    return f"""CREATE STREAM {name}_start AS SELECT pid, load FROM smoothed WHERE load < {start};
    QUERY {name} PATTERN SEQ({name}_start s, smoothed d+) WHERE [pid]
    HAVING d[i].load > d[i-1].load AND LAST(d).load > 90 WITHIN 1 HOUR SELECT NEXT;"""


QUERY_2 = SMOOTHED + "".join(query_1(f"Q{i}", 20 + i) for i in range(4))


def test_figure_6a_query_1() -> None:
    plan = plan_of(SMOOTHED + query_1("Q", 20))
    kinds = [str(mop.kind) for mop in plan.mops]
    assert kinds == ["alpha", "sigma", "pi", "mu", "sigma"]
    assert not plan.steps


def test_figure_6b_the_aggregate_and_the_starting_conditions_are_shared() -> None:
    plan = plan_of(QUERY_2, NO_CHANNELS)
    assert shape(plan)[:2] == ["as written: alpha x1", "s_sigma: sigma x4"]
    assert shape(plan).count("as written: mu x1") == 4


def test_figure_6c_a_channel_before_mu_and_one_after_it() -> None:
    plan = plan_of(QUERY_2)
    assert shape(plan) == [
        "as written: alpha x1",
        "s_sigma: sigma x4",
        "c_pi: pi x4",
        "c_mu: mu x4",
        "c_sigma: sigma x4",
    ]
    assert [channel.streams[0] for channel in plan.channels] == ["Q0_start.selected", "Q0_start", "Q0.runs"]
    order = [step.rule for step in plan.steps if step.rule != "channel"]
    assert order == ["s_sigma", "c_pi", "c_mu", "c_sigma"]
    text = optimize(Workload.parse(QUERY_2), CPU, "rumor").explain()
    assert text.count("= next ") == 1


def test_query_2_is_sharable_and_other_streams_are_not() -> None:
    plan = plan_of(QUERY_2)
    assert are_sharable(plan, "Q0_start", "Q3_start")
    assert are_sharable(plan, "Q0_start.selected", "smoothed"), "a selection and its input"
    assert not are_sharable(plan, "Q0_start", "cpu")
    assert not are_sharable(plan, "smoothed", "cpu")


def test_the_order_of_rules_can_change_the_plan() -> None:
    """3.3: an operator that two rules could merge goes to the one that comes first."""
    text = """
    CREATE STREAM a0 AS SELECT pid, load FROM smoothed WHERE load < 1;
    CREATE STREAM a1 AS SELECT pid, load FROM smoothed WHERE load < 2;
    CREATE STREAM b0 AS SELECT pid, load FROM a0 WHERE pid > 1;
    CREATE STREAM b1 AS SELECT pid, load FROM a1 WHERE pid > 1;
    CREATE STREAM b2 AS SELECT pid, load FROM a0 WHERE pid > 2;
    QUERY q0 PATTERN SEQ(b0 a, T t) WITHIN 1 SECOND; QUERY q1 PATTERN SEQ(b1 a, T t) WITHIN 1 SECOND;
    QUERY q2 PATTERN SEQ(b2 a, T t) WITHIN 1 SECOND;
    """
    last = sorted(PRIORITIES, key=lambda rule: rule.__name__ == "s_sigma")
    assert rules_of(plan_of(SMOOTHED + text)) != rules_of(plan_of(SMOOTHED + text, last))
