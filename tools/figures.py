"""Figures of the pages: every measured number in README.md and docs/benchmarks.md comes from a stored result.

    python tools/figures.py            check the pages; exit code 1 and a list if a figure is wrong or unmarked
    python tools/figures.py --write    write the stored results into the pages

Markers, which are HTML comments, say where a number comes from:

    1.09<!-- = adapting.json#/ratios/adapts/1 .2f -->

    <!-- figures
    file: detect.json
    rows: W1 | W2
    Polars: #/cells/workload={row},contestant=polars/cpu / #/cells/workload={row},contestant=stretto/cpu .2f
    -->
    | workload | Polars |
    | --- | --- |
    | sequence | 2.66 |
    | ten sequences | 3.34 |

The second kind stands above a table. Each of its lines fills the column with that heading: with one marker, in which
`{row}` stands for the values of `rows` in order, or with a marker for each row and `|` between them. `-` leaves a
cell as it is. Cells without a marker are written by hand and may hold no measured number.

A third kind, `<!-- missed goals: detect.json keep.json -->`, stands above a table that is written as a whole: a row
for each entry of `goals` in these files whose `reached` is false.

A path goes through a JSON file by keys and indexes. On a list, `name=value,..` selects the entries with these
values, and `*` selects all entries. Quotes protect spaces, commas and slashes: `name='Spark, local[2]'`.
Operands are combined by `/`, `*`, `+` and `-`, from left to right and entry by entry. A word in front makes one number
of several: `median`, `max`, `min`, `sum`, `count`, or `below-zero` (how many are negative). The last word is the
format: Python's, with `k` or `M` for thousands and millions; `s` is text. `else n/a` behind the format stands for a
value that is not stored.
"""

import json
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = ("README.md", "docs/benchmarks.md")
INLINE: Final = re.compile(r"(?P<shown>\d[\d,.]*[%kM]?)<!--\s+=\s+(?P<marker>[^>]+?)\s*-->")
TABLE: Final = re.compile(r"<!-- figures\n(?P<lines>(?:(?!-->).)*)-->\n(?P<table>(?:\|[^\n]*\n)+)", re.DOTALL)
GOALS: Final = re.compile(
    r"(?P<marker><!-- missed goals: (?P<files>[\w. -]+?) -->\n)(?P<table>(?:\|[^\n]*\n)+)"
)
WORD: Final = re.compile(r"(?:[^\s']|'[^']*')+")
SEGMENT: Final = re.compile(r"/((?:[^/']|'[^']*')+)")
SETTING: Final = re.compile(r"([^=,]+)=((?:[^,']|'[^']*')*)(?:,|$)")
FORMAT: Final = re.compile(r"(,?(?:\.\d)?[df%]|s)([kM]?)")
OPERATIONS: Final[Mapping[str, Callable[[float, float], float]]] = {
    "/": lambda left, right: left / right,
    "*": lambda left, right: left * right,
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
}
SUMMARIES: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "median": statistics.median,
    "max": max,
    "min": min,
    "sum": sum,
    "count": len,
    "below-zero": lambda values: sum(value < 0 for value in values),
}
SCALES: Final = {"": 1.0, "k": 1e3, "M": 1e6}
COUNTED: Final = (
    "attributes|cells|cores?|engines|events|joins|levels|members|micro-batches|papers|patterns|plans|points|queries|"
    "readings|rounds|rows|rules|runs|seeds|sets|slices|streams|types|units|windows|workers|workloads"
)
NO_MEASUREMENTS: Final[Mapping[str, str]] = {
    "date": r"\b\d{4}-\d{2}-\d{2}\b",
    "version": (
        r"\b(?:Python|Java|Spark|PySpark|Polars|DuckDB|Zen|Apache-)\s?\d+(?:\.\d+)*"
        r"(?: or \d+)?(?=[,.;)]|\s(?:or|and|with|on)\b|\s*\||$)"
    ),
    "name with a number": r"\b[A-Za-z]+\d+\b",
    "figure of a paper": r"\b\d{1,2}[a-f]\b|\b4\+",
    "query of a paper": r"\b(?:Citi|Google) \d\b",
    "year": r"\b20[0-2]\d\b(?![.,]\d)",
    "goal": r"\bgoals?:? (?:at most |at least |of )?\d+(?:\.\d+)?%?",
    "seed": r"\bseed \d+",
    "size of an experiment": (
        rf"(?<![\d.,])\b\d[\d,]*(?: million| or more| to \d+)?"
        rf" (?:(?:different|random|similar|trend) )?(?:{COUNTED})\b(?! per)"
    ),
    "limit of the language": r"\bat most \d[\d,]* (?:levels|alternatives)",
}
"""Kinds of numbers that need no marker, as regular expressions. A measured number must match none of them."""


class FigureError(Exception):
    """A marker that names no stored value, or a page that does not fit its markers."""


