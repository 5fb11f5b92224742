"""How sources and sinks are written: a kind, and what it reads or writes."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final

from stretto.records import dataclass
from stretto.spark.errors import StrettoSparkError
from stretto.spark.io.passwords import redacted

FORMATS: Final[Mapping[str, tuple[str, ...]]] = {
    "parquet": (".parquet", ".pq"),
    "csv": (".csv",),
    "tsv": (".tsv",),
    "json": (".jsonl", ".ndjson", ".json"),
}

LAST_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class Spec:
    """What stands in `--source` or `--sink`: a kind and what it reads or writes."""

    kind: str
    place: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.kind}:{redacted(self.place)}" if self.place else self.kind

    def on_this_machine(self) -> "Spec":
        """With the whole path of a file or folder, as Spark may have been started elsewhere; addresses stay."""
        if "://" in self.place:
            return self
        return Spec(self.kind, str(Path(self.place).expanduser().absolute()))

    @classmethod
    def parse(cls, text: str, kinds: Mapping[str, str], option: str) -> "Spec":
        """The spec of a text such as `files:/data/in`; `kinds` says for each kind how it is written."""
        kind, _, place = text.partition(":")
        known = ", ".join(kinds.values())
        if kind not in kinds:
            raise StrettoSparkError(f"{option}: `{redacted(text)}` is none of {known}")
        if (":" in kinds[kind]) != bool(place):
            raise StrettoSparkError(f"{option}: `{redacted(text)}` should be {kinds[kind]}")
        return cls(kind, place)


SOURCES: Final[Mapping[str, str]] = {
    "files": "files:DIR",
    "delta": "delta:DIR",
    "kafka": "kafka:HOST/TOPIC",
    "rate": "rate:N",
    "socket": "socket:HOST:PORT",
}


def parse_source(text: str) -> Spec:
    """The spec of a `--source`; what is surely wrong with it is said now."""
    spec = Spec.parse(text, SOURCES, "--source")
    match spec.kind:
        case "files" | "delta":
            return spec.on_this_machine()
        case "kafka":
            kafka_place(spec.place, "--source")
        case "rate" if not (spec.place.isdecimal() and int(spec.place) > 0):
            raise StrettoSparkError(f"--source: `{text}` should be rate:N, with events per second")
        case "socket":
            socket_place(spec.place)
    return spec


def parse_source_format(text: str | None) -> str | None:
    """The format of a `--source-format`, if one was given."""
    if text is not None and text not in FORMATS:
        raise StrettoSparkError(f"--source-format: `{text}` is none of {', '.join(FORMATS)}")
    return text


def kafka_place(place: str, option: str) -> tuple[str, str]:
    """The brokers and the topic of `HOST/TOPIC`; several brokers have commas between them."""
    hosts, _, topic = place.partition("/")
    if not hosts or not topic or "/" in topic:
        raise StrettoSparkError(
            f"{option}: `kafka:{place}` should be kafka:HOST/TOPIC, such as kafka:localhost:9092/trades"
        )
    return ",".join(host if ":" in host else f"{host}:9092" for host in hosts.split(",")), topic


def socket_place(place: str) -> tuple[str, str]:
    """The host and the port of `HOST:PORT`."""
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or int(port) > LAST_PORT:
        raise StrettoSparkError(f"--source: `socket:{place}` should be socket:HOST:PORT")
    return host, port
