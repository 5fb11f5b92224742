"""Expected matches of all members of a family, from the expected rows of its template."""

from typing import Final

import numpy as np
import pyarrow as pa

from stretto.pattern.core import core_of
from stretto.pattern.derived.families import Family
from stretto.pattern.nodes import Query, Stream, atoms_of
from stretto.pattern.normal import normalize
from stretto.pattern.predicates import Expr, Ref, columns_of
from stretto.plan.dag import Plan
from stretto.plan.families.members import Constants, FamilyMembers, Route
from stretto.plan.families.pair_cost import pairs_per_event
from stretto.plan.front.channel_streams import class_column
from stretto.plan.front.stages import Encoding, Projection
from stretto.plan.ops import Emit
from stretto.records import dataclass
from stretto.stats.drawn_tuples import draw
from stretto.stats.estimate import Estimator
from stretto.stats.profile import Stats
from stretto.stats.term_clusters import relate, whole_cluster
from stretto.values.rows import F64, I64

DRAWN: Final = 1 << 12
"""Rows of a template that are drawn from the sample."""
SOME: Final = 64
"""Members that are estimated one by one where their constants are compared with several events of a row."""


@dataclass(frozen=True, slots=True, eq=False)
class LateTerms:
    """Terms of a family that complete rows of the template are compared by, for the members in `rows`."""

    family: Family
    query: Query
    terms: tuple[Expr, ...]
    rows: I64


def member_matches(plan: Plan, emit: Emit, rows: float, late: LateTerms | None, stats: Stats) -> float:
    """Return the matches per second of all members of an Emit's family; `rows`: those of its template."""
    route = emit.route
    assert route is not None
    if route.alone:
        return rows
    if not len(route.members):
        return 0.0
    if late is None:
        return rows * _members_of_entries(plan, emit, route, stats)
    variables = {variable for term in late.terms for variable in columns_of(term)}
    if len(variables) > 1:
        return _one_by_one(late, stats)
    members = float(len(route.members)) * _in_shorter_windows(route.members, len(emit.variables))
    if variables:
        (variable,) = variables
        members *= _passing(late, variable, route, stats) / len(route.members)
    return rows * members * _events_per_class(plan, route, stats)


def _one_by_one(late: LateTerms, stats: Stats) -> float:
    """Return the matches per second of all members, estimated by some of them."""
    count = len(late.rows)
    picked = np.random.default_rng(count).permutation(late.rows)[:SOME].tolist()
    estimator = Estimator(stats)
    queries = late.family.queries(picked)
    total = sum(estimator.rows(branch.piece) for query in queries for branch in normalize(query).branches)
    return total * count / len(picked)


def _passing(late: LateTerms, variable: int, route: Route, stats: Stats) -> float:
    """Return how many members have constants that an event of the variable passes the terms of, on average."""
    (stream,) = {atom.stream for atom in atoms_of(late.query.pattern) if atom.variable == variable}
    entry = np.repeat(np.arange(len(route.entries)), np.diff(route.members.starts))
    columns = {name: column.take(pa.array(entry)) for name, column in route.entries.columns.items()}
    constants = Constants(columns, route.entries.kinds, len(entry))
    terms = tuple(term.moved({variable: 0}) for term in late.terms)
    return pairs_per_event(stats, Stream(stream.type), constants, terms)


def _events_per_class(plan: Plan, route: Route, stats: Stats) -> float:
    """Return the events per event that has a class: the others are of no member, and begin no row."""
    front, entry = plan.front, route.entry
    if front is None or not isinstance(entry, Ref):
        return 1.0
    for stage in front.stages:
        if isinstance(stage, Encoding) and class_column(stage.name) == entry.attribute:
            some = stats.rate(stage.name)
            return Estimator(stats).rate(stage.source) / some if some else 1.0
    return 1.0


def _members_of_entries(plan: Plan, emit: Emit, route: Route, stats: Stats) -> float:
    """Return how many members a row has on average, where a paired event of the row has the number of its entry."""
    members, sample = route.members, stats.sample
    sizes = np.diff(members.starts)
    width = len(emit.variables)
    anyway = len(members) / max(len(sizes), 1) * _in_shorter_windows(members, width)
    front, entry = plan.front, route.entry
    if sample is None or front is None or not isinstance(entry, Ref) or not sample.knows(entry.attribute):
        return anyway
    if members.windows is None and (sizes == sizes[0]).all():
        return float(sizes[0])
    (name,) = (
        stage.name
        for stage in front.stages
        if isinstance(stage, Projection) and entry.attribute in {item.name for item in stage.columns}
    )
    computed = plan.records[emit.parts[0]].computed
    piece = None if computed is None else core_of(computed.form())
    if piece is not None and piece.is_plain:
        cluster = whole_cluster(piece, relate(piece))
        slots = [slot for slot, stream in enumerate(cluster.frame.streams) if stream.type == name]
        tuples = draw(sample, cluster.frame, DRAWN, len(sizes), cluster.terms)
        if tuples.size and slots:
            entries = _numbers(stats, entry, tuples.columns[slots[0]])
            times = np.array([sample.ts[column] for column in tuples.columns])
            counts = _lasting(members, entries, times.max(axis=0) - times.min(axis=0))
            return float((tuples.weights * counts).sum() / tuples.weights.sum())
    positions = sample.members(Stream(name)).positions
    if not len(positions):
        return anyway
    mean = float(sizes[_numbers(stats, entry, positions)].mean())
    return mean * _in_shorter_windows(members, width)


def _numbers(stats: Stats, entry: Ref, positions: I64) -> I64:
    assert stats.sample is not None
    return stats.sample.values(entry.attribute, positions).data.astype(np.int64)


def _lasting(members: FamilyMembers, entries: I64, extents: I64) -> F64:
    """Return the members of each entry whose windows are at least as long as the extent of the row."""
    starts, ends = members.starts[entries], members.starts[entries + 1]
    if members.windows is None:
        return (ends - starts).astype(np.float64)
    # Windows ascend within an entry, so members are in order of (entry, window).
    span = int(max(members.windows.max(initial=0), extents.max(initial=0))) + 1
    number = np.repeat(np.arange(len(members.starts) - 1), np.diff(members.starts))
    first = np.searchsorted(number * float(span) + members.windows, entries * float(span) + extents)
    return (ends - np.clip(first, starts, ends)).astype(np.float64)


def _in_shorter_windows(members: FamilyMembers, width: int) -> float:
    """Return the share of rows in the longest window that those of the members are, as rates alone tell."""
    if members.windows is None or not len(members):
        return 1.0
    return float(((members.windows / members.windows.max()) ** (width - 1)).mean())
