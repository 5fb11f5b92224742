"""Prices times work, for every kind of way; and the papers' function by hand."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.memo.plain_estimates import PlainEstimates, memo_of

from stretto.errors import StrettoError
from stretto.memo import prices as files
from stretto.memo.caution import UNDERESTIMATED, CautiousModel, weaker_pieces
from stretto.memo.cost import SORTED_EVENT, CostModel, chains
from stretto.memo.explore import explore
from stretto.memo.join_work import (
    CANDIDATE,
    CHAIN,
    COPY,
    FORBID,
    FRESH,
    ROW,
    STORE,
    steps_per_second,
)
from stretto.memo.memo import Memo
from stretto.memo.prices import NAMES, Prices
from stretto.memo.rules import AUTO
from stretto.memo.ways import Way, WayKind
from stretto.papers.partial_matches import PaperCost
from stretto.pattern.nodes import Stream
from stretto.pattern.order import NO_ORDER

RATES = {"A": 5.0, "B": 7.0, "C": 11.0, "D": 2.0}


def model(**changes: object) -> CostModel:
    return CostModel(PlainEstimates(**{"rates": RATES, **changes}), Prices())


def seq(pattern: str, where: str = "", within: str = "10 SECONDS") -> Memo:
    return memo_of(f"QUERY q PATTERN {pattern} {'WHERE ' + where if where else ''} WITHIN {within};")


def slot_of(memo: Memo, number: int, type_: str) -> int:
    """The slot of a piece that binds a type."""
    types = [slot.source.type for slot in memo.pieces[number].slots if isinstance(slot.source, Stream)]
    return types.index(type_)


def join(memo: Memo, *sides: str) -> tuple[int, Way]:
    """The join of the only query's core, its inputs given by the types of their slots."""
    (number,) = memo.cores()
    inputs = tuple(memo.part(number, tuple(slot_of(memo, number, t) for t in side)) for side in sides)
    return number, Way(WayKind.JOIN, inputs, "test")


def work(memo: Memo, *sides: str, costs: CostModel | None = None) -> dict[str, float]:
    return dict(zip(NAMES, (costs or model()).work(memo, *join(memo, *sides)), strict=True))


def cost(memo: Memo, *sides: str, costs: CostModel | None = None) -> float:
    return (costs or model()).cost(memo, *join(memo, *sides))


# ---- joins -----------------------------------------------------------------------------------------------------


def test_a_sequence_looks_at_the_left_rows_of_one_window() -> None:
    found = work(seq("SEQ(A a, B b)", "a.x < b.x"), "A", "B")
    assert found["candidate"] == pytest.approx(5 * 7 * 10)
    assert found["row"] == pytest.approx(5 * 7 * 10 / 2)
    assert found["copy"] == 0
    assert found["store"] == 5
    assert found["probe"] == 7


def test_where_nothing_is_compared_ranges_of_rows_are_copied() -> None:
    found = work(seq("SEQ(A a, B b)"), "A", "B")
    assert found["candidate"] == found["row"] == found["column"] == 0
    assert found["copy"] == pytest.approx(5 * 7 * 10 * (2 + 2))
    stored_pairs = work(seq("SEQ(A a, B b, C c)"), "AB", "C")  # whose first events may lie before the window
    assert stored_pairs["candidate"] > 0
    assert stored_pairs["row"] > 0


def test_rows_of_matches_are_written_to_new_memory() -> None:
    memo = seq("SEQ(A a, B b, C c)")
    core, way = join(memo, "A", "B", "C")
    (root,) = memo.roots
    assert root.piece == core
    rows = model().rows(memo, core)
    assert model().work(memo, core, way)[FRESH] == pytest.approx(rows * (8 + 3 * 4))
    part = memo.part(core, (0, 1)).piece
    inside = Way(WayKind.JOIN, (memo.part(part, (0,)), memo.part(part, (1,))), "test")
    assert model().work(memo, part, inside)[FRESH] == 0


