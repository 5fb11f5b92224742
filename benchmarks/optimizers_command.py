"""What the commands of experiments on optimizers have in common: their options, several seeds, parts as one."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.optimizers_report import Outcome, measured, of_all, over_seeds
from benchmarks.parts import add_join, named, read


def parser_of(name: str, about: str | None, sweeps: Sequence[str], such: str) -> argparse.ArgumentParser:
    """The parser with the options that both experiments have."""
    parser = argparse.ArgumentParser(prog=name, description=about)
    parser.add_argument("--only", type=named(sweeps), default=list(sweeps), help=f"such as {such}")
    parser.add_argument("--budget", type=float, help="seconds of every optimizer")
    parser.add_argument("--limit", type=float, help="seconds that the slowest run of a point may take, about")
    parser.add_argument("--seed", type=int, help="of workload and stream (1)")
    parser.add_argument(
        "--seeds",
        type=int,
        default=1,
        metavar="N",
        help="so many seeds from there on: medians and spread (1)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="a small run of everything, to see that it works"
    )
    add_join(parser)
    return parser


def carry_out(
    name: str, out: Path, given: argparse.Namespace, seed: int, experiment: Callable[[int], Outcome]
) -> int:
    """Measure with each seed, or put parts together; print the tables and write the files."""
    if given.join:
        return measured(name, out, lambda: of_all(read(Outcome, given.join)))
    return measured(name, out, lambda: over_seeds(range(seed, seed + given.seeds), experiment))
