"""How many combinations of constants an event concerns, and what it costs to look them up and to pair them."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from stretto.pattern.comparisons import FLIPPED, RANGES
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Apply, Expr, Param, Ref
from stretto.plan.families.members import Constants
from stretto.schema import Kind
from stretto.stats.profile import Stats
from stretto.stats.sample import Sample
from stretto.stats.selectivity import assumed
from stretto.values.rows import F64

LOOKUP: Final = 40.0
"""Nanoseconds in which an event finds its combinations by an index, ..."""
PAIR: Final = 30.0
"""... and in which it is paired with one, and judged by what is left."""
PAIRS: Final = 1 << 17
"""Pairs that are made of sampled events, about, ..."""
LOOKS: Final = 1 << 21
"""... and pairs that are looked at, where terms are more than equalities and comparisons."""
NUMBERS: Final = (Kind.INT, Kind.FLOAT, Kind.TIME, Kind.DURATION)


def pairs_per_event(stats: Stats, source: Stream, entries: Constants, terms: Sequence[Expr]) -> float:
    """The combinations that an event of the source concerns, on average, terms taken as independent.

    Comparisons of an attribute with a constant are counted on the sample, as far as that knows the events.
    """
    found = float(len(entries))
    for term in terms:
        share = _counted(stats, source, entries, term)
        found *= assumed((term,)) if share is None else share
    return found


def entries_for(
    stats: Stats, source: Stream, entries: Constants, terms: Sequence[Expr], events: float
) -> int:
    """Return how many entries can be paired with so many sampled events; terms that nobody counted cost a look each."""
    pairs, uncounted = events, False
    for term in terms:
        share = _counted(stats, source, entries, term)
        uncounted |= share is None
        pairs *= 1.0 if share is None else share
    most = LOOKS if uncounted else PAIRS
    return max(1, int(min(float(len(entries)), most / pairs if pairs else float(len(entries)))))


def pairing_cost(events: float, pairs: float) -> float:
    """Nanoseconds per second of the stream, for so many events and pairs per second."""
    return LOOKUP * events + PAIR * pairs


def _counted(stats: Stats, source: Stream, entries: Constants, term: Expr) -> float | None:
    """The share of combinations that pass a term with an event; None where the sample cannot tell."""
    match term:
        case Apply(op, (Ref(_, attribute, kind), Param(constant, _))) if op in RANGES:
            pass
        case Apply(op, (Param(constant, _), Ref(_, attribute, kind))) if op in RANGES:
            op = FLIPPED[op]
        case _:
            return None
    sample = stats.sample
    countable = kind in NUMBERS or (kind is Kind.STRING and op == "=")
    if not countable or sample is None or not sample.knows(attribute) or not len(entries):
        return None
    positions = sample.members(Stream(source.type)).positions
    if not len(positions):
        return None
    values = sample.values(attribute, positions)
    known = values.data[~values.nulls].astype(np.float64)
    column = entries.columns[constant]
    limits = np.sort(_codes(sample, column) if kind is Kind.STRING else _numbers(column))
    below, upto = (np.searchsorted(limits, known, side) for side in ("left", "right"))
    more = len(limits)
    counts = {"=": upto - below, ">": below, ">=": upto, "<": more - upto, "<=": more - below}[op]
    return float(counts.sum()) / (len(positions) * len(entries))


def _codes(sample: Sample, column: pa.Array) -> F64:
    """Return the codes that the sample has for the constants that are texts."""
    return sample.strings.encode(column.drop_null()).data.astype(np.float64)


def _numbers(column: pa.Array) -> F64:
    """The constants that are any, as doubles."""
    plain = column.drop_null()
    plain = plain if pa.types.is_floating(plain.type) else plain.cast(pa.int64())
    found: F64 = plain.to_numpy(zero_copy_only=False).astype(np.float64)
    return found[~np.isnan(found)]
