"""Texts and JSON damaged in structure: a workload or a list of mistakes that can be shown, and nothing else.

What is right must also survive being written and read again. Seeds are fixed, so that a change is judged by itself;
STRETTO_MUTATIONS=SEED begins elsewhere.
"""

import json as standard_json
import os
import re
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from tests.support.random_events import ATTRIBUTES
from tests.text.mutations import mutated, mutated_json, texts

from stretto.errors import QueryError
from stretto.pattern.guessed_schema import guess_schema
from stretto.pattern.workload import Workload, check
from stretto.schema import Schema
from stretto.text.parser import parse_expression, parse_pattern

SEED = int(os.environ.get("STRETTO_MUTATIONS", "11"))
BLOCKS, PER_BLOCK = 20, 1000
SCHEMA = Schema(ATTRIBUTES, frozenset("ABCD"))
TEXTS = texts()


@pytest.mark.parametrize("block", range(BLOCKS))
def test_mutated_texts(block: int) -> None:
    random = Random(f"{SEED}/{block}")
    right = 0
    for number in range(PER_BLOCK):
        right += check_text(mutated(random, TEXTS), SCHEMA if number % 2 else None)
    assert right > PER_BLOCK / 50


def check_text(text: str, schema: Schema | None) -> bool:
    """Whether the text is right; AssertionError if what is said of it is not."""
    mistakes = check(text, "a.cep", schema)
    if mistakes:
        assert_can_be_shown(QueryError(mistakes, text, "a.cep"), text)
        return False
    workload = Workload.parse(text, "a.cep")
    assert_lasts(workload)
    assert_binds(workload, schema or guess_schema(workload), text)
    return True


def assert_can_be_shown(error: QueryError, text: str) -> None:
    """Mistakes in order, each with a place inside the text."""
    lines = text.split("\n")
    assert error.mistakes
    for mistake in error.mistakes:
        at = mistake.at
        assert mistake.message
        assert at is not None
        assert (at.line, at.column) < (at.end_line, at.end_column)
        assert 1 <= at.line <= at.end_line <= len(lines)
        assert 1 <= at.column <= len(lines[at.line - 1]) + 1
        assert at.end_column <= len(lines[at.end_line - 1]) + 2
    places = [mistake.at for mistake in error.mistakes]
    assert places == sorted(places)
    assert_is_safe(error)


def assert_is_safe(error: QueryError) -> None:
    """Nothing that a terminal obeys in what is shown."""
    shown = str(error)
    assert shown
    assert all(character.isprintable() or character in "\n\t\ufeff\xa0" for character in shown)


def assert_lasts(workload: Workload) -> None:
    assert Workload.parse(workload.to_text()) == workload
    assert Workload.from_json(standard_json.loads(standard_json.dumps(workload.to_json()))) == workload


def assert_binds(workload: Workload, schema: Schema, text: str) -> None:
    """To queries in normal form, or what is wrong can be shown."""
    try:
        workload.bind(schema).normal_forms()
    except QueryError as error:
        assert_can_be_shown(error, text)


@pytest.mark.parametrize("block", range(5))
def test_mutated_json(block: int) -> None:
    random = Random(f"{SEED}/json/{block}")
    right = 0
    for _ in range(PER_BLOCK):
        data = mutated_json(random, JSON)
        try:
            workload = Workload.from_json(data)
        except QueryError as error:
            assert_is_safe(error)
            continue
        right += 1
        assert Workload.from_json(workload.to_json()) == workload
        try:
            workload.verify()
            workload.bind(guess_schema(workload)).normal_forms()
            workload.bind(SCHEMA).normal_forms()
        except QueryError as error:
            assert_is_safe(error)
    assert right > PER_BLOCK / 50


def right_json() -> list[Any]:
    found = []
    for text in TEXTS:
        with suppress(QueryError):
            found.append(Workload.parse(text).to_json())
    return found


JSON = right_json()


@pytest.mark.parametrize("read", [parse_expression, parse_pattern])
def test_mutated_parts(read: Callable[[str], object]) -> None:
    random = Random(f"{SEED}/{read.__name__}")
    for _ in range(PER_BLOCK):
        with suppress(QueryError):
            read(mutated(random, PARTS[read]))


PARTS = {
    parse_expression: re.findall(r"WHERE (.*?)(?:WITHIN|RETURN|;)", "\n".join(TEXTS), re.DOTALL),
    parse_pattern: re.findall(r"PATTERN (.*?)(?:WHERE|WITHIN|;)", "\n".join(TEXTS), re.DOTALL),
}