@dataclass(frozen=True)
class Results:
    """The stored results of a folder, each file read once."""

    folder: Path
    _files: dict[str, object] = field(default_factory=dict)

    def values(self, path: str) -> list[object]:
        """Return the values that a path selects; `path` is `FILE.json#/key/index/name=value/..`."""
        file, _, pointer = path.partition("#")
        if file not in self._files:
            stored = self.folder / file
            self._files[file] = json.loads(stored.read_text("utf-8")) if stored.is_file() else None
        selected = [self._files[file]]
        for segment in SEGMENT.findall(pointer):
            selected = [entry for value in selected for entry in _entries(value, segment)]
        return selected


def _entries(value: object, segment: str) -> Iterator[object]:
    """Yield the entries of a JSON value that one segment of a path selects; none if it has no such entry."""
    name = segment.replace("'", "")
    if isinstance(value, dict) and name in value:
        yield value[name]
    elif isinstance(value, dict) and name == "*":
        yield from value.values()
    elif isinstance(value, list) and name == "*":
        yield from value
    elif isinstance(value, list) and name.isdigit():
        yield from value[int(name) : int(name) + 1]
    elif isinstance(value, list) and "=" in segment:
        settings = [(key, text.replace("'", "")) for key, text in SETTING.findall(segment)]
        for entry in value:
            if isinstance(entry, dict) and all(str(entry.get(key)) == text for key, text in settings):
                yield entry


def figure(marker: str, results: Results, default_file: str = "") -> str:
    """Return the text of the number that a marker describes."""
    body, _, missing = marker.partition(" else ")
    *words, shape = WORD.findall(body)
    kind = FORMAT.fullmatch(shape)
    if "#" not in body:
        raise FigureError(f"`{marker}` names no stored value, such as `detect.json#/seed`")
    if kind is None or not words:
        raise FigureError(f"`{marker}` does not end with a format such as `.2f`, `,d`, `.0%`, `.1fM` or `s`")
    summary = SUMMARIES[words.pop(0)] if words[0] in SUMMARIES else None
    values = _operand(words[0], results, default_file)
    for operator, operand in zip(words[1::2], words[2::2], strict=True):
        if operator not in OPERATIONS:
            raise FigureError(f"`{operator}` in `{marker}` is none of {', '.join(OPERATIONS)}")
        values = _combined(OPERATIONS[operator], values, _operand(operand, results, default_file), marker)
    values = [value for value in values if value is not None]
    if summary is not None and values:
        values = [summary([_number(value, marker) for value in values])]
    if not values and missing:
        return missing.strip()
    files = {word.partition("#")[0] for word in words if "#" in word} - {""} or {default_file}
    if not values and not all((results.folder / file).is_file() for file in files):
        raise FigureError(f"there is no result file `{' or '.join(sorted(files))}` (in `{marker}`)")
    if len(values) != 1:
        raise FigureError(f"`{marker}` selects {len(values)} values; name exactly one stored value")
    spec, scale = kind.groups()
    if spec == "s":
        return str(values[0])
    number = _number(values[0], marker) / SCALES[scale]
    return format(round(number) if spec.endswith("d") else number, spec) + scale


def _operand(word: str, results: Results, default_file: str) -> list[object]:
    if re.fullmatch(r"\d+(\.\d+)?", word):
        return [float(word)]
    return results.values(default_file + word if word.startswith("#") else word)


def _combined(
    operation: Callable[[float, float], float], left: list[object], right: list[object], marker: str
) -> list[object]:
    """Combine two lists entry by entry; one value goes with every entry of the other list.

    An entry that is null, or divided by zero, is left out: nothing was measured there.
    """
    if not left or not right:
        return []
    if len(left) == 1:
        left = left * len(right)
    if len(right) == 1:
        right = right * len(left)
    if len(left) != len(right):
        raise FigureError(f"`{marker}` combines {len(left)} with {len(right)} values")
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if a is not None and b is not None]
    numbers = [(_number(a, marker), _number(b, marker)) for a, b in pairs]
    return [operation(a, b) for a, b in numbers if b or operation is not OPERATIONS["/"]]


def _number(value: object, marker: str) -> float:
    if not isinstance(value, int | float):
        raise FigureError(f"`{marker}` selects `{value!r:.40}`, which is no number")
    return value


