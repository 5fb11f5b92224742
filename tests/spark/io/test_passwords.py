"""Passwords of addresses are seen by nobody but the driver."""

import pytest

from stretto import Workload
from stretto.spark.errors import StrettoSparkError, clear_failures
from stretto.spark.io.passwords import hiding, redacted
from stretto.spark.io.sinks import parse_sink
from stretto.spark.io.specs import Spec
from stretto.spark.io.upsert import upsert
from stretto.spark.stream.job import StreamJob


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgres://u:geheim@host:5432/db", "postgres://u:***@host:5432/db"),
        ("postgresql://u:ge@he/im@host/db?x=1", "postgresql://u:***@host/db?x=1"),
        ("postgres://u:ge he\nim@host/db", "postgres://u:***@host/db"),
        ("postgres://u@host/db", "postgres://u@host/db"),
        ("postgres://host/db?user=u&password=geheim&x=1", "postgres://host/db?user=u&password=***&x=1"),
        (
            "postgres:host=h password = 'ge heim' sslpassword=geheim x=1",
            "postgres:host=h password = *** sslpassword=*** x=1",
        ),
        ("postgres:password='ge heim", "postgres:password=***"),
        ("sqlite:/a/b:c.db", "sqlite:/a/b:c.db"),
        ("kafka:host:9092/topic", "kafka:host:9092/topic"),
        ("files:s3a://bucket/a:b", "files:s3a://bucket/a:b"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert redacted(address) == shown


def test_a_sink_is_shown_without_its_password(tmp_path) -> None:
    sink = parse_sink("postgresql://u:geheim@host/db")
    assert sink == Spec("postgres", "//u:geheim@host/db")
    job = StreamJob(
        workload=Workload(),
        source=Spec("rate", "1"),
        sink=sink,
        checkpoint=tmp_path,
        sink_options={"kafka.sasl.jaas.config": "geheim"},
    )
    shown = [str(sink), repr(sink), repr(job), str(job.lasting), repr(upsert("postgres://u:geheim@host/db"))]
    assert not any("geheim" in text for text in shown)
    assert job.lasting["sink"] == "postgres://u:***@host/db"
    with pytest.raises(StrettoSparkError, match=r"`mysql://u:\*\*\*@host/db` is no database"):
        upsert("mysql://u:geheim@host/db")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://u:geheim@h/db", 'bad token "geheim"'),
        ("postgresql://u:ge%20heim@h/db", "no user with ge heim"),
        ("postgresql://u:ge@heim@h/db", "failed to resolve host 'heim@h'"),
        ("host=h password='ge heim' x", "bad 'ge heim'"),
    ],
)
def test_what_a_driver_quotes_is_hidden(address: str, said: str) -> None:
    with pytest.raises(StrettoSparkError) as caught, hiding(address):
        raise ValueError(said)
    assert str(caught.value).startswith("ValueError: ")
    assert "heim" not in str(caught.value)
    assert "***" in str(caught.value)
    assert caught.value.__suppress_context__


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(ValueError, match=r"^the disk is full$"), hiding("postgresql://u:geheim@h/db"):
        raise ValueError("the disk is full")


@pytest.mark.parametrize(
    "url",
    ["postgres://u:p%zzgeheim@h/db", "postgres://u:geheim@h/db?foo=bar", "postgres:password=geheim bad"],
)
def test_a_driver_of_postgres_is_not_told_on(spark, url: str) -> None:
    pytest.importorskip("psycopg")
    rows = spark.createDataFrame([], "query string, match_id string")
    with pytest.raises(StrettoSparkError) as caught, clear_failures():
        upsert(url)(rows, 0)
    assert "geheim" not in str(caught.value)
    assert "writing a micro-batch to postgres" in str(caught.value)
