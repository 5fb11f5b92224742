"""Generators of the papers' query workloads: the same seed gives the same text."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

from stretto.errors import StrettoError, instead_of
from stretto.generate import mcep_workload as mcep
from stretto.generate import motto_workload as motto
from stretto.generate import muse_workload as muse
from stretto.generate import rumor_workload as rumor
from stretto.generate.workload_text import Written, workload_text
from stretto.records import dataclass


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """One kind of workload: its options, the stream it is for, and its text by number of queries, seed and options."""

    options: type[Any]
    stream: str
    text: Callable[["WorkloadKind", int, int, Any, str], str]
    about: Any


def workload(kind: str, queries: int, seed: int = 0, **options: Any) -> str:
    """The text of a workload file: `motto-stocks`, `motto-datacenter`, `mcep-stocks`, `mcep-traffic`,
    `muse-rides`, `muse-stocks`, `rumor-1`, `rumor-2`, `rumor-3` or `rumor-hybrid`.

    The options are those of `MottoOptions`, `McepOptions`, `MuseOptions` and `RumorOptions`. StrettoError where one
    is unknown or cannot be met.
    """
    if kind not in KINDS:
        raise StrettoError(f"unknown workload `{kind}`{instead_of(kind, KINDS)}")
    if queries < 1:
        raise StrettoError(f"a workload has at least 1 query, not {queries}")
    if seed < 0:
        raise StrettoError(f"the seed must not be negative: {seed}")
    chosen = KINDS[kind]
    known = [field.name for field in fields(chosen.options)]
    for name in options:
        if name not in known:
            raise StrettoError(f"{kind} has no option `{name}`{instead_of(name, known)}")
    settled = chosen.options(**options)
    return chosen.text(chosen, queries, seed, settled, _call(kind, queries, seed, options))


def _call(kind: str, queries: int, seed: int, options: Mapping[str, Any]) -> str:
    """The command that makes the same file."""
    given = []
    for name, value in options.items():
        shown = f"{value!r}" if isinstance(value, str) and " " in value else f"{value}"
        if value is not None and value is not False:
            given.append(f"--{name.replace('_', '-')}" + ("" if value is True else f" {shown}"))
    return " ".join(["stretto workload", kind, f"--queries {queries}", f"--seed {seed}", *given])


def _motto_text(kind: WorkloadKind, queries: int, seed: int, options: motto.MottoOptions, call: str) -> str:
    written = motto.motto_workload(kind.about, queries, seed, options)
    header = [
        f"{queries} queries in pairs with MOTTO's types of sharing (Table IV), {options.ratio:.0%} of them basic.",
        call,
        f"events: stretto generate {kind.stream}",
    ]
    return workload_text(header, kind.about.definitions, written)


def _mcep_text(kind: WorkloadKind, queries: int, seed: int, options: mcep.McepOptions, call: str) -> str:
    written, density = mcep.mcep_workload(kind.about, queries, seed, options)
    types = "" if options.types is None else f" --types {options.types}"
    header = [
        f"{queries} patterns of {options.length} types on average, as in MCEP (sec. 6.1).",
        f"Two patterns have a common part of two or more types with probability {density:.2f}.",
        call,
        f"events: stretto generate {kind.stream}{types}",
    ]
    return workload_text(header, (), written)


def _muse_text(kind: WorkloadKind, queries: int, seed: int, options: muse.MuseOptions, call: str) -> str:
    written = muse.muse_workload(kind.about, queries, seed, options)
    rate, rates = muse.stream_rates(kind.about, options)
    stream = f"events: stretto generate {kind.stream}"
    if rate is not None:
        stream += f" --rate {rate:.12g}"
    if rates is not None:
        stream += " --rates " + ",".join(f"{name}={each:.12g}" for name, each in rates.items())
    share = f"{options.nested:.0%} of them nested, as in MUSE (sec. 4)."
    about = f"{queries} queries that aggregate trends of {kind.about.repeated}, {share}"
    return workload_text([about, call, stream], (), written)


def _rumor_text(kind: WorkloadKind, queries: int, seed: int, options: rumor.RumorOptions, call: str) -> str:
    about: _RumorKind = kind.about
    stream = f"events: stretto generate {kind.stream}"
    if options.separate:
        stream += f" --types {options.capacity}"
    header = [f"{queries} queries: {about.says}, as in RUMOR (sec. 5).", call, stream]
    if options.table is not None:
        if about.written is not rumor.selected_sequences:
            raise StrettoError("only the queries of rumor-1 can be rows of a table")
        comments = "".join(f"-- {line}\n" for line in header)
        return f"{comments}\n{rumor.table_query(options.table)}"
    return workload_text(header, about.definitions(options), about.written(queries, seed, options))


@dataclass(frozen=True, slots=True)
class _RumorKind:
    """One of RUMOR's workloads: what it is about, its definitions and its queries."""

    says: str
    written: Callable[[int, int, rumor.RumorOptions], list[Written]]
    definitions: Callable[[rumor.RumorOptions], Sequence[str]] = lambda _: ()


def _rumor(stream: str, about: _RumorKind) -> WorkloadKind:
    return WorkloadKind(rumor.RumorOptions, stream, _rumor_text, about)


KINDS: Final[Mapping[str, WorkloadKind]] = {
    "motto-stocks": WorkloadKind(motto.MottoOptions, "stocks", _motto_text, motto.STOCKS),
    "motto-datacenter": WorkloadKind(motto.MottoOptions, "datacenter", _motto_text, motto.DATACENTER),
    "mcep-stocks": WorkloadKind(mcep.McepOptions, "mcep-stocks", _mcep_text, mcep.STOCKS),
    "mcep-traffic": WorkloadKind(mcep.McepOptions, "traffic", _mcep_text, mcep.TRAFFIC),
    "muse-rides": WorkloadKind(muse.MuseOptions, muse.RIDES.stream, _muse_text, muse.RIDES),
    "muse-stocks": WorkloadKind(muse.MuseOptions, muse.STOCKS.stream, _muse_text, muse.STOCKS),
    "rumor-1": _rumor(
        "rumor", _RumorKind("an S and the next T, each with a constant", rumor.selected_sequences)
    ),
    "rumor-2": _rumor("rumor", _RumorKind("an S and the next T with its value", rumor.equal_sequences)),
    "rumor-3": _rumor(
        "rumor",
        _RumorKind("the same over several streams", rumor.channel_sequences, rumor.channel_streams),
    ),
    "rumor-hybrid": _rumor(
        "counters", _RumorKind("smoothed loads that rise", rumor.ramps, lambda _: (rumor.SMOOTHED,))
    ),
}
