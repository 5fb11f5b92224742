"""`stretto demo`, on fewer trades than usual."""

import pytest

pytestmark = pytest.mark.spark


def test_demo(call, tmp_path) -> None:
    result = call(
        "demo", "--events", "30000", "--alone", "1", "--budget", "1", "--master", "local[2]", "--quiet"
    )
    assert result.code == 0, result
    assert "30,000 trades, 100 patterns" in result.out
    assert "operators serve more than one pattern" in result.out
    assert "saved   this plan saves" in result.out
    assert "as fast as one by one" in result.out
    assert "all in one plan, nothing shared or reordered" in result.out
    assert "the seconds contain" in result.out
    page = (tmp_path / "out" / "demo" / "report.html").read_text()
    assert "chips_relay_123" in page
    again = call("run", "out/demo/demo.cep", "--events", "out/demo/trades", "--on", "local")
    total = result.out.split(" patterns, ")[1].split(" matches")[0]
    assert f"{total} matches" in again.out
