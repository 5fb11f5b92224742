"""`stretto stream` over a folder that another process fills, minute by minute, with the logs of seven attacks.

    stretto bench stream_security --data FOLDER [--pace SECONDS]
    python benchmarks/stream_security.py --data FOLDER [--pace SECONDS] [--work FOLDER]

Half way the workload file is replaced: first by one that does not fit the events, which is refused, then by one with a
query more and a query less. Later the stream is killed with SIGKILL and started again, and at last interrupted and run
to the end of what there is. What it wrote is compared with what the engine finds in this process. Prints a transcript;
ends with 1 if anything is missing, wrong or there twice.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stretto import Engine, Schema, StrettoError, Workload, optimize
from stretto.spark.io.sinks import committed_files

EVENTS = "security_windows_lsass_2023.parquet"
RULES = Path(__file__).parent.parent / "examples" / "security.cep"
REMOVED = "hands_on_keyboard"
ADDED = "short_lived_file"
ADDED_TEXT = f"""
-- A file that is deleted half a minute after it was written.
QUERY {ADDED}
PATTERN SEQ(FileCreated f, FileDeleted d)
WHERE   [host] AND f.target_file = d.target_file
WITHIN  30 SECONDS
RETURN  f.process AS writer, d.process AS deleter;
"""
WRONG_TEXT = """
QUERY busy
PATTERN SEQ(Connection c, LsassOpened l)
WHERE   [host] AND c.dest_port > 1024
WITHIN  1 MINUTE;
"""
MINUTE_US = 60_000_000
STRETTO = [sys.executable, "-c", "from stretto.cli.main import main; main()"]
PATIENCE_S = 600
GO = "go"


def minutes(data: Path) -> list[pa.Table]:
    """The events of each minute that has any, with their positions as ids; at last an event that ends the stream."""
    events = pq.read_table(data / EVENTS)
    events = events.append_column("id", pa.array(np.arange(len(events))))
    minute = events.column("ts").cast(pa.int64()).to_numpy() // MINUTE_US
    cuts = [0, *(np.flatnonzero(np.diff(minute)) + 1).tolist(), len(events)]
    parts = [events.slice(start, end - start) for start, end in pairwise(cuts)]
    last = events.slice(len(events) - 1).to_pylist()[0]
    later = events.column("ts")[-1].cast(pa.int64()).as_py() + 3600 * 1_000_000
    end = dict.fromkeys(events.column_names) | {"type": "end", "id": len(events), "host": last["host"]}
    closing = pa.Table.from_pylist(
        [end | {"ts": later}], schema=events.schema.set(0, pa.field("ts", pa.int64()))
    )
    return [*parts, closing.cast(events.schema)]


def feed(data: Path, folder: Path, pace: float) -> None:
    """Write a file for each minute; a file appears under its name when it is whole. The second waits for the stream."""
    for number, part in enumerate(minutes(data)):
        hidden = folder / f".{number:04d}.parquet"
        pq.write_table(part, hidden)
        hidden.rename(folder / f"{number:04d}.parquet")
        while not (folder.parent / GO).exists():
            time.sleep(0.1)
        time.sleep(pace)


@dataclass
class Transcript:
    """Lines with the seconds since the start; what a stream says is shown as it comes."""

    begun: float = field(default_factory=time.monotonic)
    read: dict[Path, int] = field(default_factory=dict)

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self.begun:6.1f} s] {text}", flush=True)

    def show(self, log: Path) -> None:
        """The lines that a file got since the last look."""
        text = log.read_text()
        whole = text[: text.rfind("\n") + 1]
        for line in whole[self.read.get(log, 0) :].splitlines():
            self.say(f"    {line}")
        self.read[log] = len(whole)


class Stream:
    """A process of `stretto stream`."""

    def __init__(self, work: Path, transcript: Transcript, *more: str) -> None:
        self.log = work / f"stream-{len(list(work.glob('stream-*')))}.log"
        self.transcript = transcript
        shown = ["rules.cep", "--source", "files:in", "--sink", "files:found", "--checkpoint", "state", *more]
        transcript.say(f"$ stretto stream {' '.join(shown)}")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*STRETTO, "stream", *shown], cwd=work, stdout=log, stderr=log, start_new_session=True
            )

    def until(self, done, what: str) -> None:
        """Show what the stream says until something is so."""
        limit = time.monotonic() + PATIENCE_S
        while not done():
            if self.process.poll() is not None or time.monotonic() > limit:
                self.transcript.show(self.log)
                raise SystemExit(f"the stream ended, or took too long, before {what}")
            self.transcript.show(self.log)
            time.sleep(0.2)

    def said(self, text: str) -> bool:
        return text in self.log.read_text()

    def end(self, number: int | None) -> int:
        """Send a signal, if there is one, and wait for the end."""
        if number is not None:
            os.killpg(self.process.pid, number)
        code = self.process.wait(PATIENCE_S)
        self.transcript.show(self.log)
        return code


def perform(data: Path, work: Path, pace: float) -> bool:
    """Play it all, with everything in the folder `work`; whether what was written is right."""
    transcript = Transcript()
    (work / "in").mkdir(parents=True)
    rules = RULES.read_text()
    (work / "rules.cep").write_text(rules)
    files = len(minutes(data))
    transcript.say(f"{files} files, one for each minute, one every {pace} s")
    feeder = subprocess.Popen(
        [sys.executable, __file__, "--feed", work / "in", "--data", data, "--pace", str(pace)]
    )
    try:
        changed = play(work, transcript, rules, files)
        feeder.wait(PATIENCE_S)
        code = changed.end(signal.SIGINT)
        transcript.say(f"interrupted: exit code {code}")
        code = Stream(work, transcript, "--trigger", "available-now").end(None)
        transcript.say(f"to the end of what there is: exit code {code}")
    finally:
        feeder.kill()
    return compare(data, work, transcript, rules)


def play(work: Path, transcript: Transcript, rules: str, files: int) -> Stream:
    """The stream up to the end of the feeding: a wrong workload, another one, a kill, a start."""

    def arrived() -> int:
        return len(list((work / "in").glob("[0-9]*.parquet")))

    stream = Stream(work, transcript)
    stream.until(lambda: stream.said("batch 0"), "the first file was read")
    (work / GO).touch()
    stream.until(lambda: arrived() >= files // 2 and stream.said("match"), "half of the events came")
    transcript.say("rules.cep: a query that compares a text with a number")
    replace_file(work / "rules.cep", rules + WRONG_TEXT)
    stream.until(lambda: stream.said("the stream keeps version 1"), "the wrong workload was refused")
    transcript.say(f"rules.cep: without {REMOVED}, with {ADDED}")
    replace_file(work / "rules.cep", Workload.parse(rules).remove(REMOVED).to_text() + ADDED_TEXT)
    stream.until(lambda: stream.said("workload version 2;"), "version 2 was picked up")
    stream.until(lambda: arrived() >= files * 3 // 4, "three quarters of the events came")
    code = stream.end(signal.SIGKILL)
    transcript.say(f"killed with SIGKILL: exit code {code}")
    again = Stream(work, transcript)
    started = time.monotonic()
    again.until(lambda: again.said("batch "), "the stream went on")
    transcript.say(f"the first batch was done {time.monotonic() - started:.1f} s after the start")
    again.until(lambda: arrived() >= files, "all events came")
    return again


def replace_file(path: Path, text: str) -> None:
    hidden = path.with_name(f".{path.name}")
    hidden.write_text(text)
    hidden.replace(path)


def compare(data: Path, work: Path, transcript: Transcript, rules: str) -> bool:
    """Whether what was written is what the engine finds; of the two queries that changed, up to or since the change."""
    found = written(work / "found")
    events = pa.concat_tables(minutes(data))
    engine = Engine(optimize(Workload.parse(rules + ADDED_TEXT), Schema.of(events.schema)))
    expected = engine.push(events).to_arrow()
    hosts = events.column("host").to_pylist()
    right = True
    twice = [key for key, count in Counter(found.column("match_id").to_pylist()).items() if count > 1]
    for query in sorted(set(expected.column("query").to_pylist()) | set(found.column("query").to_pylist())):
        wanted, got = rows_of(expected, query), rows_of(found, query)
        if query == REMOVED:
            good = got.keys() <= wanted.keys() and is_split(got, drop(wanted, got), hosts)
        elif query == ADDED:
            good = got.keys() <= wanted.keys() and is_split(drop(wanted, got), got, hosts)
        else:
            good = got.keys() == wanted.keys()
        right &= good
        note = {REMOVED: " (until it was removed)", ADDED: " (since it was added)"}.get(query, "")
        transcript.say(f"  {query:22} {len(got):7,} of {len(wanted):7,} {'right' if good else 'WRONG'}{note}")
    transcript.say(f"{len(found):,} matches written, {len(twice):,} of them twice")
    return right and not twice


def written(folder: Path) -> pa.Table:
    """The matches that the sink committed."""
    columns = ["query", "match_id", "detected", "events"]
    files = [file for file in committed_files(folder) if file.parent.name == "kind=matches"]
    return pa.concat_tables([pq.ParquetFile(file).read(columns) for file in files])


Rows = dict[str, dict]


def rows_of(matches: pa.Table, query: str) -> Rows:
    kept = matches.filter(pa.compute.equal(matches.column("query"), query))
    return {row["match_id"]: row for row in kept.select(["match_id", "detected", "events"]).to_pylist()}


def drop(rows: Rows, others: Rows) -> Rows:
    return {key: row for key, row in rows.items() if key not in others}


def is_split(before: Rows, after: Rows, hosts: list[str]) -> bool:
    """Whether on every machine the ones were certain before the others."""
    last: dict[str, object] = {}
    for row in before.values():
        host = host_of(row, hosts)
        last[host] = max(last.get(host, row["detected"]), row["detected"])
    return all(row["detected"] >= last.get(host_of(row, hosts), row["detected"]) for row in after.values())


def host_of(row: dict, hosts: list[str]) -> str:
    return hosts[row["events"][0][1][0]]


def run(out: Path, data: Path | None, arguments: list[str]) -> int:
    """For `stretto bench stream_security --data DIR`."""
    if data is None:
        raise StrettoError("this experiment needs --data, the folder of real event data")
    parser = argparse.ArgumentParser(prog="stretto bench stream_security")
    parser.add_argument("--pace", type=float, default=1.0, help="seconds between two files")
    with tempfile.TemporaryDirectory(prefix="stream-", dir=out) as work:
        return int(not perform(data.absolute(), Path(work).absolute(), parser.parse_args(arguments).pace))


def main() -> None:
    """For `python benchmarks/stream_security.py`; the process that feeds is started in this way, too."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="the folder of real event data")
    parser.add_argument(
        "--work", type=Path, help="where everything is written (if not given: a temporary folder)"
    )
    parser.add_argument("--pace", type=float, default=1.0, help="seconds between two files")
    parser.add_argument("--feed", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.feed is not None:
        feed(given.data, given.feed, given.pace)
        return
    with tempfile.TemporaryDirectory(prefix="stretto-") as temporary:
        work = given.work or Path(temporary)
        sys.exit(not perform(given.data.absolute(), work.absolute(), given.pace))


if __name__ == "__main__":
    main()