def test_scans_that_compare_one_expression_with_constants_share_a_sort() -> None:
    def scans(count: int, where: str) -> list[dict[str, float]]:
        memo = memo_of(
            "".join(f"QUERY q{i} PATTERN A a WHERE {where.format(i)} WITHIN 1 s;" for i in range(count))
        )
        return [
            dict(zip(NAMES, model().work(memo, n, ways[0]), strict=True))
            for n, ways in enumerate(memo.ways)
            if ways[0].kind is WayKind.SCAN
        ]

    alone = scans(3, "a.k = {0} AND a.x < 1")
    assert [found["scan"] for found in alone] == [5 * 3] * 3
    together = scans(10, "a.k = {0} AND a.x < 1")
    kept = 5 * 0.5 * 0.5
    assert [found["scan"] for found in together] == pytest.approx([5 / 10 + kept * 2] * 10)
    assert [found["sort"] for found in together] == pytest.approx([SORTED_EVENT * (5 / 10 + kept)] * 10)
    assert all(found["sort"] == 0 for found in scans(10, "a.x + a.k * {0} < 1"))  # each its own expression


def test_events_are_taken_in_with_what_is_read_of_them() -> None:
    memo = seq("SEQ(A a, B b)", "[k] AND a.x < b.x")
    found = dict(zip(NAMES, model(texts=("k", "unread")).fixed_work(memo), strict=True))
    assert (found["event"], found["attribute"], found["text"]) == (100, 200, 100)


def test_a_conjunction_looks_from_both_sides() -> None:
    found = work(seq("AND(A a, B b)", "a.x < b.x"), "A", "B")
    assert found["candidate"] == pytest.approx(2 * 5 * 7 * 10)
    assert found["store"] == found["probe"] == 12


def test_an_event_between_two_is_looked_for_in_their_gap() -> None:
    found = work(seq("SEQ(A a, B b, C c)", "a.x < b.x"), "AC", "B")
    pairs = 5 * 11 * 10
    assert found["candidate"] == pytest.approx(pairs * 7 * 5)  # the mean gap is half of the window
    assert found["store"] == 7
    assert found["probe"] == pytest.approx(pairs)


def test_a_side_that_never_ends_a_match_does_not_look() -> None:
    # a < b and c < d: {a, c} always ends before {b, d} does, though no side is wholly before the other.
    memo = seq("AND(SEQ(A a, B b), SEQ(C c, D d))")
    found = work(memo, "AC", "BD")
    pairs = [2 * 10 * 5 * 11, 2 * 10 * 7 * 2]
    assert found["probe"] == pytest.approx(pairs[1])
    assert found["candidate"] <= pairs[0] * pairs[1] * 10


def test_rows_before_a_long_row_have_less_of_the_window() -> None:
    found = work(seq("SEQ(A a, B b, C c, D d)"), "AB", "CD")
    left, right = 5 * 7 * 10, 11 * 2 * 10
    assert found["candidate"] == pytest.approx(left * right * 10 / 2)


def test_equalities_are_looked_up_by_hash() -> None:
    plain, equal = seq("SEQ(A a, B b)"), seq("SEQ(A a, B b)", "a.k = b.k")
    found = work(equal, "A", "B")
    assert found["candidate"] == 0
    assert found["chain"] == pytest.approx(5 * 7 * 10 * 0.1 + 5 + 7)
    rare = model(rates={"A": 500.0, "B": 700.0})
    assert cost(equal, "A", "B", costs=rare) < cost(plain, "A", "B", costs=rare)


def test_same_is_an_equality_too() -> None:
    found = work(seq("SEQ(A a, B b)", "[k]"), "A", "B")
    assert found["chain"] == pytest.approx(5 * 7 * 10 * 0.1 + 5 + 7)


def test_equalities_that_follow_are_known() -> None:
    found = work(seq("SEQ(A a, B b, C c)", "a.k = b.k AND b.k = c.k"), "AC", "B")
    assert found["chain"] > 0
    assert found["candidate"] == 0


def test_other_terms_are_evaluated_on_pairs() -> None:
    found = work(seq("SEQ(A a, B b)", "a.x + b.x < 1"), "A", "B")
    assert found["evaluate"] > 0
    assert found["gather"] == pytest.approx(5 * 7 * 10 * 0.5)
    assert found["row"] == 0


@pytest.mark.parametrize(
    "sides", [("A", "B", "C"), ("B", "A", "C"), ("C", "A", "B"), ("AC", "B"), ("A", "BC")]
)
@pytest.mark.parametrize("pattern", ["SEQ(A a, B b, C c)", "AND(A a, B b, C c)", "SEQ(A a, AND(B b, C c))"])
def test_costs_grow_with_rates_and_window(pattern: str, sides: tuple[str, ...]) -> None:
    memo = seq(pattern, "a.x < c.x")
    base = cost(memo, *sides)
    for name in "ABC":
        assert cost(memo, *sides, costs=model(rates={**RATES, name: 2 * RATES[name]})) > base
    assert cost(seq(pattern, "a.x < c.x", "20 SECONDS"), *sides) > base


