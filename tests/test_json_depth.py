"""How deep JSON text is, against a count in plain Python."""

import json
from random import Random

import pytest

from stretto.json_depth import DEEPEST, has_half_pair, is_flat, load_json, too_deep_at

LIMIT = "[" * DEEPEST + "]" * DEEPEST


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (LIMIT, None),
        (f"[{LIMIT}]", 1),
        ('{"a":' * 50 + "[" * 51, 1),
        (json.dumps(LIMIT * 3), None),
        (json.dumps('"' + LIMIT * 3), None),
        (f'{{"a\\\\":{LIMIT}}}', 1),
        ('{"a":"' + LIMIT + "\n" + f"[{LIMIT}]", 2),
        ("\n\n" + "[\n" * 101, 103),
        ("[" * 200_000, 1),
        ("", None),
    ],
)
def test_depth(text: str, line: int | None) -> None:
    assert too_deep_at(text.encode()) == line


def test_lines_are_flat_only_where_their_stream_is() -> None:
    """Lines of brackets, strings and line ends in any order never let a deep stream through."""
    random = Random(1)
    parts = ['{"a":', "[" * 40, "]" * 40, "}", '"x{[', '"', '\\"', "\n", "\r\n", "}\n{", "1", " "]
    seen = set()
    for _ in range(3000):
        data = ("".join(random.choices(parts, k=40)) + "\n").encode()
        seen.add(is_flat(data))
        if is_flat(data):
            assert _depth_until_error(data) <= 2 * DEEPEST
    assert seen == {True, False}


def _depth_until_error(data: bytes) -> int:
    """The depth that a parser of a stream of values reaches before the first byte that cannot be."""
    open_values: list[str] = []
    deepest, inside, last = 0, False, ""
    text = data.decode()
    for i, code in enumerate(text):
        if inside:
            if code < " ":
                break
            inside = code != '"' or text[i - 1] == "\\"
            continue
        if code.isspace():
            continue
        if open_values and code in '{["' and last in ("]", "}", '"', "1"):
            break  # a value right after another one
        if code == '"':
            inside = True
        elif code in "[{":
            open_values.append(code)
        elif code in "]}" and (not open_values or open_values.pop() + code not in ("[]", "{}")):
            break
        last = code
        deepest = max(deepest, len(open_values))
    return deepest


def test_what_is_loaded() -> None:
    assert load_json('{"a": [1, "\\ud83d\\ude00"]}') == {"a": [1, "\U0001f600"]}
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        load_json("[" * 100_000)
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        load_json('{"\\udc00": 1}')
    with pytest.raises(ValueError, match="surrogates not allowed"):
        load_json('{"\ud800": 1}')


def test_halves_of_pairs() -> None:
    assert not has_half_pair(rb'"\ud83d\ude00 \\ud800 \u00e9"')
    for half in (rb"\ud800", rb"\udc00", rb"\\\ud800", rb"\ud83d\ude00\ude00", rb"\ud83d\ud83d\ude00"):
        assert has_half_pair(half), half