@dataclass(frozen=True)
class Table:
    """A table of a page with its marker: which columns are filled from which stored values."""

    lines: str
    table: str

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The lines of the marker by their first word or column heading; a line that begins with blanks goes on."""
        lines = re.sub(r"\n +", " ", self.lines.strip()).splitlines()
        pairs = [line.partition(": ") for line in lines]
        return {_plain(name.strip()): text.strip() for name, _, text in pairs}

    def markers(self, column: str, rows: int) -> list[str]:
        """Return the marker of each cell of a column; `-` leaves a cell as it is."""
        texts = self._list(column)
        if len(texts) == 1 and "{row}" in texts[0]:
            texts = [texts[0].replace("{row}", row) for row in self._list("rows")]
        if len(texts) != rows:
            raise FigureError(f"`{column}` has {len(texts)} markers for the {rows} rows of the table")
        return texts

    def _list(self, name: str) -> list[str]:
        return [text.strip() for text in self.settings.get(name, "").split("|")]

    def written(self, results: Results, cell: Callable[[str], str] = lambda text: text) -> str:
        """Return the table with the stored values in its marked cells, each passed through `cell`."""
        head, rule, *body = self.table.splitlines()
        headings = [_plain(name) for name in _cells(head)]
        rows = [_cells(line) for line in body]
        for name in self.settings.keys() - {"file", "rows"}:
            if name not in headings:
                raise FigureError(f"no column is headed `{name}` in the table {head}")
            column = headings.index(name)
            for texts, marker in zip(rows, self.markers(name, len(body)), strict=True):
                if marker != "-":
                    texts[column] = cell(figure(marker, results, self.settings.get("file", "")))
        lines = [head, rule, *(f"| {' | '.join(texts)} |" for texts in rows)]
        return "\n".join(lines) + "\n"


def missed_goals(files: Sequence[str], results: Results) -> str:
    """Return the table of the goals that the result files say were missed, in the order of the files."""
    rows = []
    for file in files:
        experiment = file.removesuffix(".json")
        goals = results.values(f"{file}#/goals/*")
        if not results.values(f"{file}#/goals"):
            rows.append(f"| `{experiment}` | no goals are stored | | |")
        for goal in goals:
            if isinstance(goal, dict) and not goal["reached"]:
                limit = f"{'at most' if goal['at_most'] else 'at least'} {goal['goal']:g}"
                rows.append(f"| `{experiment}` | {goal['name']} | {limit} | {goal['value']:.2f} |")
    return "\n".join(["| experiment | what | goal | measured |", "| --- | --- | --- | --- |", *rows]) + "\n"


def _cells(line: str) -> list[str]:
    return [text.strip() for text in line.strip().strip("|").split("|")]


def _plain(heading: str) -> str:
    return heading.replace("`", "")


def written(page: str, results: Results) -> str:
    """Return the page with every marked number as it is stored."""
    page = GOALS.sub(lambda hit: hit["marker"] + missed_goals(hit["files"].split(), results), page)
    page = TABLE.sub(
        lambda hit: hit[0].removesuffix(hit["table"]) + Table(hit["lines"], hit["table"]).written(results),
        page,
    )
    return INLINE.sub(
        lambda hit: hit[0].replace(hit["shown"], figure(_one_line(hit["marker"]), results), 1), page
    )


def _one_line(marker: str) -> str:
    return re.sub(r"\s+", " ", marker)


def unmarked(page: str, results: Results) -> Iterator[str]:
    """Yield a sentence for each number that has no marker and is of no kind that needs none."""
    text = re.sub(r"^```.*?^```", _blank, page, flags=re.MULTILINE | re.DOTALL)
    text = GOALS.sub(_blank, text)
    text = TABLE.sub(
        lambda hit: (
            _blank(hit[0].removesuffix(hit["table"]))
            + Table(hit["lines"], hit["table"]).written(results, lambda _: "-")
        ),
        text,
    )
    text = INLINE.sub(_blank, text)
    for hidden in (r"<!--.*?-->", r"`[^`]*`", r"\]\([^)]*\)"):
        text = re.sub(hidden, _blank, text, flags=re.DOTALL)
    flat = text.replace("\n", " ")
    for kind in NO_MEASUREMENTS.values():
        flat = re.sub(kind.replace(" ", r"\s+"), _blank, flat)
    starts = [0, *(end.end() for end in re.finditer("\n", text)), len(text)]
    for number, (start, end) in enumerate(pairwise(starts), start=1):
        for hit in re.finditer(r"\d[\d.,]*", flat[start:end]):
            yield f"line {number}: `{hit[0].rstrip('.,')}` has no marker: {text[start:end].strip()}"


def _blank(hit: "re.Match[str] | str") -> str:
    """Return as many blanks as the text has characters, with its line ends."""
    return re.sub(r"[^\n]", " ", hit if isinstance(hit, str) else hit[0])


def faults(page: str, results: Results) -> Iterator[str]:
    """Yield a sentence for each number of the page that differs from its stored value or has no marker."""
    right = written(page, results)
    markers = len(re.findall(r"<!--\s+(?:=|figures|missed goals)", page))
    if markers != sum(len(kind.findall(page)) for kind in (INLINE, TABLE, GOALS)):
        yield "a marker stands neither behind a number nor above a table"
    shown, stored = page.splitlines(), right.splitlines()
    for kind, first, last, begin, end in SequenceMatcher(None, shown, stored, autojunk=False).get_opcodes():
        for number in range(max(last - first, end - begin) if kind != "equal" else 0):
            here, there = (
                "".join(lines[start + number : stop][:1]).strip()
                for lines, start, stop in ((shown, first, last), (stored, begin, end))
            )
            yield f"line {first + number + 1} is `{here}`; the results say `{there}`"
    yield from unmarked(right, results)


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    results = Results(root / "benchmarks" / "results")
    failed = False
    for name in PAGES:
        file = root / name
        page = file.read_text("utf-8")
        try:
            if "--write" in arguments:
                page = written(page, results)
                file.write_text(page, "utf-8")
            sentences = list(faults(page, results))
        except FigureError as error:
            sentences = [str(error)]
        for sentence in sentences:
            print(f"{name}: {sentence}")
        failed = failed or bool(sentences)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