def test_several_inputs_cost_the_sum_of_their_steps() -> None:
    memo = seq("SEQ(A a, B b, C c, D d)", "a.x < c.x AND b.k = d.k AND c.x < d.x")
    (number,) = memo.cores()
    costs = model()
    whole = costs.cost(memo, *join(memo, "A", "B", "C", "D"))
    total, left = 0.0, "A"
    for right in "BCD":
        slots = tuple(slot_of(memo, number, t) for t in left + right)
        part = memo.part(number, slots)
        place = {memo.pieces[number].slots[slot].source.type: slot for slot in slots}
        inner = {t: part.columns.index(place[t]) for t in left + right}
        inputs = tuple(memo.part(part.piece, tuple(inner[t] for t in side)) for side in (left, right))
        total += costs.cost(memo, part.piece, Way(WayKind.JOIN, inputs, "test"))
        left += right
    assert whole == pytest.approx(total)


def test_many_small_operators_are_not_free() -> None:
    memo = seq("SEQ(A a, B b)")
    idle = dict.fromkeys(RATES, 0.0)
    assert cost(memo, "A", "B", costs=model(rates=idle, total_rate=65_536.0)) >= Prices().step


def test_a_window_of_events_counts_by_the_rate_of_all() -> None:
    by_time, by_count = seq("SEQ(A a, B b)"), seq("SEQ(A a, B b)", within="1000 EVENTS")
    assert work(by_time, "A", "B")["candidate"] == pytest.approx(work(by_count, "A", "B")["candidate"])


# ---- weaker inputs, filters, negations -----------------------------------------------------------------------------


def test_a_filter_costs_its_input_and_what_is_missing() -> None:
    memo = memo_of(
        "QUERY q PATTERN SEQ(A a, B b) WITHIN 10 SECONDS; QUERY r PATTERN AND(A a, B b) WITHIN 10 SECONDS;"
    )
    ordered, free = (root.piece for root in memo.roots)
    way = Way(WayKind.FILTER, (memo.input(memo.pieces[free]),), "test")
    costs = model()
    found = dict(zip(NAMES, costs.work(memo, ordered, way), strict=True))
    assert found["evaluate"] == pytest.approx(costs.rows(memo, free))


def test_a_weaker_input_is_narrowed_first() -> None:
    memo = seq("SEQ(A a, B b, C c)")
    number, way = join(memo, "AB", "C")
    exact = memo.pieces[way.inputs[0].piece]
    weaker = memo.input(replace(exact, order=NO_ORDER), way.inputs[0].columns)
    assert weaker.piece != way.inputs[0].piece
    costs = model()
    from_weaker = costs.work(memo, number, replace(way, inputs=(weaker, way.inputs[1])))
    given = costs.work(memo, number, way)
    assert from_weaker[STORE] == pytest.approx(given[STORE])
    assert from_weaker[NAMES.index("evaluate")] == pytest.approx(costs.rows(memo, weaker.piece))


def made(units: Sequence[float]) -> float:
    """Rows of three columns that a join made, by comparing or as ranges of rows."""
    return units[ROW] + units[COPY] / 5


def test_negations_are_judged_where_they_settle() -> None:
    memo = seq("SEQ(A a, NOT(D d), B b, C c)")
    early, late = model().work(memo, *join(memo, "AB", "C")), model().work(memo, *join(memo, "AC", "B"))
    assert early[FORBID] == 0
    assert late[FORBID] == pytest.approx(made(late))
    assert made(late) == pytest.approx(2 * made(early))
    steps = model().work(memo, *join(memo, "A", "B", "C"))
    assert steps[FORBID] == pytest.approx(5 * 7 * 10)


def test_forbid_reads_the_piece_without_its_negation() -> None:
    memo = seq("SEQ(A a, NOT(D d), B b)")
    (number,) = memo.cores()
    free = memo.input(replace(memo.pieces[number], negations=()))
    found = model().work(memo, number, Way(WayKind.FORBID, (free,), "test"))
    assert found[FORBID] == pytest.approx(5 * 7 * 10)


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        ("SEQ(A a, B b+)", WayKind.GROW),
        ("SEQ(A a, NOT(D d)) ", WayKind.GROW),
        ("SEQ(A a, (OR(B b, C c))+)", WayKind.UNITE),
    ],
)
def test_given_ways_have_a_price(pattern: str, kind: WayKind) -> None:
    memo = seq(pattern)
    ways = [(n, way) for n in memo.needed() for way in memo.ways[n] if way.kind is kind]
    assert ways
    for number, way in ways:
        assert model().cost(memo, number, way) > 0


