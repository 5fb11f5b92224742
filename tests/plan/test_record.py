"""What a plan keeps of its operators: every recorded piece is what the operator's rows are."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from tests.plan.estimated import ALONE, SHARED
from tests.plan.reference import Reference, Row
from tests.support.random_events import random_events
from tests.support.strategies import random_workload

from stretto.errors import QueryError
from stretto.memo.explore import Rules, explore
from stretto.memo.memo import NO_WINDOW, build_memo
from stretto.memo.rules import AUTO
from stretto.memo.rules.join_left_to_right import join_left_to_right
from stretto.memo.rules.split_in_two import split_in_two
from stretto.oracle.values import Event
from stretto.pattern.canonical.pieces import canonical
from stretto.pattern.nodes import Window
from stretto.pattern.piece import Branch, Detection, Piece
from stretto.pattern.workload import Workload
from stretto.plan.assemble import assemble
from stretto.plan.build import Builder
from stretto.plan.ops import Emit, Op
from stretto.plan.optimize import optimize, plannable
from stretto.plan.record import Record
from stretto.schema import Kind, Schema
from stretto.solve.common.solution import Solution, one_way_each
from stretto.stats.profile import Stats

GOLDEN = Path(__file__).parent.parent / "golden" / "plan"
SCHEMA = Schema({"x": Kind.FLOAT, "n": Kind.INT, "k": Kind.INT, "s": Kind.STRING})
NAMES = sorted(path.stem for path in GOLDEN.glob("*.cep"))
EVENTS = 8


def assembled(workload: Workload, schema: Schema, seed: int | None, rules: Rules) -> Builder:
    """The operators of random ways (None: the queries' own order)."""
    detections = plannable(workload.bind(schema))
    memo = build_memo(detections)
    explore(memo, rules)
    rng = Random(seed)
    chosen = {} if seed is None else {i: rng.randrange(len(ways)) for i, ways in enumerate(memo.ways) if ways}
    builder = Builder(schema.attributes)
    assemble(detections, memo, Solution(one_way_each(memo, chosen)), builder)
    return builder


JOINS = Rules((join_left_to_right, split_in_two))


def rows_of(piece: Piece, schema: Schema, events: list[Event]) -> set[Row]:
    """The rows of a piece by a plan of its own."""
    width = piece.width
    if piece.window == NO_WINDOW:
        piece = replace(piece, window=Window(1))
    variables = tuple(f"v{column}" for column in range(width))
    alone = Detection("q", variables, (True,) * width, (Branch(piece, tuple(range(width))),), (), False)
    memo = build_memo([alone])
    explore(memo, Rules((join_left_to_right,)))
    builder = Builder(schema.attributes)
    emits = assemble([alone], memo, Solution(one_way_each(memo, {})), builder)
    emit = builder.ops[emits["q"]]
    assert isinstance(emit, Emit)
    return set(Reference(builder.ops, events).mapped(emit, 0, width))


def judge(builder: Builder, schema: Schema, events: list[Event], about: str) -> int:
    found = Reference(builder.ops, events)
    compared = 0
    for number, record in enumerate(builder.records):
        if record.computed is not None:
            expected = rows_of(record.computed.form(), schema, events)
            assert set(found.rows[number]) == expected, f"n{number} of {about}"
            compared += bool(expected)
    return compared


@pytest.mark.parametrize("name", NAMES)
def test_records_of_golden_plans_say_what_rows_are(name: str) -> None:
    text = (GOLDEN / f"{name}.cep").read_text()
    for word in ("10 MINUTES", "1 MINUTE", "30 s", "5 s"):
        text = text.replace(f"WITHIN {word}", "WITHIN 6 us")
    workload = Workload.parse(text)
    events = random_events(Random(5), "ABCD", most=30)[: EVENTS + 2]
    builders = [assembled(workload, SCHEMA, seed, JOINS) for seed in (None, 1, 2)]
    assert sum(judge(builder, SCHEMA, events, name) for builder in builders) > 8


@pytest.mark.parametrize("block", range(6))
def test_records_of_any_ways_say_what_rows_are(block: int) -> None:
    compared = 0
    for seed in range(block * 20, block * 20 + 20):
        sample = random_workload(Random(seed))
        rules = AUTO if seed % 2 else JOINS
        try:
            builder = assembled(Workload.parse(sample.text), sample.schema, seed, rules)
        except QueryError:
            continue
        compared += judge(builder, sample.schema, sample.events[:EVENTS], f"{seed}\n{sample}")
    assert compared > 20


def ends(ops: list[Op], records: list[Record]) -> Iterator[tuple[str, list[Piece]]]:
    """The pieces that each query's Emit reads, in one form."""
    for op in ops:
        if isinstance(op, Emit):
            read = [records[part].computed for part in op.parts]
            yield op.query, [canonical(computed.form())[0] for computed in read if computed is not None]


@pytest.mark.parametrize("name", NAMES)
def test_every_tree_of_joins_computes_the_same(name: str) -> None:
    workload = Workload.parse((GOLDEN / f"{name}.cep").read_text())
    first = assembled(workload, SCHEMA, None, JOINS)
    for seed in range(5):
        other = assembled(workload, SCHEMA, seed, JOINS)
        assert dict(ends(other.ops, other.records)) == dict(ends(first.ops, first.records))


def test_two_plans_of_a_query_end_in_the_same() -> None:
    shared, alone = (
        [None if r.computed is None else canonical(r.computed.form())[0] for r in plan.records]
        for plan in (SHARED, ALONE)
    )
    assert shared[6] == alone[6]
    assert shared[3] == alone[2]
    assert shared[2] != alone[2]
    assert shared[4] is None


def test_rows_of_steps_inside_a_computation_are_estimated() -> None:
    stats = Stats.assumed(SCHEMA).with_rates({"A": 1.0, "B": 2.0, "C": 3.0, "D": 4.0})
    for name in NAMES:
        plan = optimize(Workload.parse((GOLDEN / f"{name}.cep").read_text()), stats, "none")
        assert all(record.rows is not None for record in plan.records)
