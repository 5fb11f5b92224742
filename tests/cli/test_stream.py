"""`stretto stream`, as far as it goes without Spark: what is wrong with a call is said before anything starts."""

import pytest

PLACES = {"--source": "files:in", "--sink": "console", "--checkpoint": "state"}


def stream(call, workload: str = "rules.cep", **changed: str):
    options = {**PLACES, **{f"--{name.replace('_', '-')}": value for name, value in changed.items()}}
    return call("stream", workload, *(text for option in options.items() for text in option))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"source": "folder:in"},
            "--source: `folder:in` is none of files:DIR, delta:DIR, kafka:HOST/TOPIC, rate:N, socket:HOST:PORT",
        ),
        ({"source": "files"}, "--source: `files` should be files:DIR"),
        ({"source": "kafka:localhost"}, "--source: `kafka:localhost` should be kafka:HOST/TOPIC"),
        ({"source": "rate:many"}, "--source: `rate:many` should be rate:N"),
        ({"source": "socket:localhost"}, "--source: `socket:localhost` should be socket:HOST:PORT"),
        ({"sink": "table"}, "--sink: `table` is none of files:DIR"),
        ({"sink": "console:x"}, "--sink: `console:x` should be console"),
        ({"sink": "sqlite:no/such/place.db"}, "--sink: there is no folder"),
        ({"sink": "postgres"}, "--sink: `postgres` should be postgres:URL"),
        (
            {"sink": "mysql://u:geheim@host/db"},
            "--sink: `mysql://u:***@host/db` is none of files:DIR",
        ),
        (
            {"checkpoint": "s3a://key:geheim@bucket/state"},
            "--checkpoint: s3a://key:***@bucket/state is an address",
        ),
        ({"checkpoint": "rules.cep"}, "--checkpoint: rules.cep is not a folder"),
        ({"checkpoint": "s3://bucket/state"}, "--checkpoint: s3://bucket/state is an address"),
        ({"lateness": "soon"}, "--lateness: `soon` is not a duration"),
        (
            {"trigger": "often"},
            "--trigger: `often` is neither a duration (such as `10 seconds`) nor available-now",
        ),
        ({"schema": "what, is this"}, "--schema: `what, is this` is no list of columns"),
        ({"source_format": "xml"}, "--source-format: `xml` is none of parquet, csv, tsv, json"),
        ({"sink_format": "xml"}, "--sink-format: `xml` is none of parquet, json, csv"),
        ({"source_option": "latest"}, "--source-option: `latest` should be NAME=VALUE"),
        ({"stats": "none.json"}, "none.json: the file of statistics cannot be read"),
    ],
)
def test_wrong_calls(call, options: dict[str, str], message: str) -> None:
    result = stream(call, **options)
    assert result.code == 2
    assert message in result.err
    assert "geheim" not in result.err


def test_a_missing_workload(call) -> None:
    result = stream(call, "nothing.cep")
    assert (result.code, "nothing.cep: the workload cannot be read" in result.err) == (2, True)


def test_every_mistake_of_a_workload_is_shown(call, tmp_path) -> None:
    (tmp_path / "bad.cep").write_text(
        "QUERY q PATTERN SEQ(A a, B b) WHERE c.x > 1 WITHIN 1 s; QUERY p PATTERN SEQ(A a, B b);"
    )
    result = stream(call, "bad.cep")
    assert result.code == 2
    assert "unknown variable `c`" in result.err
    assert "query `p` has no WITHIN" in result.err


def test_help_has_an_example(call) -> None:
    result = call("stream", "--help")
    assert result.code == 0
    assert "stretto stream rules.cep --source files:incoming" in " ".join(result.out.split())