def test_next_and_scan_have_a_price() -> None:
    memo = memo_of("QUERY q PATTERN SEQ(A a, B b) WITHIN 10 SECONDS SELECT NEXT;")
    (way,) = memo.ways[memo.roots[0].piece]
    assert way.kind is WayKind.NEXT
    assert model().cost(memo, memo.roots[0].piece, way) > 0
    other = seq("A a")
    (way,) = other.ways[other.roots[0].piece]
    assert model().cost(other, other.roots[0].piece, way) > 0


def test_output_and_intake_are_told_apart() -> None:
    memo = seq("SEQ(A a, B b)")
    costs = model()
    few = costs.emit_cost(memo, memo.roots[0])
    steps = 0.5 * 100 / 65_536  # an output is a small operator
    assert few == pytest.approx(350 * (Prices().emit + 2 * Prices().emit_column) + steps * Prices().step)
    assert costs.fixed_cost(memo) == pytest.approx(100 * Prices().event)
    reading = seq("SEQ(A a, B b, NOT(C c))", "[k] AND a.x > 0.5")
    assert costs.fixed_cost(reading) == pytest.approx(100 * (Prices().event + 2 * Prices().attribute))


def test_few_events_take_few_steps_and_many_take_long_ones() -> None:
    per_event = [steps_per_second(1.0, events) for events in (1_000, 1 << 16, 1 << 20, 1 << 26)]
    assert per_event == sorted(per_event, reverse=True)
    assert per_event[1] * (1 << 16) == pytest.approx(1.25)
    assert per_event[3] == pytest.approx(1 / (1 << 20), rel=0.05)
    assert steps_per_second(1.0, 0) == pytest.approx(1 / (1 << 16))


def test_weaker_pieces_cost_a_doubter_more() -> None:
    memo = memo_of(
        "QUERY p PATTERN SEQ(A a, B b) WHERE a.x > b.x + 1 WITHIN 10 SECONDS;"
        "QUERY q PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 SECONDS;"
    )
    explore(memo, AUTO)
    weaker = weaker_pieces(memo)
    assert weaker
    assert not weaker & {root.piece for root in memo.roots}
    costs = CautiousModel(model().estimator, Prices())
    for number in weaker:
        assert costs.rows(memo, number) == UNDERESTIMATED * model().rows(memo, number)
    assert costs.rows(memo, memo.roots[0].piece) == model().rows(memo, memo.roots[0].piece)


def test_one_model_serves_several_memos() -> None:
    costs = model()
    first, second = seq("SEQ(A a, B b)"), seq("AND(A a, B b)")
    expected = [cost(first, "A", "B"), cost(second, "A", "B"), cost(first, "A", "B")]
    assert [costs.cost(m, *join(m, "A", "B")) for m in (first, second, first)] == expected


@pytest.mark.parametrize(("low", "high"), [(1, None), (1, 3), (2, 4), (2, None)])
def test_chains_from_their_number(low: int, high: int | None) -> None:
    few = chains(low, high, 1.5)
    many = chains(low, high, 4.0)
    assert few[0] < many[0]
    assert few[1] <= many[1]
    assert low <= few[1]


def test_chains_of_poisson_candidates() -> None:
    assert chains(1, None, 7.389056) == pytest.approx((2.0, 3.0))
    assert chains(1, 2, 3.0)[0] == pytest.approx(2.0)


# ---- the papers ------------------------------------------------------------------------------------------------


def test_the_cost_of_an_order_is_the_sum_over_its_prefixes() -> None:
    # MCEP sec. 3.3: Cost_ord = W r1 + W^2 r1 r2 sel12 + W^3 r1 r2 r3 sel12 sel13 sel23, here with W = 10 and half of
    # all pairs (a, c) passing: order (A, B, C) 50 + 3500 + 192500, order (C, A, B) 110 + 2750 + 192500.
    memo = seq("SEQ(A a, B b, C c)", "a.x < c.x")
    paper = PaperCost(PlainEstimates(RATES))
    leaves = {t: _leaf(memo, paper, t) for t in "ABC"}
    assert leaves == pytest.approx({"A": 50.0, "B": 70.0, "C": 110.0})
    assert leaves["A"] + paper.cost(memo, *join(memo, "A", "B", "C")) == pytest.approx(50 + 3500 + 192_500)
    assert leaves["C"] + paper.cost(memo, *join(memo, "C", "A", "B")) == pytest.approx(110 + 2750 + 192_500)


