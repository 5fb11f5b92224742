"""A stream that is killed again and again, and started again from its checkpoint, loses nothing and repeats nothing.

STRETTO_KILLS says how often; the moments are by chance, drawn from STRETTO_SEED.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from time import monotonic, sleep

import pyarrow as pa
import pyarrow.parquet as pq
from tests.spark.job_process import JobProcess
from tests.spark.stream.stream_cases import END_TYPE, matches_by_query, without_values
from tests.support.comparison import assert_same_matches

from stretto import oracle
from stretto.oracle.detections import Event, Match
from stretto.pattern.derived.streams import DerivedStream
from stretto.pattern.nodes import Query
from stretto.pattern.workload import Workload
from stretto.schema import Kind, Schema
from stretto.spark import committed_files

KILLS = int(os.environ.get("STRETTO_KILLS", "2"))
SEED = int(os.environ.get("STRETTO_SEED", "20261104"))
FILES_PER_KILL = 3
SECOND = 10**6
WORKLOAD = """
QUERY pairs PATTERN SEQ(A a, B b) WHERE [k] AND a.x <= b.x WITHIN 20 SECONDS RETURN a.x AS low, b.x AS high;
QUERY alone PATTERN SEQ(A a, NOT(B b)) WHERE [k] WITHIN 15 SECONDS;
QUERY many PATTERN SEQ(A a, B b+, C c) WHERE [k] WITHIN 12 SECONDS;
QUERY either PATTERN AND(B b, C c) WHERE [k] WITHIN 8 SECONDS;
QUERY first PATTERN SEQ(A a, B b) WHERE [k] WITHIN 20 SECONDS KEEP FIRST PER a.k FOR 10 SECONDS RETURN *;
QUERY apart PATTERN SEQ(A a, NOT(C c), B b) WHERE [k] WITHIN 15 SECONDS KEEP APART PER b.k;
QUERY longest PATTERN SEQ(A a, B b+) WHERE [k] WITHIN 12 SECONDS KEEP LONGEST;
QUERY latest PATTERN SEQ(A a, B b, C c) WHERE [k] WITHIN 20 SECONDS SELECT LAST;
CREATE STREAM calm AS SELECT k, AVG(x) AS x FROM A GROUP BY k WITHIN 10 SECONDS;
CREATE STREAM low AS SELECT k, x FROM calm WHERE x < 2;
CREATE STREAM high AS SELECT k, x FROM calm WHERE x > 0.5;
QUERY begun PATTERN SEQ(low a, B b) WHERE [k] WITHIN 9 SECONDS SELECT NEXT;
QUERY ended PATTERN SEQ(high a, B b) WHERE [k] WITHIN 12 SECONDS SELECT NEXT;
QUERY limit FOR EACH limits r KEY r.id PATTERN SEQ(A a, C c) WHERE [k] AND a.k = r.k AND c.x > r.low WITHIN r.horizon;
"""
TABLE = "CREATE TABLE limits FROM 'limits.csv';\n"
LIMITS = "id,k,low,horizon\none,1,0.2,9 s\ntwo,2,0.7,15 s\nthree,1,1.5,12 s\n"
SCHEMA = Schema({"k": Kind.INT, "x": Kind.FLOAT}, frozenset("ABC") | {END_TYPE})


def episodes(rng: Random, count: int) -> list[list[Event]]:
    """Events of half a minute each, with longer pauses between than any window reaches."""
    found, number = [], 0
    for episode in range(count):
        ts = (1_700_000_000 + 600 * episode) * SECOND
        events = []
        for _ in range(24):
            ts += rng.randint(0, 3 * SECOND)
            attributes = {"k": rng.randint(0, 4), "x": rng.choice((0.5, 1.0, 2.0))}
            events.append(Event(number, ts, rng.choice("AABBC"), attributes))
            number += 1
        found.append(events)
    return found


def write_files(folder: Path, rng: Random, events: list[Event], files: int) -> None:
    """The events in files as they arrive: out of order by less than the lateness, a file for each micro-batch."""
    folder.mkdir()
    arriving = sorted(events, key=lambda event: event.ts + rng.randint(0, 4 * SECOND))
    size = -(-len(arriving) // files)
    for number, start in enumerate(range(0, len(arriving), size)):
        part = arriving[start : start + size]
        table = pa.table(
            {
                "ts": pa.array([event.ts for event in part], pa.timestamp("us", "UTC")),
                "type": [event.type for event in part],
                "id": pa.array([event.id for event in part], pa.int64()),
                "k": pa.array([event.attributes.get("k") for event in part], pa.int64()),
                "x": pa.array([event.attributes.get("x") for event in part], pa.float64()),
            }
        )
        path = folder / f"{number:05d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # Spark takes older files first


class KilledStream(JobProcess):
    """The stream; what a killed process leaves behind goes with the test's folder."""

    def __init__(self, folder: Path) -> None:
        self.begun = monotonic()
        scratch = folder / "scratch"
        scratch.mkdir(exist_ok=True)
        super().__init__(
            [sys.executable, str(Path(__file__).with_name("killed_stream.py")), str(folder)],
            folder / "log.txt",
            os.environ | dict.fromkeys(("SPARK_LOCAL_DIRS", "TMPDIR"), str(scratch)),
        )


