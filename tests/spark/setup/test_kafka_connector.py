"""Where Kafka's connector is looked for, and what is said where it is not."""

import os
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import PySparkRuntimeError

from stretto.spark.errors import StrettoSparkError
from stretto.spark.setup.kafka_connector import SETTING, connector_settings, releases, with_connector

PACKAGE = "org.apache.spark:spark-sql-kafka-0-10_2.13"
IVY = """\
:: loading settings :: url = jar:file:/ivy-2.5.3.jar!/org/apache/ivy/core/settings/ivysettings.xml
org.apache.spark#spark-sql-kafka-0-10_2.13 added as a dependency
\t\t::              UNRESOLVED DEPENDENCIES         ::
\t\t:: org.apache.spark#spark-sql-kafka-0-10_2.13;9.9.9: not found
Exception in thread "main" java.lang.RuntimeException: [unresolved dependency: org.apache.spark#spark-sql-kafka-0-10_2.13;9.9.9: not found]
"""  # noqa: E501 - as it is printed


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv(SETTING, raising=False)
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    (tmp_path / "jars").mkdir()
    return tmp_path


def test_it_is_looked_for_in_order(monkeypatch: pytest.MonkeyPatch, nothing_set: Path) -> None:
    wanted = [{"spark.jars.packages": f"{PACKAGE}:{one}"} for one in releases(pyspark.__version__)]
    assert connector_settings() == wanted
    assert wanted[0]["spark.jars.packages"].endswith(pyspark.__version__)
    (nothing_set / "jars" / "spark-sql-kafka-0-10_2.13-4.3.0.jar").touch()
    assert connector_settings() == [{}]
    monkeypatch.setenv(SETTING, "a:b:1")
    assert connector_settings() == [{"spark.jars.packages": "a:b:1"}]
    jars = [nothing_set / "a.jar", nothing_set / "b.jar"]
    given = ", ".join(map(str, jars))
    monkeypatch.setenv(SETTING, given)
    jars[0].touch()
    with pytest.raises(StrettoSparkError, match=rf"{SETTING} names {jars[1]}, which is no file"):
        connector_settings()
    jars[1].touch()
    assert connector_settings() == [{"spark.jars": given}]


@pytest.mark.parametrize(
    ("installed", "looked_for"),
    [
        ("4.3.0", ["4.3.0", "4.2.1", "4.2.0"]),
        ("4.3.2", ["4.3.2", "4.3.1", "4.3.0", "4.2.1"]),
        ("4.3.0.dev1", ["4.3.0.dev1", "4.3.0", "4.2.1", "4.2.0"]),
        ("odd", ["odd"]),
    ],
)
def test_releases(installed: str, looked_for: list[str]) -> None:
    assert releases(installed) == looked_for


def test_the_next_one_is_tried_and_the_last_one_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tried = []

    def start(conf: dict[str, str], good: str = "", said: str = IVY) -> str:
        tried.append(conf["spark.jars.packages"])
        if good and tried[-1].endswith(good):
            os.write(2, b":: resolution report ::\n")
            return "started"
        os.write(2, said.encode())
        raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})

    monkeypatch.setattr(pyspark, "__version__", "4.3.1")
    assert with_connector(lambda conf: start(conf, good=":4.3.0")) == "started"
    assert [one.rpartition(":")[2] for one in tried] == ["4.3.1", "4.3.0"]
    with pytest.raises(StrettoSparkError, match=f"was not found .{PACKAGE}:4.3.1, .*: set {SETTING}") as told:
        with_connector(start)
    assert "\n" not in str(told.value)
    needed = IVY.replace(
        "spark-sql-kafka-0-10_2.13;9.9.9: not found]", "spark-token-provider;9.9.9: not found]"
    )
    with pytest.raises(
        StrettoSparkError,
        match=r"was not found .*:4.2.1 for want of org.apache.spark#spark-token-provider;9.9.9",
    ):
        with_connector(lambda conf: start(conf, said=needed))
    with pytest.raises(StrettoSparkError, match=r"could not be started: java.lang.OutOfMemoryError: heap"):
        with_connector(lambda conf: start(conf, said="x\njava.lang.OutOfMemoryError: heap\n"))
    assert capfd.readouterr().err == ""