def test_the_cost_of_a_tree_is_the_sum_of_its_nodes() -> None:
    # MCEP app. C: C(leaf) = W r, C(node) = C(L) C(R) sel_LR. Tree ((A, C), B): leaves 50, 110, 70, then
    # 50 * 110 * 0.5 = 2750 and 2750 * 70 = 192500.
    memo = seq("SEQ(A a, B b, C c)", "a.x < c.x")
    paper = PaperCost(PlainEstimates(RATES))
    number, way = join(memo, "AC", "B")
    inner = way.inputs[0].piece
    pair = Way(WayKind.JOIN, tuple(memo.part(inner, (slot,)) for slot in range(2)), "test")
    assert paper.cost(memo, inner, pair) == pytest.approx(2750)
    assert paper.cost(memo, number, way) == pytest.approx(192_500)


def test_the_papers_know_no_order() -> None:
    paper = PaperCost(PlainEstimates(RATES))
    ordered, free = seq("SEQ(A a, B b)"), seq("AND(A a, B b)")
    assert paper.cost(ordered, *join(ordered, "A", "B")) == pytest.approx(
        paper.cost(free, *join(free, "A", "B"))
    )


def test_a_shared_leaf_has_the_widest_window() -> None:
    memo = memo_of(
        "QUERY q PATTERN SEQ(A a, B b) WITHIN 10 SECONDS; QUERY r PATTERN SEQ(A a, C c) WITHIN 30 SECONDS;"
    )
    assert _leaf(memo, PaperCost(PlainEstimates(RATES)), "A") == pytest.approx(150)


def test_what_the_papers_do_not_price_costs_what_it_reads() -> None:
    memo = seq("SEQ(A a, B b+)")
    (root,) = memo.roots
    (way,) = memo.ways[root.piece]
    assert way.kind is WayKind.GROW
    assert PaperCost(PlainEstimates(RATES)).cost(memo, root.piece, way) == pytest.approx(50 * 70)


def _leaf(memo: Memo, paper: PaperCost, type_: str) -> float:
    for number in memo.needed():
        for way in memo.ways[number]:
            source = memo.pieces[number].slots[0].source
            if way.kind is WayKind.SCAN and isinstance(source, Stream) and source.type == type_:
                return paper.cost(memo, number, way)
    raise AssertionError(type_)


# ---- prices ----------------------------------------------------------------------------------------------------


def test_prices_are_read_as_they_were_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRETTO_PRICES", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert files.load() == Prices()
    mine = replace(Prices(), candidate=0.25, step=1e5)
    assert files.save(mine) == tmp_path / "stretto" / "prices.json"
    assert files.load() == mine
    monkeypatch.setenv("STRETTO_PRICES", str(tmp_path / "other.json"))
    files.save(Prices())
    assert files.load() == Prices()
    assert Prices.of(list(mine.values())) == mine


def test_a_file_may_leave_prices_out(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text('{"unit": "ns", "prices": {"row": 9}}')
    assert files.load(path) == replace(Prices(), row=9.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not a file of prices"),
        ("[]", "there are none in it"),
        ('{"prices": {"gold": 1}}', "unknown prices: gold"),
        ('{"prices": {"row": "much"}}', "the price `row` is a number of nanoseconds, not 'much'"),
        ('{"prices": {"row": true}}', "the price `row`"),
        ('{"prices": {"row": -1}}', "the price `row` is a number of nanoseconds, not -1"),
        ('{"prices": {"row": NaN}}', "not nan"),
    ],
)
def test_a_bad_file_is_an_error(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(StrettoError, match="stretto calibrate") as found:
        files.load(path)
    assert says in str(found.value)
    assert str(path) in str(found.value)


def test_a_file_that_is_named_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRETTO_PRICES", str(tmp_path / "none.json"))
    with pytest.raises(StrettoError, match="no such file of prices"):
        files.load()


def test_names_of_work_are_names_of_prices() -> None:
    assert (NAMES[CANDIDATE], NAMES[CHAIN], NAMES[FORBID], NAMES[ROW]) == (
        "candidate",
        "chain",
        "forbid",
        "row",
    )
