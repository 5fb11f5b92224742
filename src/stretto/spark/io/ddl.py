"""Columns as Spark writes them, read without a session: `StructType.fromDDL` needs one, and a call is judged before."""

import re
from collections.abc import Mapping
from typing import Final

from pyspark.sql import types as T  # noqa: N812 - as everybody calls it

_TOKEN: Final = re.compile(
    r"\s*(?:`((?:[^`]|``)+)`|(\w+)|('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|([<>(),:]))"
)
_PLAIN: Final[Mapping[str, T.DataType]] = {
    "string": T.StringType(),
    "boolean": T.BooleanType(),
    "tinyint": T.ByteType(),
    "byte": T.ByteType(),
    "smallint": T.ShortType(),
    "short": T.ShortType(),
    "int": T.IntegerType(),
    "integer": T.IntegerType(),
    "bigint": T.LongType(),
    "long": T.LongType(),
    "float": T.FloatType(),
    "real": T.FloatType(),
    "double": T.DoubleType(),
    "date": T.DateType(),
    "timestamp": T.TimestampType(),
    "timestamp_ltz": T.TimestampType(),
    "timestamp_ntz": T.TimestampNTZType(),
    "binary": T.BinaryType(),
}
_DECIMALS: Final = ("decimal", "dec", "numeric")
DEEPEST: Final = 50


def columns_of_ddl(text: str) -> T.StructType:
    """The columns of a text such as `ts TIMESTAMP, p STRUCT<name: STRING>`; ValueError where it is none."""
    reader = _Reader(text)
    found = reader.columns("", 0)
    if not found.fields:
        raise ValueError("no columns")
    return found


class _Reader:
    """Reads from the left; what is quoted is a name or a comment, never a word of the language."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        at, text = 0, text.strip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"unexpected {text[at]!r}")
            quoted, word, comment, sign = found.groups()
            kinds = {"quoted": quoted, "word": word, "comment": comment, "sign": sign}
            self._tokens.append(next((kind, one) for kind, one in kinds.items() if one is not None))
            at = found.end()
        self._at = 0

    def columns(self, end: str, depth: int) -> T.StructType:
        """Columns up to a sign, or up to the end of the text."""
        fields: list[T.StructField] = []
        while not self._took(end) if end else self._at < len(self._tokens):
            if fields:
                self._need(",")
            fields.append(self._column(depth))
        return T.StructType(fields)

    def _column(self, depth: int) -> T.StructField:
        kind, name = self._next()
        if kind not in ("quoted", "word"):
            raise ValueError(f"{name!r} is no name")
        self._took(":")
        found = self._type(depth)
        null = not self._took("not")
        if not null:
            self._need("null")
        told = None
        if self._took("comment"):
            told = {"comment": self._next()[1][1:-1]}
        return T.StructField(name.replace("``", "`"), found, null, told)

    def _type(self, depth: int) -> T.DataType:
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        kind, word = self._next()
        word = word.lower() if kind == "word" else ""
        if word == "array":
            self._need("<")
            element = self._type(depth + 1)
            self._need(">")
            return T.ArrayType(element)
        if word == "map":
            self._need("<")
            key = self._type(depth + 1)
            self._need(",")
            value = self._type(depth + 1)
            self._need(">")
            return T.MapType(key, value)
        if word == "struct":
            self._need("<")
            return self.columns(">", depth + 1)
        if word in _DECIMALS:
            return T.DecimalType(*self._sizes(2))
        if word in ("char", "varchar"):
            self._sizes(1)
            return T.StringType()
        if word not in _PLAIN:
            raise ValueError(f"unknown type {word!r}")
        return _PLAIN[word]

    def _sizes(self, most: int) -> list[int]:
        found: list[int] = []
        if self._took("("):
            while not self._took(")"):
                if found:
                    self._need(",")
                found.append(int(self._next()[1]))
        if len(found) > most:
            raise ValueError("too many sizes")
        return found

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise ValueError("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _took(self, word: str) -> bool:
        """Whether a word or a sign stands here; it is read then."""
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind in ("word", "sign") and text.lower() == word:
                self._at += 1
                return True
        return False

    def _need(self, word: str) -> None:
        if not self._took(word):
            raise ValueError(f"{word!r} is missing")
