"""What is shown in a terminal alone: frames and a bar that moves. Loaded where there is one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.table import Table
from rich.text import Text

from stretto.engine.snapshot import Counts


def show_framed(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], words: int) -> None:
    """Print a table of which the first `words` columns hold texts, the others numbers."""
    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for number, head in enumerate(heads):
        table.add_column(head, justify="left" if number < words else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False, markup=False).print(table)


class _Numbers(ProgressColumn):
    """Events, events per second and matches so far."""

    def render(self, task: Task) -> Text:
        speed = task.completed / task.elapsed if task.elapsed else 0.0
        matches = task.fields["matches"]
        return Text(f"{int(task.completed):,} events  {speed:,.0f} events/s  {matches:,} matches")


@contextmanager
def bar_of(total: int | None) -> Iterator[Callable[[Counts], None]]:
    """A bar on standard error; yields what moves it on."""
    columns = (SpinnerColumn(), BarColumn(bar_width=20), TextColumn("{task.percentage:>3.0f}%"), _Numbers())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, matches=0)
        yield lambda counts: bar.update(task, completed=counts.events, matches=counts.matches)
