"""What queries ask for and the events do not have: selections that nothing passes, attributes without a value."""

from collections.abc import Iterator
from typing import Final

from stretto.errors import Remark
from stretto.pattern.describe import stream_text
from stretto.pattern.nodes import Atom, Query, Stream, TrendQuery, atoms_of
from stretto.pattern.predicates import Changed, Expr, Reduce, Ref, Which, columns_of, walk
from stretto.pattern.workload import BoundWorkload
from stretto.screen import counted
from stretto.stats.profile import Stats
from stretto.stats.sample import Sample

MOST_QUERIES: Final = 2_000
"""Of larger workloads the first ones are looked at."""


EMPTY: Final = "attributes without a value"
NONE_PASSES: Final = "selections that none of the events looked at passes"


def measured_remarks(bound: BoundWorkload, stats: Stats) -> tuple[Remark, ...]:
    """A sentence for each selection that no sampled event passes, and each attribute that is null in all of a type.

    Types that no sampled event has are not looked at: of them nothing is known.
    """
    sample = stats.sample
    if sample is None or not len(sample):
        return ()
    remarks: dict[Remark, None] = {}
    for query in bound.queries[:MOST_QUERIES]:
        for atom in atoms_of(query.pattern):
            for kind, text in _of_variable(query, atom, sample):
                remarks.setdefault(Remark(kind, f"query `{query.name}`: {text}"))
    return tuple(remarks)


def _of_variable(query: Query | TrendQuery, atom: Atom, sample: Sample) -> Iterator[tuple[str, str]]:
    events = sample.members(Stream(atom.stream.type)).positions
    if not len(events):
        return
    were = "was" if len(events) == 1 else "were"
    looked = f"{counted(len(events), 'event')} of type `{atom.stream.type}` that {were} looked at"
    empty = [
        name
        for name in sorted(_read(query, atom))
        if sample.knows(name) and sample.values(name, events).nulls.all()
    ]
    yield from ((EMPTY, f"`{name}` has no value in the {looked}") for name in empty)
    own = Stream(atom.stream.type, (*atom.stream.where, *_own_terms(query, atom.variable)))
    if own.where and not empty and not len(sample.members(own).positions):
        yield NONE_PASSES, f"none of the {looked} passes `{stream_text(own)}`"


def _own_terms(query: Query | TrendQuery, variable: int) -> list[Expr]:
    """The terms that read one event of a variable and nothing else, as terms of a selection."""
    return [
        term.moved(Changed({variable: 0}))
        for term in query.terms
        if columns_of(term) == {variable} and all(_is_plain(node) for node in walk(term))
    ]


def _is_plain(node: Expr) -> bool:
    if isinstance(node, Ref):
        return node.which is Which.EACH and not node.attribute.startswith("@")
    return not isinstance(node, Reduce)


def _read(query: Query | TrendQuery, atom: Atom) -> set[str]:
    """The attributes that a query reads of a variable's events."""
    returned = [item.value for item in query.returns if item.part is None] if isinstance(query, Query) else []
    nodes = [node for term in (*query.terms, *returned) for node in walk(term)]
    own = {n.attribute for n in nodes if isinstance(n, Ref | Reduce) and n.column == atom.variable}
    selected = {n.attribute for term in atom.stream.where for n in walk(term) if isinstance(n, Ref)}
    groups = query.groups if isinstance(query, TrendQuery) else ()
    return (own | selected | {*query.same, *groups}) - {"", "ts"}
