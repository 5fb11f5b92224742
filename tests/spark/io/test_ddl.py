"""Columns are read before there is a session, as Spark reads them (tests/spark/io/test_sources.py compares)."""

import subprocess
import sys

import pytest
from pyspark.sql import types as T  # noqa: N812 - as everybody calls it

from stretto.spark.errors import StrettoSparkError
from stretto.spark.io.columns import parse_schema

DDL = (
    "ts TIMESTAMP, type STRING, price DOUBLE",
    "ts timestamp_ntz NOT NULL, type string COMMENT 'what it is', `odd ``name` int, n decimal(12, 3), d DECIMAL",
    "p STRUCT<name: STRING, `q.r`: STRUCT<z BIGINT NOT NULL, l: ARRAY<STRING>>>, m MAP<STRING, ARRAY<FLOAT>>",
    "a: tinyint, b: smallint, c: boolean, d: date, e: binary",
    "string string, array ARRAY<BIGINT>, struct STRUCT<>",
)


def test_columns_without_a_session() -> None:
    program = (
        f"from stretto.spark.io.columns import parse_schema; print(parse_schema({DDL[2]!r}).simpleString())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    inner = "struct<name:string,q.r:struct<z:bigint,l:array<string>>>"
    assert done.stdout.strip() == f"struct<p:{inner},m:map<string,array<float>>>"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no columns"),
        ("ts", "it ends too early"),
        ("ts TIMESTAMP type STRING", "',' is missing"),
        ("ts TIMSTAMP", "unknown type 'timstamp'"),
        ("ts `string`", "unknown type"),
        ("a ARRAY<STRING", "'>' is missing"),
        ("a INT,", "it ends too early"),
        ("a INT; b INT", "unexpected ';'"),
        ("a " + "ARRAY<" * 500 + "INT" + ">" * 500, "nested too deeply"),
    ],
)
def test_what_is_no_list_of_columns(text: str, why: str) -> None:
    with pytest.raises(StrettoSparkError, match="is no list of columns") as raised:
        parse_schema(text)
    assert why in str(raised.value)


def test_names_and_types() -> None:
    assert parse_schema(DDL[1]).names == ["ts", "type", "odd `name", "n", "d"]
    assert parse_schema(DDL[1])["n"].dataType == T.DecimalType(12, 3)
