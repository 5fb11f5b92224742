"""`./dev fuzz`: random cases with fresh seeds until the time is up.

Failing ones are kept in tests/fuzz/found, where a test runs them; exit code 1 if there are any.
"""

import argparse
import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from secrets import randbits
from time import monotonic
from traceback import format_exception
from typing import Any

HERE = Path(__file__).parent
FOUND = HERE / "found"
ENOUGH = 10  # failures
SHOWN_EVERY_S = 15.0


def main(arguments: list[str] | None = None) -> int:
    from tests.fuzz.kinds import KINDS

    options = _parser(list(KINDS)).parse_args(arguments)
    first = randbits(32) if options.seed is None else options.seed
    names = list(KINDS) if options.kind == "all" else [options.kind]
    enough = options.comparisons or (
        KINDS[names[0]].enough if options.minutes is None and len(names) == 1 else None
    )
    minutes = options.minutes or (10.0 if enough is None else 24 * 60.0)
    fuzz = Fuzz(minutes * 60, enough)
    print(f"seeds from {first} on; {', '.join(f'{name}: {KINDS[name].about}' for name in names)}", flush=True)
    try:
        for seed, name in _cases(first, names):
            if fuzz.is_over:
                break
            fuzz.run(name, seed)
    except KeyboardInterrupt:
        print("stopped")
    fuzz.show(last=True)
    return 1 if fuzz.failed else 0


def _parser(kinds: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="./dev fuzz", description=__doc__)
    parser.add_argument(
        "--minutes", type=float, help="when to stop (default 10; for files, when 10,000 are read)"
    )
    parser.add_argument("--comparisons", type=int, help="stop after so many comparisons")
    parser.add_argument("--seed", type=int, help="the first seed; else a fresh one")
    parser.add_argument("--kind", choices=["all", *kinds], default="all")
    return parser


def _cases(first: int, names: list[str]) -> Iterator[tuple[int, str]]:
    """Seeds one after another, each for every kind whose turn it is."""
    from tests.fuzz.kinds import KINDS

    seed = first
    while True:
        for name in names:
            if len(names) == 1 or (seed - first) % KINDS[name].every == 0:
                yield seed, name
        seed += 1


class Fuzz:
    """Runs cases, counts, and keeps what failed."""

    def __init__(self, seconds: float, comparisons: int | None) -> None:
        self._begun = self._shown = monotonic()
        self._until, self._enough = self._begun + seconds, comparisons
        self._tallies: dict[str, Any] = {}
        self._seeds: dict[str, tuple[int, int]] = {}
        self.failed: list[Path] = []

    @property
    def is_over(self) -> bool:
        done = sum(tally.comparisons for tally in self._tallies.values())
        compared = self._enough is not None and done >= self._enough
        return compared or monotonic() >= self._until or len(self.failed) >= ENOUGH

    def run(self, name: str, seed: int) -> None:
        from tests.fuzz.kinds import KINDS

        kind = KINDS[name]
        self._seeds[name] = (self._seeds.get(name, (seed, seed))[0], seed)
        case = kind.draw(seed)
        try:
            tally = kind.check(case)
            self._tallies.setdefault(name, type(tally)()).add(tally)
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what is looked for
            print(
                f"\n{name}, seed {seed}, failed:\n{''.join(format_exception(error)[-4:])[:4000]}", flush=True
            )
            self.failed.append(store(name, seed, kind.shrink(case, error), str(error)))
            print(f"kept as {self.failed[-1]}", flush=True)
        if monotonic() - self._shown > SHOWN_EVERY_S and not self.is_over:
            self.show()

    def show(self, *, last: bool = False) -> None:
        """How far it is."""
        self._shown = monotonic()
        print("done" if last else "", flush=True)
        minutes, seconds = divmod(int(self._shown - self._begun), 60)
        for name, tally in self._tallies.items():
            first, last = self._seeds[name]
            print(f"{minutes:3}:{seconds:02}  {name}, seeds {first}..{last}: {tally}", flush=True)
        if self.failed:
            print(f"{len(self.failed)} failed: {', '.join(path.name for path in self.failed)}", flush=True)


def store(name: str, seed: int, case: dict[str, Any], what: str) -> Path:
    """Keep a case as JSON, a line for each event."""
    FOUND.mkdir(exist_ok=True)
    found = {"kind": name, "seed": seed, "what": what.splitlines()[:20], "case": case | {"events": None}}
    lines = ",\n".join(json.dumps(event) for event in case.get("events", ()))
    text = json.dumps(found, indent=1).replace('"events": null', f'"events": [\n{lines}\n]')
    path = FOUND / f"{name}-{seed}.json"
    path.write_text(text + "\n", "utf-8")
    return path


if __name__ == "__main__":
    root = HERE.parent.parent
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    sys.path[:0] = [str(root / path) for path in settings["tool"]["pytest"]["ini_options"]["pythonpath"]]
    sys.exit(main())
