"""What `stretto demo` prints: what was shared and saved, the top matches, and the speed of each way to find them."""

from stretto.cli.console import tell
from stretto.cli.demo.page import Demo, ways
from stretto.cli.results.tables import show_table
from stretto.explain.numbers import factor_text
from stretto.explain.text import saving_text
from stretto.screen import counted

SHOWN_QUERIES = 5


def show(told: Demo) -> None:
    """Print all of it on standard output."""
    plan = told.plan
    tell(
        f"\n{counted(told.events, 'trade')}, {counted(len(told.found), 'pattern')},"
        f" {counted(told.matches, 'match')}\n"
    )
    tell(f"shared  {len(plan.shared)} of {len(plan.rows)} operators serve more than one pattern")
    if plan.estimate is not None:
        tell(f"saved   {saving_text(plan.estimate)}")
    tell("")
    _show_most(told)
    heads = ["pattern", "from", "to", "trades", "money"]
    show_table("the matches that moved the most money", heads, told.top, words=4)
    _show_speed(told)


def _show_most(told: Demo) -> None:
    most = sorted(told.found.items(), key=lambda pair: -pair[1])[:SHOWN_QUERIES]
    rows = [[name, f"{count:,}"] for name, count in most]
    show_table("the patterns with the most matches", ["pattern", "matches"], rows)


def _show_speed(told: Demo) -> None:
    """How long each way took, and what that contains."""
    rows = [
        [name, f"{seconds:.1f}", f"{told.events / seconds:,.0f}", what] for name, seconds, what in ways(told)
    ]
    show_table("", ["run", "seconds", "trades/s", "the seconds contain"], rows, words=4)
    if told.unshared and told.seconds:
        tell(
            f"sharing and reordering: {factor_text(told.unshared / told.seconds)} as fast, the same job otherwise"
        )
    if told.alone.seconds:
        tell(
            f"together {factor_text(told.speedup)} as fast as one by one, which also starts a hundred jobs\n"
        )
