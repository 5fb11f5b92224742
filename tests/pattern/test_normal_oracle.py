"""Normal, canonical and projected forms mean what the query means; the oracle and brute force over pieces agree."""

from collections import Counter
from random import Random

import pytest
from tests.pattern.piece_matches import Matcher, detected
from tests.support.strategies import random_workload

from stretto import oracle
from stretto.errors import QueryError
from stretto.pattern.canonical.pieces import canonical
from stretto.pattern.nodes import Policy
from stretto.pattern.normal import normalize
from stretto.pattern.piece import Detection, Piece
from stretto.pattern.project import project
from stretto.pattern.workload import Workload

SEEDS = range(60)


def samples(seed: int):
    """The normal forms of a random workload with their queries and few events."""
    sample = random_workload(Random(seed))
    for query in Workload.parse(sample.text).bind(sample.schema).detections:
        try:
            yield query, normalize(query), sample.events[:9]
        except QueryError as error:
            if "not supported yet" not in str(error):
                raise


@pytest.mark.parametrize("seed", SEEDS)
def test_oracle_finds_what_the_normal_form_finds(seed: int) -> None:
    for query, detection, events in samples(seed):
        if query.policy is Policy.NEXT:
            continue
        found = Counter(tuple(sorted(match.items())) for match in detected(detection, events))
        expected = {tuple(sorted(match.events.items())) for match in oracle.matches(query, events)}
        assert set(found) == expected
        assert detection.ambiguous or max(found.values(), default=1) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_canonical_form_has_the_same_matches(seed: int) -> None:
    for _, detection, events in samples(seed):
        for piece in pieces_of(detection):
            form, columns = canonical(piece)
            again, same_columns = canonical(form)
            assert again == form
            assert sorted(columns) == list(range(piece.width)) == sorted(same_columns)
            matcher = Matcher(events, piece.same)
            expected = {tuple(match[c] for c in columns) for match in matcher.matches(piece)}
            assert set(matcher.matches(form)) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_projection_loses_no_match(seed: int) -> None:
    rng = Random(seed)
    for _, detection, events in samples(seed):
        for piece in pieces_of(detection):
            chosen = rng.sample(range(len(piece.slots)), rng.randint(1, len(piece.slots)))
            columns = [column for slot in chosen for column in piece.columns(slot)]
            matcher = Matcher(events, piece.same)
            part = set(matcher.matches(project(piece, chosen)))
            for match in matcher.matches(piece):
                assert tuple(match[column] for column in columns) in part


def pieces_of(detection: Detection) -> list[Piece]:
    pieces = [branch.piece for branch in detection.branches]
    return [piece for piece in pieces if piece.policy is Policy.ANY]