def batches(folder: Path, kind: str) -> int:
    """How many micro-batches the checkpoint has planned (`offsets`) or finished (`commits`)."""
    place = folder / "checkpoint" / kind
    return sum(path.name.isdigit() for path in place.iterdir()) if place.is_dir() else 0


def kill_once(folder: Path, rng: Random, moments: list[str]) -> bool:
    """Start the stream and kill it a little later; whether it was still at work."""
    before = batches(folder, "commits")
    with KilledStream(folder) as stream:
        stream.must_say("started")
        if rng.random() < 0.7:  # else while it is still recovering
            while batches(folder, "commits") <= before and stream.process.poll() is None:
                sleep(0.02)
            recovered = monotonic() - stream.begun
            sleep(rng.uniform(0.0, 2.0))
        else:
            recovered = 0.0
            sleep(rng.uniform(0.0, 3.0))
        at_work = stream.process.poll() is None
    planned, finished = batches(folder, "offsets"), batches(folder, "commits")
    where = "inside a batch" if planned > finished else "between batches"
    moments.append(f"{where} {finished}, first batch after {recovered:.1f} s")
    return at_work


def test_nothing_is_lost_or_repeated_by_kills(tmp_path: Path) -> None:
    rng = Random(SEED)
    stretches = episodes(rng, 3 + 2 * KILLS)
    events = [event for stretch in stretches for event in stretch]
    end = events[-1].ts + 3600 * SECOND
    write_files(tmp_path / "events", rng, [*events, Event(-1, end, END_TYPE, {})], 3 + FILES_PER_KILL * KILLS)
    (tmp_path / "workload.cep").write_text(TABLE + WORKLOAD)
    (tmp_path / "limits.csv").write_text(LIMITS)

    moments: list[str] = []
    killed = sum(kill_once(tmp_path, rng, moments) for _ in range(KILLS))
    with KilledStream(tmp_path) as last:
        said = [last.say(), last.say()]
        assert (said, last.end()) == (["started", "done"], 0), last.last_words()
    print(*moments, sep="\n")
    assert killed >= (KILLS + 1) // 2, moments

    files = committed_files(tmp_path / "out")
    found = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    members = [
        row | {"query": row["query"] + (f"[{row['member']}]" if row["member"] else "")} for row in found
    ]
    results = matches_by_query(members)
    bound = Workload.read(tmp_path / "workload.cep").bind(SCHEMA)
    (family,) = bound.families
    for query in (*bound.queries, *family.queries()):
        assert isinstance(query, Query)
        expected = [match for stretch in stretches for match in expected_of(query, bound.streams, stretch)]
        assert expected
        assert_same_matches(results.get(query.name, []), without_values(expected), f"{query.name}: {moments}")
    assert len({row["match_id"] for row in found}) == len(found)
    attributes = {event.id: event.attributes for event in events}
    for row in found:
        if row["query"] == "first":  # its events came with it
            returned = json.loads(row["returned"])
            for name, (number,) in row["events"]:
                whole = returned[f"{name}.*"]
                assert {key: whole[key] for key in "kx"} == attributes[number]


def expected_of(query: Query, streams: Sequence[DerivedStream], stretch: list[Event]) -> list[Match]:
    return oracle.matches(query, oracle.inputs(query, oracle.derive(streams, stretch), stretch))
