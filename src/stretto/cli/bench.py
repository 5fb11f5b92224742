"""`stretto bench`: run one of the experiments of the source checkout."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated

import typer

from stretto.cli.console import FAILED, reported
from stretto.errors import StrettoError, instead_of

FOLDER = "benchmarks"


def bench(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="An experiment: benchmarks/NAME.py.", show_default=False),
    ],
    data: Annotated[Path | None, typer.Option(metavar="DIR", help="The folder of real event data.")] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results go.")] = Path("out"),
) -> None:
    """Run an experiment: compare answers, then write ratios as a table, JSON and a plot.

    Further options are passed on to the experiment.

    Example: stretto bench detect --data ~/events --out out
    """
    with reported():
        module = _load(_find(name))
        if data is not None and not data.is_dir():
            raise StrettoError(f"--data: {data} is not a folder")
        out.mkdir(parents=True, exist_ok=True)
        with reported(FAILED):
            code = module.run(out, data, list(context.args))
    raise typer.Exit(int(code or 0))


def _folders() -> list[Path]:
    """Where experiments may be: in the current folder, and next to the source checkout."""
    checkout = Path(__file__).resolve().parents[3]
    return [place for place in (Path.cwd() / FOLDER, checkout / FOLDER) if place.is_dir()]


def _find(name: str) -> Path:
    folders = _folders()
    if not folders:
        raise StrettoError(
            f"no folder `{FOLDER}` here or next to the source: experiments come with the source checkout"
        )
    for folder in folders:
        path = folder / f"{name}.py"
        if path.parent == folder and path.is_file() and _is_experiment(path):
            return path
    known = sorted({path.stem for folder in folders for path in folder.glob("*.py") if _is_experiment(path)})
    raise StrettoError(f"unknown experiment `{name}`{instead_of(name, known)}")


def _is_experiment(path: Path) -> bool:
    """Whether a module offers `run`; others in the folder serve the experiments."""
    return "\ndef run(" in path.read_text(encoding="utf-8")


def _load(path: Path) -> ModuleType:
    sys.path.insert(0, str(path.parent))  # experiments share modules of their folder
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
