"""A stream on staged units whose driver is killed in the middle loses nothing and repeats nothing."""

from pathlib import Path
from random import Random
from time import sleep

from tests.spark.stream.stream_cases import END_TYPE, matches_by_query, without_values
from tests.spark.stream.test_killed_stream import SCHEMA, SECOND, Process, batches, episodes, write_files
from tests.support.comparison import assert_same_matches

from stretto import oracle
from stretto.oracle.detections import Event
from stretto.pattern.workload import Workload

PROGRAM = "killed_units.py"
WORKLOAD = """
QUERY three PATTERN SEQ(A a, B b, C c) WHERE a.x <= b.x WITHIN 12 SECONDS RETURN a.x AS low, c.x AS high;
QUERY alone PATTERN SEQ(A a, NOT(B b)) WHERE [k] WITHIN 15 SECONDS;
"""


def test_nothing_is_lost_or_repeated_by_a_kill(spark, tmp_path: Path) -> None:
    rng = Random(20261117)
    stretches = episodes(rng, 3)
    events = [event for stretch in stretches for event in stretch]
    end = Event(-1, events[-1].ts + 3600 * SECOND, END_TYPE, {})
    write_files(tmp_path / "events", rng, [*events, end], 4)
    (tmp_path / "workload.cep").write_text(WORKLOAD)

    stream = Process(tmp_path, PROGRAM)
    assert stream.say() == "started", (tmp_path / "log.txt").read_text()[-3000:]
    while batches(tmp_path, "offsets") < 2 and stream.process.poll() is None:  # inside the second micro-batch
        sleep(0.02)
    assert stream.process.poll() is None, (tmp_path / "log.txt").read_text()[-3000:]
    stream.kill()
    last = Process(tmp_path, PROGRAM)
    said = [last.say(), last.say()]
    assert (said, last.end()) == (["started", "done"], 0), (tmp_path / "log.txt").read_text()[-3000:]

    found = spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist()
    results = matches_by_query(found)
    for query in Workload.parse(WORKLOAD).bind(SCHEMA).detections:
        expected = [match for stretch in stretches for match in oracle.matches(query, stretch)]
        assert expected
        assert_same_matches(results.get(query.name, []), without_values(expected), query.name)
    assert len({row["match_id"] for row in found}) == len(found)
