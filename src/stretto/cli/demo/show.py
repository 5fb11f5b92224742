"""What `stretto demo` prints: what was shared and saved, the top matches, and the speed compared with one by one."""

from stretto.cli.console import tell
from stretto.cli.demo.page import Demo
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
    trades = "a=.. are the positions of the trades in the day"
    heads = ["pattern", "from", "to", "trades", "money"]
    show_table(f"the matches that moved the most money ({trades})", heads, told.top, words=4)
    _show_speed(told)


def _show_most(told: Demo) -> None:
    most = sorted(told.found.items(), key=lambda pair: -pair[1])[:SHOWN_QUERIES]
    rows = [[name, f"{count:,}"] for name, count in most]
    show_table("the patterns with the most matches", ["pattern", "matches"], rows)


def _show_speed(told: Demo) -> None:
    """The two speeds, and how the slower one was found."""
    alone = told.alone
    together = told.events / told.seconds if told.seconds else 0.0
    rows = [["all in one shared plan", f"{told.seconds:.1f}", f"{together:,.0f}", ""]]
    if told.unshared:
        speed = told.events / told.unshared
        rows.append(["all in one job, nothing shared", f"{told.unshared:.1f}", f"{speed:,.0f}", ""])
    if alone.seconds:
        speed = told.events / alone.all_seconds
        ran = len(alone.seconds)
        how = "" if ran == alone.queries else f"{ran} of {alone.queries} ran, the others taken at their pace"
        rows.append(["one by one", f"{alone.all_seconds:.1f}", f"{speed:,.0f}", how])
    show_table("", ["run", "seconds", "trades/s", ""], rows)
    if told.unshared and told.seconds:
        tell(
            f"sharing and reordering: {factor_text(told.unshared / told.seconds)} as fast"
            " (the same job, reading and writing included)"
        )
    if alone.seconds:
        tell(
            f"together {factor_text(told.speedup)} as fast as one by one"
            " (each of those is a job of its own, whose start and reading count too)\n"
        )
