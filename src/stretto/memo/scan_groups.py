"""Scans that the engine's predicate index looks up together, as a cost model has to know them."""

from collections import Counter, defaultdict

from stretto.memo.memo import Memo
from stretto.memo.ways import WayKind
from stretto.pattern.constant_terms import constant_term, looked_up
from stretto.pattern.nodes import Stream
from stretto.pattern.predicates import Expr


def scan_groups(memo: Memo) -> dict[Stream, int]:
    """For each stream whose events are found in a sorted column: how many scans read that column."""
    by_type: defaultdict[str, list[Stream]] = defaultdict(list)
    for piece, ways in zip(memo.pieces, memo.ways, strict=True):
        source = piece.slots[0].source
        if ways and ways[0].kind is WayKind.SCAN and isinstance(source, Stream):
            by_type[source.type].append(source)
    found: dict[Stream, int] = {}
    for streams in by_type.values():
        columns: dict[Stream, Expr] = {}
        for stream, place in zip(streams, looked_up([stream.where for stream in streams]), strict=True):
            term = None if place is None else constant_term(stream.where[place])
            if term is not None:
                columns[stream] = term.of
        scans = Counter(columns.values())
        found |= {stream: scans[of] for stream, of in columns.items()}
    return found
