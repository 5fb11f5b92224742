"""`stretto demo`, on fewer events than usual."""


def test_demo(call) -> None:
    result = call("demo", "--events", "20000")
    assert result.code == 0, result
    assert "n0 = scan start" in result.out
    counts = dict(line.split() for line in result.out.splitlines() if len(line.split()) == 2)
    assert int(counts["delivered"].replace(",", "")) > 3_000
    assert int(counts["unacknowledged"].replace(",", "")) > 100
    assert len([name for name in counts if name != "query"]) == 12
    assert "events/s" in result.out
