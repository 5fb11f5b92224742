"""Versions of a workload beside a stream's checkpoint: published by the driver, read by every target as a stream.

A version is one small file. Spark notes in its log which micro-batch picked it up, so that a batch that is run again
sees the same version. Plans are pickled: whoever may write to the checkpoint may run code in the stream, as with
Spark's own closures, so the folder is for its owner alone.
"""

import json
import pickle
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from hashlib import blake2b
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

import stretto
from stretto.errors import MOST, QueryError, StrettoError
from stretto.pattern.binding.good_rows import with_good_rows
from stretto.pattern.derived.tables import table_files
from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan, attributes_of
from stretto.records import dataclass
from stretto.schema import Kind, Schema, Special
from stretto.spark.errors import StrettoSparkError
from stretto.spark.packed import WORKLOAD
from stretto.spark.user_functions import know_functions, with_functions
from stretto.stats.profile import Stats
from stretto.text import syntax
from stretto.text.alike.statements import samples
from stretto.text.files import read_text
from stretto.text.parser import parse_partial

DIGITS: Final = 6
REPLAN_S: Final = 1.0
LOOK_EVERY_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class Version:
    """A workload as the stream runs it, from the version's number on."""

    number: int
    text: str
    plan: Plan

    def to_bytes(self) -> bytes:
        """One line of JSON."""
        schema = self.plan.schema
        plan = b64encode(pickle.dumps(self.plan, protocol=5)).decode()
        value = {
            "version": self.number,
            "stretto": stretto.__version__,
            "workload": self.text,
            "optimizer": self.plan.optimizer,
            "attributes": {name: kind.value for name, kind in schema.attributes.items()},
            "special": [schema.special.ts, schema.special.type, schema.special.id],
            "plan": plan,
            "digest": _digest(plan),
            "functions": b64encode(self.plan.functions).decode(),
        }
        return (json.dumps(value, ensure_ascii=True) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Version":
        """The version that `to_bytes` wrote; one of another release of Stretto is planned anew from its text."""
        try:
            value: dict[str, Any] = json.loads(data)
            plan = _plan_of(value)
            return cls(value["version"], value["workload"], plan)
        except StrettoError:
            raise
        except Exception as error:  # a pickle that was cut off raises anything
            raise StrettoSparkError(
                "a damaged version of the workload: it cannot be read back (start with another checkpoint)"
            ) from error


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=8).hexdigest()


def _plan_of(value: dict[str, Any]) -> Plan:
    if value["stretto"] == stretto.__version__:
        # Bytes that a disk has changed must not be unpickled. Earlier releases wrote no digest.
        if value.get("digest") not in (None, _digest(value["plan"])):
            raise StrettoSparkError("a damaged version of the workload: its plan has another digest")
        plan: Plan = pickle.loads(b64decode(value["plan"]))  # noqa: S301 - the checkpoint is as trusted as the job
        return plan
    kinds = {name: Kind(kind) for name, kind in value["attributes"].items()}
    schema = Schema(kinds, None, Special(*value["special"]))
    functions = b64decode(value.get("functions", ""))
    know_functions(functions, anew=False)
    plan = _optimized(Workload.parse(value["workload"]), schema, value["optimizer"], REPLAN_S)
    return replace(plan, functions=functions)


def _optimized(workload: Workload, known: Stats | Schema, optimizer: str, budget: float | None) -> Plan:
    from stretto.plan.optimize import optimize  # noqa: PLC0415 - workers run plans and seldom make one

    return optimize(workload, known, optimizer, budget)


def publish(folder: str | Path, workload: Workload, plan: Plan) -> int:
    """Write a workload and its plan as the next version; gives its number."""
    place = Path(folder)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    numbers = _numbers(place)
    version = Version(numbers[-1] + 1 if numbers else 1, workload.to_text(), plan)
    name = f"{version.number:0{DIGITS}d}.json"
    hidden = place / f".{name}.partial"  # Spark sees no file whose name begins with a dot
    hidden.write_bytes(version.to_bytes())
    hidden.replace(place / name)
    return version.number


