"""Rows of pieces under SELECT NEXT and LAST: each first event starts one run, which goes on if the next step comes."""

from dataclasses import replace
from math import exp
from typing import Protocol

from stretto.pattern.nodes import Policy, Stream
from stretto.pattern.piece import Piece
from stretto.pattern.predicates import columns_of
from stretto.stats.growth import Once, once
from stretto.stats.term_clusters import stream_of


class Figures(Protocol):
    """What is asked of an estimator."""

    def rate(self, stream: Stream) -> float:
        """Events per second of a stream."""
        ...

    def selectivity(self, piece: Piece) -> float:
        """The share of a piece's tuples in window and order that satisfy its terms."""
        ...

    def window(self, piece: Piece) -> float:
        """The seconds of a piece's window."""
        ...


def runs(piece: Piece, figures: Figures) -> float:
    """A bound for the rows per second of a piece under the policy NEXT."""
    alternatives, _ = once(replace(piece, policy=Policy.ANY))
    found = max((_run(one, figures) for one in alternatives), default=0.0)
    return found * max(1, len(alternatives))


def _run(found: Once, figures: Figures) -> float:
    piece = found.piece
    window = figures.window(piece)
    rates = [figures.rate(stream_of(slot)) for slot in piece.slots]
    first = next((slot for slot in range(len(rates)) if slot not in found.optional), len(rates) - 1)
    result = sum(rates[: first + 1])
    before = figures.selectivity(_prefix(piece, first + 1))
    for slot in range(first + 1, len(rates)):
        here = figures.selectivity(_prefix(piece, slot + 1))
        # A run is never split: it goes on with the first event that passes, so a step adds no rows, it only may
        # fail to come.
        share = min(1.0, here / before) if before else 0.0
        before = here
        if slot not in found.optional:
            result *= 1.0 - exp(-min(rates[slot] * share * window, 700.0))
    return result


def latest_runs(piece: Piece, figures: Figures) -> float:
    """Rows per second of a piece under the policy LAST.

    A partial match waits for three things: an event that takes it on, a later partial match that takes its place, and
    the end of its window. It is taken on as often as the first is the quickest.
    """
    window = max(figures.window(piece), 1e-9)
    rates = [figures.rate(stream_of(slot)) for slot in piece.slots]
    result, before = rates[0], figures.selectivity(_prefix(piece, 1))
    for slot in range(1, len(rates)):
        here = figures.selectivity(_prefix(piece, slot + 1))
        taken_on = rates[slot] * (min(1.0, here / before) if before else 0.0)
        alike = figures.selectivity(replace(_prefix(piece, 2), terms=(), having=()))  # of one key
        before = here
        result *= taken_on / (taken_on + result * alike + 1.0 / window)
    return result


def _prefix(piece: Piece, count: int) -> Piece:
    """What relates the first slots of a piece."""
    kept = set(range(count))
    return replace(
        piece,
        slots=piece.slots[:count],
        order=piece.order.part(range(count)),
        terms=tuple(term for term in piece.terms if columns_of(term) <= kept),
        negations=(),
    )
