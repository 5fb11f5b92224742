"""All commands of `stretto`."""

from typing import Annotated

import typer

from stretto.cli.bench import bench
from stretto.cli.calibrate.command import calibrate
from stretto.cli.check import check
from stretto.cli.demo.command import demo
from stretto.cli.explain import explain
from stretto.cli.generate import generate
from stretto.cli.run import run
from stretto.cli.stats import stats
from stretto.cli.stream.command import stream
from stretto.cli.workload import workload

app = typer.Typer(
    name="stretto",
    help="Hundreds of event patterns in one job: shared, explained, exact.",
    epilog="Example: stretto run rules.cep --events trades.parquet --out matches.parquet",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(check)
app.command()(run)
app.command()(stats)
app.command()(explain)
app.command()(stream)
app.command()(generate)
app.command()(workload)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(bench)
app.command()(calibrate)
app.command()(demo)


def _show_version(value: bool) -> None:
    if value:
        from stretto import __version__

        typer.echo(f"stretto {__version__}")
        raise typer.Exit


@app.callback()
def stretto(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Hundreds of event patterns in one job: shared, explained, exact."""
    del version
