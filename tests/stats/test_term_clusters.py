"""Pieces taken apart: equalities, clusters of terms, chains of positions; and their text."""

from dataclasses import replace

import pytest
from tests.stats.worlds import piece_of

from stretto.pattern.canonical.pieces import canonical
from stretto.pattern.nodes import Window
from stretto.pattern.project import project
from stretto.stats.term_clusters import cluster_words, pair, relate, rounded, standard


def words(pattern: str) -> list[tuple[str, str]]:
    return [cluster_words(standard(cluster)) for cluster in relate(piece_of(pattern)).clusters]


def test_terms_that_share_an_event_are_one_cluster() -> None:
    found = words(
        "SEQ(A a, B b, C c, D d) WHERE a.x < b.x AND c.x < d.x AND d.x < 2 * c.x AND a.x > 0.5 WITHIN 1s"
    )
    assert sorted(found) == [
        ("A.x < B.x", "SEQ(A[x > 0.5], B) within 1s"),
        ("C.x < D.x AND D.x < C.x * 2.0", "SEQ(C, D) within 1s"),
    ]


def test_equalities_stand_apart_and_are_closed() -> None:
    found = relate(piece_of("SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k AND a.x < c.x WITHIN 1s"))
    assert [equals.members for equals in found.equals] == [((0, "k"), (1, "k"), (2, "k"))]
    assert cluster_words(found.clusters[0]) == ("A.x < C.x", "SEQ(A, C) given A.k = C.k within 1s")
    same = relate(piece_of("SEQ(A a, B b, C c) WHERE [k] AND [w] WITHIN 1s"))
    assert [equals.members[0] for equals in same.equals] == [(0, "k"), (0, "w")]


def test_equal_terms_of_different_queries_are_one() -> None:
    one = words("AND(B b, A a, C c) WHERE a.x < b.x WITHIN 1s")
    assert one == words("AND(A q, B r) WHERE r.x > q.x WITHIN 1s")
    assert one == [("A.x < B.x", "AND(A, B) within 1s")]
    twice = words("SEQ(A a, A b) WHERE a.x < b.x WITHIN 1s")
    assert twice == [("A.x < A#2.x", "SEQ(A, A) within 1s")]


def test_projections_and_canonical_forms_have_the_same_clusters() -> None:
    piece = piece_of("AND(D d, SEQ(A a, B b), C c) WHERE a.x < b.x AND b.x < d.x WITHIN 1s")
    whole = {cluster_words(standard(cluster)) for cluster in relate(piece).clusters}
    form, _ = canonical(project(piece, (0, 2, 1)))
    assert {cluster_words(standard(cluster)) for cluster in relate(form).clusters} == whole


def test_strict_patterns_are_chains() -> None:
    found = relate(piece_of("SEQ(A a, B b, C c) WITHIN 1s SELECT STRICT"))
    assert (found.chains, found.partitioned, found.clusters) == (((0, 1, 2),), False, ())
    assert relate(piece_of("SEQ(A a, B b) WHERE [k] WITHIN 1s SELECT STRICT")).partitioned


def test_times_are_read_in_the_whole_piece() -> None:
    (cluster,) = relate(piece_of("SEQ(A a, B b, C c) WHERE c.ts - a.ts < 700ms WITHIN 1234ms")).clusters
    assert len(cluster.frame.streams) == 3
    assert cluster.frame.window == Window(1_234_000)


def test_pairs_have_one_form() -> None:
    piece = piece_of("SEQ(B b, A a) WHERE a.k = b.k WITHIN 1s")
    assert pair(piece, (0, "k"), (1, "k")) == pair(piece, (1, "k"), (0, "k"))
    unordered = piece_of("AND(B b, A a) WHERE a.k = b.k WITHIN 1s")
    frame, link = pair(unordered, (0, "k"), (1, "k"))
    assert [stream.type for stream in frame.streams] == ["A", "B"]
    assert (frame, link) == pair(replace(unordered, slots=unordered.slots[::-1]), (0, "k"), (1, "k"))


@pytest.mark.parametrize(
    ("size", "near"),
    [
        (0, 0),
        (7, 7),
        (10_000_000, 10_000_000),
        (11_000_000, 10_000_000),
        (60_000_000, 60_000_000),
        (990, 1000),
    ],
)
def test_windows_of_about_one_size_are_one(size, near) -> None:
    assert rounded(Window(size)) == Window(near)