def last_version(folder: str | Path) -> Version | None:
    """The version that was published last, if there is one."""
    place = Path(folder)
    numbers = _numbers(place)
    if not numbers:
        return None
    return Version.from_bytes((place / f"{numbers[-1]:0{DIGITS}d}.json").read_bytes())


def _numbers(place: Path) -> Sequence[int]:
    return sorted(int(file.stem) for file in place.glob("[0-9]*.json") if file.stem.isdecimal())


def read_versions(spark: SparkSession, folder: str | Path, targets: int) -> DataFrame:
    """A stream of the versions in a folder, each once for every target, as packed rows whose payload is the file."""
    lines = spark.readStream.option("pathGlobFilter", "*.json").text(str(folder))
    return lines.select(
        F.explode(F.sequence(F.lit(0), F.lit(targets - 1))).alias("target"),
        F.lit(WORKLOAD).alias("kind"),
        F.get_json_object("value", "$.version").cast("bigint").alias("version"),
        *(F.lit(0).cast("bigint").alias(name) for name in ("rows", "first_us", "last_us")),
        F.encode("value", "utf-8").alias("payload"),
    )


@dataclass(slots=True)
class Publisher:
    """Turns workloads into versions of a folder, planned for what is known of the events.

    `last` is the version that the stream runs, or will run from its next micro-batch on. `refused`: what was offered
    last is no version of it. `fits` raises a StrettoError for a plan that the stream cannot take for another reason
    than its attributes.
    """

    folder: Path
    known: Stats | Schema
    optimizer: str = "auto"
    budget: float | None = None
    fits: Callable[[Plan], object] = lambda _plan: None
    last: Version | None = field(init=False)
    refused: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.last = last_version(self.folder)

    @property
    def schema(self) -> Schema:
        return self.known.schema if isinstance(self.known, Stats) else self.known

    def offer(self, workload: Workload) -> Version:
        """The version for a workload: the last one if it says the same, else a new one.

        StrettoError, and nothing published, where the workload is wrong or does not fit the events that are kept.
        """
        self.refused = True
        text = workload.to_text()
        if self.last is not None and self.last.text == text and _calls_the_same(self.last.plan):
            refuse_other_kinds(self.last.plan.schema, self.last.plan, self.schema)
            self.refused = False
            return self.last
        plan = with_functions(self._planned(workload))
        if self.last is not None:
            refuse_other_kinds(self.last.plan.schema, plan, plan.schema)
        self.fits(plan)
        self.last = Version(publish(self.folder, workload, plan), text, plan)
        self.refused = False
        return self.last

    def offer_file(self, path: str | Path, tell: Callable[[str], None] | None = None) -> Version:
        """The same for the workload of a file; every mistake is shown with its line.

        With `tell` bad rows of its tables are told, each with its file and number, and the others are taken.
        """
        self.refused = True
        workload = Workload.parse(read_text(path, "workload"), str(path), self.schema)
        if tell is not None:
            workload, wrong = with_good_rows(workload)
            for reason in wrong[:MOST]:
                tell(f"{reason}; the row is left out")
            if len(wrong) > MOST:
                tell(f"and {len(wrong) - MOST:,} more rows are left out")
        workload.bind(self.schema)
        return self.offer(workload)

    def _planned(self, workload: Workload) -> Plan:
        if not len(workload):
            raise StrettoSparkError(f"{workload.file or 'the workload'}: there is no query to run")
        try:
            return _optimized(workload, self.known, self.optimizer, self.budget)
        except QueryError as error:
            text, file = error.text or workload.text, error.file or workload.file
            raise QueryError(error.mistakes, text, file) from None


def _calls_the_same(plan: Plan) -> bool:
    """Whether the functions that a plan came with are those of this process."""
    return not plan.functions or with_functions(plan).functions == plan.functions


def refuse_other_kinds(kept: Schema, plan: Plan, now: Schema) -> None:
    """StrettoSparkError where a plan reads an attribute that has another kind now than in the events that are kept.

    `kept` is the schema of the events in the stream's window, `now` that of those to come.
    """
    wrong = [
        f"attribute `{name}` was {old.value} in the events so far and is {new.value if new else 'missing'} now"
        for name in sorted(attributes_of(plan))
        if (new := now.attributes.get(name)) is not (old := kept.attributes.get(name)) and old is not None
    ]
    if wrong:
        raise StrettoSparkError(
            f"the workload does not fit the stream: {'; '.join(wrong)} (another kind needs another checkpoint)"
        )


