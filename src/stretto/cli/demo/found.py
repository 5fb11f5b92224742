"""What the matches of `stretto demo` tell: how many there are, when, and which moved the most money."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from stretto.records import dataclass

TOP: Final = 8
BAR_MINUTES: Final = 5


@dataclass(frozen=True, slots=True)
class DemoMatches:
    """Matches in the file format."""

    table: pa.Table

    @classmethod
    def read(cls, folder: Path) -> Self:
        return cls(ds.dataset(folder, format="parquet").to_table())

    def counts(self, queries: Iterable[str]) -> dict[str, int]:
        """Matches per query, also for those without any."""
        counted = self.table["query"].value_counts()
        have = dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))
        return {query: have.get(query, 0) for query in queries}

    def ids(self, query: str) -> pa.Array:
        """The ids of a query's matches, in order."""
        mine = self.table.filter(pc.equal(self.table["query"], query))["match_id"].combine_chunks()
        return mine.take(pc.sort_indices(mine))

    def pace(self) -> list[tuple[str, int]]:
        """Matches in every few minutes of the day, by the time of the first event."""
        bars = pc.floor_temporal(self.table["start"], BAR_MINUTES, "minute").value_counts()
        pairs = zip(bars.field(0).to_pylist(), bars.field(1).to_pylist(), strict=True)
        return [(f"{at:%H:%M}", count) for at, count in sorted(pairs)]

    def top(self, trades: pa.Table) -> list[list[str]]:
        """The matches that moved the most money: pattern, start, end, what was traded at which price, money."""
        money = pc.struct_field(
            pc.extract_regex(self.table["returned"], r'"money": ?(?P<money>[-+.eE0-9]+)'), 0
        )
        whole = self.table.append_column("money", money.cast(pa.float64()))
        order = [("money", "descending"), ("match_id", "ascending")]
        best = whole.take(pc.select_k_unstable(whole, k=min(TOP, len(whole)), sort_keys=order))
        return [
            [
                row["query"],
                f"{row['start']:%H:%M:%S}",
                f"{row['end']:%H:%M:%S}",
                ", ".join(_trades([id_ for _, ids in row["events"] for id_ in ids], trades)),
                f"{row['money']:,.0f}",
            ]
            for row in best.to_pylist()
        ]


def _trades(ids: Sequence[int], trades: pa.Table) -> list[str]:
    """Trades in words, in order of time: the side, the shares, the symbol and the price."""
    rows = trades.take(sorted(ids)).to_pylist()
    return [f"{row['side']} {row['volume']:,} {row['type']} at {row['price']:.2f}" for row in rows]
