"""`stretto generate`: the papers' event streams as files."""

from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from stretto.cli.console import FAILED, reported, told
from stretto.cli.options import OutPath, Seed
from stretto.cli.records import takes
from stretto.errors import StrettoError
from stretto.records import dataclass

if TYPE_CHECKING:
    from stretto.generate.streams import StreamOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """The options of `stretto generate`."""

    stream: Annotated[
        str,
        Argument(
            metavar="STREAM",
            help="uniform, zipf, stocks, datacenter, mcep-stocks, traffic, rides, ticks, rentals, tasks, rumor or"
            " counters.",
            show_default=False,
        ),
    ]
    events: Annotated[int, Option(metavar="N", min=0, help="How many events.", show_default=False)]
    out: OutPath
    seed: Seed = 0
    rate: Annotated[
        float | None,
        Option(
            metavar="EVENTS_PER_SECOND",
            help="Over all types: 10; 1 in stocks, 5 in datacenter; in mcep-stocks and traffic the sum of the types'"
            " rates of 2 to 47.",
        ),
    ] = None
    types: Annotated[
        int | None,
        Option(
            metavar="N",
            min=1,
            help="Types of uniform and zipf (10); symbols of stocks (13), mcep-stocks and ticks (300); points of"
            " traffic (449); streams S1, S2, .. of rumor (only S); processes of counters (104).",
        ),
    ] = None
    keys: Annotated[
        int,
        Option(
            metavar="N", min=1, help="How many values k has in uniform and zipf, and each attribute in rumor."
        ),
    ] = 1000
    exponent: Annotated[
        float, Option(metavar="S", min=0, help="Of Zipf's law: the i-th type has weight i^-S.")
    ] = 1.0
    machines: Annotated[int, Option(metavar="N", min=1, help="Machines of datacenter.")] = 20
    drivers: Annotated[int | None, Option(metavar="N", min=1, help="Drivers of rides (1000).")] = None
    rates: Annotated[
        str | None,
        Option(
            metavar="TYPE=RATE,..",
            help="Events per second of single types (rides, ticks, rentals, tasks); others share the rest of --rate.",
        ),
    ] = None
    reshuffle: Annotated[
        int | None, Option(metavar="N", min=1, help="Every N events, some types change places.")
    ] = None
    reshuffle_types: Annotated[int, Option(metavar="N", min=2, help="How many types change places.")] = 5
    lasting: Annotated[
        bool, Option("--lasting", help="Types that changed places stay there until they change again.")
    ] = False

    @property
    def of_stream(self) -> "StreamOptions":
        """What the stream shall be like."""
        from stretto.generate.reshuffle import Reshuffle
        from stretto.generate.streams import StreamOptions

        moved = self.reshuffle
        how = None if moved is None else Reshuffle(moved, self.reshuffle_types, self.lasting)
        single = None if self.rates is None else _rates(self.rates)
        return StreamOptions(
            self.seed,
            self.rate,
            self.types,
            self.keys,
            self.exponent,
            self.machines,
            how,
            single,
            self.drivers,
        )


@takes(GenerateOptions)
def generate(options: GenerateOptions) -> None:
    """Write one of the papers' event streams.

    Example: stretto generate uniform --events 1000000 --out events.parquet --seed 1 --rate 100
    """
    with reported():
        from stretto.data.sinks import open_sink
        from stretto.generate.streams import generate_batches, schema_of

        wanted, out = options.of_stream, options.out
        batches = generate_batches(options.stream, options.events, wanted)
        with open_sink(out, schema_of(options.stream, wanted)) as sink, reported(FAILED):
            for batch in batches:
                sink.write(batch)
        told(out, sink.rows, "event")


def _rates(text: str) -> dict[str, float]:
    """`Travel=95,Pool=0.5` as numbers by type."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise StrettoError(f"--rates: write `Travel=95,Pool=0.5`, not `{part}`") from None
    return found
