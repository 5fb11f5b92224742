"""KEEP and LIMIT: random clauses, and a plain walk over all matches of a long stream that says which are reported.

The walk is for streams that are too long for the oracle. It reads matches as rows of integers: `detected`, `end`,
`start`, and one id for each variable, in the order in which KEEP looks at them.
"""

from dataclasses import dataclass, replace
from random import Random
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from tests.support.strategies import Sample

S = TypeVar("S", bound=Sample)
Matrix = npt.NDArray[np.int64]
WORDS = ("ALL", "FIRST", "FIRST", "APART", "APART", "APART", "LONGEST")
TIMES = ("detected", "end", "start")
CLAUSES = (
    "",
    "",
    " KEEP APART",
    " KEEP LONGEST",
    " KEEP FIRST FOR 4 us LIMIT 2 PER 6 us",
    " LIMIT 1 PER 5 us",
)


@dataclass(frozen=True, slots=True)
class Keep:
    """A KEEP clause and a LIMIT clause; 0 stands for a clause that is missing.

    `per`: the variables whose attribute `k` tells matches apart.
    """

    word: str = "ALL"
    per: tuple[str, ...] = ()
    lasting: int = 0
    most: int = 0
    period: int = 0

    def __str__(self) -> str:
        per = f" PER {', '.join(f'{variable}.k' for variable in self.per)}" if self.per else ""
        lasting = f" FOR {self.lasting} us" if self.lasting else ""
        limit = f" LIMIT {self.most} PER {self.period} us" if self.most else ""
        return f"KEEP {self.word}{per}{lasting}{limit}"


def random_keep(rng: Random, variables: tuple[str, ...], durations: tuple[int, ...]) -> Keep:
    """Draw a KEEP, a LIMIT, or both; `variables` may stand behind PER."""
    word = rng.choice(WORDS)
    per = (
        rng.choice(((), (), variables[:1], variables[-1:], variables[:2]))
        if word in ("FIRST", "APART")
        else ()
    )
    lasting = rng.choice(durations) if word == "FIRST" else 0
    limited = word == "ALL" or rng.random() < 0.25
    most, period = (rng.choice((1, 2, 5)), rng.choice(durations)) if limited else (0, 0)
    return Keep(word, per, lasting, most, period)


def with_keeps(rng: Random, sample: S) -> S:
    """Return a workload whose queries over windows of time have KEEP and LIMIT clauses, most of them."""
    statements = [
        f"{text};"
        if "EVENTS" in text or not text.lstrip().startswith("QUERY")
        else f"{text}{rng.choice(CLAUSES)};"
        for text in sample.text.split(";")[:-1]
    ]
    return replace(sample, text="".join(statements))


def rows_of(table: pa.Table, variables: tuple[str, ...]) -> Matrix:
    """Return one row for each match, sorted as KEEP looks at them."""
    names = (*TIMES, *variables)
    columns = [table.column(name).cast(pa.int64()).to_numpy() for name in names]
    return np.stack(columns, axis=1)[np.lexsort(columns[::-1])]


def reported(keep: Keep, rows: Matrix, keys: Matrix, window: int) -> Matrix:
    """Return the rows that `keep` leaves of all matches of a query whose variables bind one event each.

    `keys`: the values that tell the matches apart, one row for each match; `window` in microseconds.
    """
    if (
        keep.word == "LONGEST"
    ):  # no match contains another one, and each is certain when its window has passed
        rows = np.column_stack((rows[:, 2] + window, rows[:, 1:]))
        order = np.lexsort(rows.T[::-1])
        rows, keys = rows[order], keys[order]
    last: dict[Any, tuple[int, int]] = {}
    counts: dict[int, int] = {}
    mask = np.zeros(len(rows), np.bool_)
    times = rows[:, :3].tolist()
    for number, ((detected, end, start), key) in enumerate(
        zip(times, map(tuple, keys.tolist()), strict=True)
    ):
        before = last.get(key)
        if before is not None and keep.word == "FIRST" and detected - before[0] < keep.lasting:
            continue
        if before is not None and keep.word == "APART" and start <= before[1]:
            continue
        last[key] = detected, end
        if keep.most:
            counts[detected // keep.period] = counts.get(detected // keep.period, 0) + 1
            if counts[detected // keep.period] > keep.most:
                continue
        mask[number] = True
    return rows[mask]
