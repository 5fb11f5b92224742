"""The guard against explosions: a run stops when a query has more matches than it may have."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from stretto.engine.results.match_chunks import MatchChunk, Output
from stretto.engine.results.routed import member_counts
from stretto.errors import EngineError
from stretto.records import dataclass
from stretto.values.rows import I64


@dataclass(slots=True)
class MatchLimit:
    """Counts the matches of each query as they are found; `most`: as many as a query may have.

    The rows of a table count as one query, as in `Matches.counts`; queries that run as one family count alone.
    """

    most: int
    counts: Counter[str] = field(default_factory=Counter)
    _members: dict[int, I64] = field(default_factory=dict)

    def take(self, output: Output, chunks: Sequence[MatchChunk]) -> None:
        """Count new matches; raise EngineError where a query now has too many."""
        if output.members is None or output.members.names is None:
            name = output.shown
            self.counts[name] += sum(map(len, chunks))
            if self.counts[name] > self.most:
                raise too_many_matches(name, self.most)
            return
        for members, new in member_counts(chunk.routed for chunk in chunks):
            before = self._members.get(id(output.members))
            total = new if before is None else before + new
            self._members[id(output.members)] = total
            if total.max(initial=0) > self.most:
                assert members.names is not None
                raise too_many_matches(members.names[int(np.argmax(total))].as_py(), self.most)


def check_counts(counts: Mapping[str, int], most: int | None) -> None:
    """Raise EngineError where a query has more than `most` matches; None: no limit."""
    if most is None:
        return
    for query, count in counts.items():
        if count > most:
            raise too_many_matches(query, most)


def too_many_matches(query: str, most: int) -> EngineError:
    """Return the error for a query with more than `most` matches."""
    return EngineError(
        f"query `{query}` has more than {most:,} matches, so the run stops. To allow more, raise `--max-matches` (in "
        "Python `max_matches=`). To have fewer, relate the variables of the query by a condition, shorten its WITHIN, "
        "or add SELECT NEXT or KEEP."
    )
