"""Functions of texts, times and lists: what arrays give is what the oracle gives, value by value.

STRETTO_TEXTS says how many seeds are tried, each with four random terms.
"""

import os
from random import Random

import numpy as np
import pytest
from tests.support.text_terms import ATTRIBUTES, SCHEMA, TextTerms, random_events, to_table

from stretto.engine.stream.intake import Intake
from stretto.oracle.values import Event, evaluate
from stretto.pattern.binding.scope import Known, Report, Scope
from stretto.pattern.binding.terms import ExpressionBinder
from stretto.pattern.canonical.terms import canonical_term
from stretto.pattern.predicates import Expr, Which
from stretto.schema import Special
from stretto.text.parser import parse_expression
from stretto.values.evaluate import value
from stretto.values.rows import I64
from stretto.values.strings import Strings
from stretto.values.vector import Vector

WORKLOADS = int(os.environ.get("STRETTO_TEXTS", "300"))


class Given:
    """Events of a table, by row."""

    def __init__(self, events: list[Event]) -> None:
        self.strings = Strings()
        intake = Intake(ATTRIBUTES, {"A": 1, "B": 2}, Special(), self.strings)
        (batch,) = to_table(events).combine_chunks().to_batches()
        self.block, rows, _ = intake.convert(batch, 0)
        assert rows is None

    def values(self, attribute: str, positions: I64) -> Vector:
        return (
            Vector(self.block.ts[positions])
            if attribute == "ts"
            else self.block.attributes[attribute].take(positions)
        )


def bound(text: str) -> Expr:
    known = {name: Known(number, name, ATTRIBUTES) for number, name in enumerate("ab")}
    report = Report()
    found = ExpressionBinder(Scope(known, SCHEMA), report, "WHERE", sets=True).condition(
        parse_expression(text)
    )
    assert found is not None, (text, report.mistakes)
    return found


def truth(vector: Vector) -> list[bool | None]:
    return [bool(data) if ok else None for data, ok in zip(vector.data, ~vector.nulls, strict=True)]


def check(seed: int) -> None:
    rng = Random(seed)
    events = random_events(rng, 30)
    given, terms = Given(events), TextTerms(rng, ["a", "b"])
    first = np.array([rng.randrange(len(events)) for _ in range(60)])
    second = np.array([rng.randrange(len(events)) for _ in range(60)])
    for _ in range(4):
        text = terms.condition()
        term = bound(text)
        for form in (term, canonical_term(term)):
            found = truth(value(form, (first, second), len(first), given).over(len(first)))
            expected = []
            for a, b in zip(first, second, strict=True):
                sets = {0: [events[a]], 1: [events[b]]}
                chosen = {(column, Which.EACH): one for column, (one,) in sets.items()}
                expected.append(evaluate(term, sets, chosen))
            wrong = [i for i in range(60) if found[i] is not expected[i]]
            shown = [
                (found[i], expected[i], events[first[i]].attributes, events[second[i]].attributes)
                for i in wrong[:2]
            ]
            assert not wrong, f"{seed}: {text}\n{shown}"


@pytest.mark.parametrize("start", range(0, WORKLOADS, 100))
def test_arrays_give_what_the_oracle_gives(start: int) -> None:
    for seed in range(start, start + 100):
        check(seed)