class WorkloadWatch(Thread):
    """Looks at a workload file and the files of its tables again and again, and offers it whenever one is another.

    `tell` gets one message about every change: what the stream goes on with, or why it keeps the old workload.
    """

    def __init__(
        self,
        path: str | Path,
        publisher: Publisher,
        tell: Callable[[str], None],
        every_s: float = LOOK_EVERY_S,
    ) -> None:
        super().__init__(name="stretto-workload", daemon=True)
        self._path, self._publisher, self._tell, self._every_s = Path(path), publisher, tell, every_s
        self._tables: tuple[bytes, tuple[Path, ...]] = b"", ()
        self._seen = self._latest = self._text()
        self._ended = Event()

    def run(self) -> None:
        while not self._ended.wait(self._every_s):
            self.look()

    def end(self) -> None:
        """Look no more."""
        self._ended.set()

    def look(self) -> None:
        """One look at the file. A text counts once it was there at two looks: the first may see a half of it."""
        text, before = self._text(), self._latest
        self._latest = text
        if text is None or text == self._seen or text != before:
            return
        self._seen = text
        self._offer()

    def _offer(self) -> None:
        before = self._publisher.last
        try:
            now = self._publisher.offer_file(self._path, self._tell)
        except Exception as error:  # noqa: BLE001 - whatever it is, the stream goes on
            reason = str(error) if isinstance(error, StrettoError) else f"{self._path}: {error!r}"
            keeps = "" if before is None else f"\nthe stream keeps version {before.number} of the workload"
            self._tell(f"{reason}{keeps}")
            return
        if now is not before:
            self._tell(f"version {now.number} of the workload: {difference(before, now)}")

    def _text(self) -> tuple[bytes, tuple[object, ...]] | None:
        """What the file says, and what its tables look like from outside; None where it is not there."""
        try:
            text = self._path.read_bytes()
        except OSError:
            return None
        if text != self._tables[0]:
            self._tables = text, table_paths(text.decode("utf-8", "replace"), self._path.parent)
        return text, tuple(map(_look_of, self._tables[1]))


def table_paths(text: str, folder: Path) -> tuple[Path, ...]:
    """The files of the tables that a text names, as far as it can be read."""
    if not re.search(r"\btable\b", text, re.IGNORECASE):
        return ()
    statements = samples(parse_partial(text)[0])
    found = (one.path for one in statements if isinstance(one, syntax.CreateTable))
    return tuple(folder / path for path in found if path is not None)


def _look_of(path: Path) -> object:
    """What a table's file looks like from outside, or each file of its folder; None where there is none."""
    try:
        if path.is_dir():
            return tuple((file.name, _look_of(file)) for file in table_files(path))
        known = path.stat()
    except OSError:
        return None
    return known.st_mtime_ns, known.st_size


def difference(before: Version | None, now: Version) -> str:
    """Which queries came and went, in words."""
    old = {} if before is None else _queries(before)
    new = _queries(now)
    added = [name for name in new if name not in old]
    changed = [name for name in new if name in old and old[name] != new[name]]
    removed = [name for name in old if name not in new]
    tables = [] if before is None else sorted(_tables(now) - _tables(before))
    said = [("added", added), ("changed", changed), ("removed", removed), ("other rows:", tables)]
    words = "; ".join(f"{word} {', '.join(names)}" for word, names in said if names)
    count = f"{len(new):,} {'query' if len(new) == 1 else 'queries'}"
    return count + (f" ({words})" if words else "")


def _queries(version: Version) -> dict[str, str]:
    workload = Workload.parse(version.text)
    return {query.name: Workload((query,)).to_text() for query in workload.queries}


def _tables(version: Version) -> set[str]:
    """The tables of a version, each with the number of its rows and what tells them from others."""
    told = (
        line.removeprefix("-- table ") for line in version.text.splitlines() if line.startswith("-- table ")
    )
    return {line.rsplit(",", 1)[0].replace(": ", " ") + f" ({line.rsplit(' ', 1)[1]})" for line in told}
