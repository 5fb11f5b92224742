"""What is shown of a running stream."""

from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from rich.console import Console
from rich.live import Live

from stretto.cli.stream.command import _followed
from stretto.cli.stream.display import Board, LiveTable, how_long, line, when
from stretto.screen import bytes_text
from stretto.spark.errors import TOO_SLOW, StrettoSparkError, failure_in
from stretto.spark.stream.metrics import StreamMetrics, TargetMetrics, merged

REPORT = TargetMetrics(
    target=0,
    version=2,
    events=1000,
    late=2,
    rejected=1,
    matches={"rise": 5, "pair": 7},
    state_rows=400,
    state_bytes=5 << 20,
    until_us=1_700_000_000_000_000,
    greatest_us=1_700_000_061_500_000,
)
METRICS = replace(merged([REPORT], 3, 2.0), matches=12, late=2, rejected=1)


def shown(board: Board) -> str:
    console = Console(width=100, record=True, file=StringIO())
    console.print(board.table())
    console.print(board.queries())
    return " ".join(console.export_text().split())


def test_a_batch_in_one_line() -> None:
    assert line(METRICS) == (
        "batch 3: 1,000 events, 12 matches (pair 7, rise 5); 2 late, 1 rejected; watermark 2023-11-14 22:13:20.000;"
        " state 400 rows, 5.0 MiB; workload version 2; 2.0 s"
    )


def test_repeated_ids_are_shown_where_there_are_any() -> None:
    again = replace(METRICS, repeated=4)
    assert "1 rejected, 4 with a repeated id;" in line(again)
    board = Board()
    board.take(again)
    board.take(again)
    assert "repeated ids 8" in shown(board)


def test_what_was_replaced_is_shown_where_there_is_any() -> None:
    some = replace(METRICS, replaced=4)
    assert "1 rejected, 4 replaced;" in line(some)
    board = Board()
    board.take(some)
    board.take(some)
    assert "replaced 8" in shown(board)
    assert board.summary() == "2,000 events, 24 matches, 4 late, 2 rejected, 8 replaced in 2 batches"


def test_the_board_adds_up() -> None:
    board = Board()
    board.take(replace(METRICS, events=1003, rejected=4))
    board.take(replace(METRICS, batch=4))
    assert board.summary() == "2,003 events, 24 matches, 4 late, 5 rejected in 2 batches"
    text = shown(board)
    assert "events 2,003 matches 24" in text
    assert "events/s 500 workload version 2" in text
    assert "watermark 2023-11-14 22:13:20.000 lag 0:01:01" in text
    assert "pair 14 7 rise 10 5" in text


class Slow:
    """A stream whose Python does not start in time, so often; then it ends as it should."""

    def __init__(self, times: int) -> None:
        self.left, self.publisher, self.active = times, Mock(refused=""), False

    def reports(self, after: int) -> list[StreamMetrics]:
        return [replace(METRICS, batch=after + 1)]

    def stop(self) -> None:
        self.left -= 1

    def failure(self) -> StrettoSparkError | None:
        return failure_in(RuntimeError(f"{TOO_SLOW}.\n\tat java")) if self.left >= 0 else None


def test_a_stream_whose_python_starts_too_slowly_is_started_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.cep").write_text("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 s;")
    options = Mock(workload=str(tmp_path / "rules.cep"), quiet=True)
    stream = Slow(2)
    assert _followed(lambda: stream, options)
    again, last, told = capsys.readouterr().err.splitlines()
    assert "did not start within the ten seconds that Spark gives it" in again
    assert "trial 2 of 5" in again
    assert "trial 3 of 5" in last
    assert told.startswith("3,000 events, 36 matches")  # those of the trials before too
    with pytest.raises(StrettoSparkError, match="the machine is too busy"):
        _followed(lambda: Slow(1), options)


def test_an_empty_board() -> None:
    assert Board().summary() == "0 events, 0 matches, 0 late, 0 rejected in 0 batches"
    assert "events 0" in shown(Board())


def test_many_queries_are_cut() -> None:
    board = Board(found={f"q{i}": 100 - i for i in range(30)})
    assert "and 10 more" in shown(board)


def test_times_and_sizes() -> None:
    assert (when(None), how_long(None)) == ("-", "-")
    assert when(1 << 61) == "+75039-04-04 19:00:13.693"
    assert [bytes_text(n) for n in (7, 2048, 3 << 30)] == ["7 bytes", "2.0 KiB", "3.0 GiB"]


ODD = "[red]\x1b[2J\x9b\x07\r\n\u202e[/x]"
SHOWN = "[red]\\x1b[2J\\x9b\\x07\\r\\n\\u202e[/x]"


def test_names_are_neither_markup_nor_orders_to_the_terminal() -> None:
    odd = replace(METRICS, per_query={ODD: 5, "n" * 500: 3})
    board = Board()
    board.take(odd)
    assert f"{SHOWN} 5 5" in shown(board)
    assert "n" * 100 not in shown(board)
    assert f"{SHOWN} 5" in line(odd)
    assert line(odd).isprintable()


def test_messages_are_made_visible() -> None:
    text = StringIO()
    live = Live(console=Console(width=100, file=text), auto_refresh=False)
    with live:
        LiveTable(Board(), live).tell(f"version 2 is wrong:\n{ODD}")
    assert "version 2 is wrong:\n[red]\\x1b[2J" in text.getvalue()
    assert not set(ODD) & set(text.getvalue()) - set("[red]2J/x\n")
