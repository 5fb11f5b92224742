"""The rules of the house: sizes, one name for one idea, papers behind their registry, docs that name what exists.

    python tools/house.py [FOLDER]

Prints a table of the rooms and every breach of a rule; the exit code is 1 if there is any.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

LONGEST_FILE: Final = 600
LONGEST_FUNCTION: Final = 60
MOST_MODULES: Final = 20
PACKAGE: Final = "stretto"
REGISTRY: Final = "stretto.plan.optimizers"
PAPERS: Final = "stretto.papers"
SYNTAX_AND_MEANING: Final = frozenset({"stretto.text.syntax", "stretto.pattern.nodes"})
"""What the text says and what it means have the same words: a name may be in both of these."""
NAMED_TWICE: Final = frozenset(["Event", "Group", "Repeat", "Source"])
"""Names that more than one idea still has. This list only gets shorter: what is renamed is taken off."""
NAMED_PATH: Final = re.compile(r"(?<![\w./*-])[\w-]+(?:/[\w.-]+)*/\w+\.py\b")


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    lines: int


@dataclass(frozen=True)
class Module:
    """A Python file: its path from the root of the project, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def name(self) -> str:
        """As it is imported, where it is in src."""
        return self.path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def in_source(self) -> bool:
        return self.path.startswith("src/")

    @property
    def is_kernel(self) -> bool:
        return "kernels" in self.path.split("/")

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        found = (
            node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        )
        return tuple(
            Function(node.name, (node.end_lineno or node.lineno) - node.lineno + 1) for node in found
        )

    @property
    def public_classes(self) -> Iterator[str]:
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name

    @property
    def imports(self) -> Iterator[str]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@dataclass(frozen=True)
class House:
    """The project at a folder."""

    root: Path

    @cached_property
    def modules(self) -> tuple[Module, ...]:
        """Every Python file of the source, the tests, the benchmarks and the tools."""
        files = (
            file
            for top in ("src", "tests", "benchmarks", "tools")
            for file in sorted((self.root / top).rglob("*.py"))
        )
        return tuple(
            Module(file.relative_to(self.root).as_posix(), file.read_text("utf-8")) for file in files
        )

    @property
    def source(self) -> Iterator[Module]:
        return (module for module in self.modules if module.in_source)

    @cached_property
    def docs(self) -> Mapping[str, str]:
        """The pages that people read, by path."""
        files = [*self.root.glob("*.md"), *(self.root / "docs").glob("*.md")]
        return {file.relative_to(self.root).as_posix(): file.read_text("utf-8") for file in sorted(files)}


# ---- rules: each yields its breaches -----------------------------------------------------------------------


def long_files(house: House) -> Iterator[str]:
    for module in house.modules:
        if module.lines > LONGEST_FILE:
            yield f"{module.path}: {module.lines} lines; {LONGEST_FILE} at most"


def long_functions(house: House) -> Iterator[str]:
    for module in house.source:
        for function in () if module.is_kernel else module.functions:
            if function.lines > LONGEST_FUNCTION:
                yield f"{module.path}: {function.name} has {function.lines} lines; {LONGEST_FUNCTION} at most"


def names_of_two_classes(house: House) -> Iterator[str]:
    for name, modules in places_of_names(house).items():
        if name not in NAMED_TWICE:
            yield f"{name}: a public class in {' and '.join(modules)}"


def places_of_names(house: House) -> dict[str, list[str]]:
    """The modules of each name that several public classes have."""
    places: dict[str, list[str]] = defaultdict(list)
    for module in house.source:
        for name in module.public_classes:
            places[name].append(module.name)
    return {
        name: modules
        for name, modules in sorted(places.items())
        if len(modules) > 1 and not SYNTAX_AND_MEANING.issuperset(modules)
    }


def papers_in_the_product(house: House) -> Iterator[str]:
    for module in house.source:
        if module.name == REGISTRY or _within(module.name, PAPERS):
            continue
        if any(_within(name, PAPERS) for name in module.imports):
            yield f"{module.path}: imports {PAPERS}, which only {REGISTRY} does"


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def commands_that_do_not_exist(house: House) -> Iterator[str]:
    """`stretto X`, `./dev X` and `--option` as the pages have them."""
    commands, words, options = stretto_commands(house), dev_words(house), known_options(house)
    for page, text in house.docs.items():
        code = "\n".join(code_of(text))
        for name in dict.fromkeys(re.findall(r"(?<![\w./-])(?<!from )stretto +([a-z][\w-]*)\b(?!\.)", code)):
            if name not in commands:
                yield f"{page}: there is no `stretto {name}`"
        for name in dict.fromkeys(re.findall(r"\./dev +([a-z][\w-]*)", code)):
            if name not in words:
                yield f"{page}: there is no `./dev {name}`"
        for name in dict.fromkeys(re.findall(r"(?<![\w-])--[a-z][\w-]*", code)):
            if name not in options:
                yield f"{page}: there is no option `{name}`"


def paths_that_do_not_exist(house: House) -> Iterator[str]:
    """`room/file.py` or `tests/room/file.py`, with or without src/stretto before it; not what a page writes itself."""
    for page, text in house.docs.items():
        named = (path for code in code_of(text) for path in NAMED_PATH.findall(code))
        for path in dict.fromkeys(named):
            places = (house.root / path, house.root / "src" / PACKAGE / path, house.root / "src" / path)
            if f"> {path}" not in text and not any(place.exists() for place in places):
                yield f"{page}: there is no `{path}`"


RULES: Final = (
    long_files,
    long_functions,
    names_of_two_classes,
    papers_in_the_product,
    commands_that_do_not_exist,
    paths_that_do_not_exist,
)


def remarks(house: House) -> Iterator[str]:
    """Worth a look, no breach: large folders, and names that could come off the list."""
    counts: dict[str, int] = defaultdict(int)
    for module in house.source:
        counts[module.folder] += not module.path.endswith("/__init__.py")
    for folder, count in counts.items():
        if count > MOST_MODULES:
            yield f"{folder}: {count} modules; folders again before there are {MOST_MODULES}"
    named = NAMED_TWICE - places_of_names(house).keys()
    if named and any(house.source):
        yield f"NAMED_TWICE lists names that one class has: {', '.join(sorted(named))}"


# ---- what there is -----------------------------------------------------------------------------------------


def code_of(page: str) -> Iterator[str]:
    """What a page writes as code: fenced blocks, and words between backticks."""
    fence = re.compile(r"^```.*?\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
    yield from fence.findall(page)
    yield from re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", fence.sub("", page))


def stretto_commands(house: House) -> frozenset[str]:
    """Those that `cli/app.py` adds: `app.command(..)(name)`, or under another name, `app.command("name")`."""
    tree = ast.parse(_text(house, "src/stretto/cli/app.py"))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Call) and _adds(node.func):
            own = [word.value for word in node.func.args if isinstance(word, ast.Constant)]
            found |= {str(word) for word in own} or {
                word.id for word in node.args if isinstance(word, ast.Name)
            }
    return frozenset(found)


def _adds(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "command"


def dev_words(house: House) -> frozenset[str]:
    """The cases of the script's last `case`."""
    return frozenset(re.findall(r"^ +([a-z][\w-]*)\) ", _text(house, "dev"), flags=re.MULTILINE))


def known_options(house: House) -> frozenset[str]:
    """Every text `--option` in the code of the commands, the benchmarks, the fuzzer and the tests' settings.

    Typer names an option after its parameter or field where no name is written, and a truth value has its `--no-`.
    """
    found = {"--help"}
    for module in house.modules:
        if module.in_source and not module.path.startswith("src/stretto/cli/"):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= (
                    set(re.findall(r"(?<![\w`-])--[a-z][\w-]*", node.value))
                    if _is_option(node.value)
                    else set()
                )
            elif module.path.startswith("src/stretto/cli/") and (name := _named(node)):
                found.add(f"--{name.replace('_', '-')}")
    return frozenset(found)


def _named(node: ast.AST) -> str:
    """The name of a parameter, or of a field of a record of options; else nothing."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.target.id if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) else ""


def _is_option(text: str) -> bool:
    """A declaration or a word of a call, `--on` or `--on/--off`, and no sentence about one."""
    return re.fullmatch(r"--[a-z][\w-]*(/--[a-z][\w-]*)?", text) is not None


def _text(house: House, path: str) -> str:
    file = house.root / path
    return file.read_text("utf-8") if file.exists() else ""


# ---- the table ---------------------------------------------------------------------------------------------


def rooms(house: House) -> Iterator[tuple[str, list[Module]]]:
    """The modules of each room: folders of the package, and the other tops."""
    found: dict[str, list[Module]] = defaultdict(list)
    for module in house.modules:
        depth = 3 if module.in_source else 1
        found["/".join(module.folder.split("/")[:depth])].append(module)
    yield from sorted(found.items(), key=lambda item: (not item[0].startswith("src"), item[0]))


def table(house: House) -> Iterator[str]:
    yield f"{'room':<24}{'files':>6}{'lines':>8}  {'longest file':<34}longest function"
    for room, modules in rooms(house):
        file = max(modules, key=lambda module: module.lines)
        functions = [function for module in modules if not module.is_kernel for function in module.functions]
        function = max(functions, key=lambda one: one.lines, default=Function("", 0))
        longest = f"{file.lines:>4} {Path(file.path).name}"
        yield (
            f"{room:<24}{len(modules):>6}{sum(module.lines for module in modules):>8,}"
            f"  {longest:<34}{function.lines:>4} {function.name}"
        )


def main(root: Path) -> int:
    house = House(root)
    print(*table(house), *remarks(house), sep="\n")
    breaches = {rule.__name__: list(rule(house)) for rule in RULES}
    for name, found in breaches.items():
        if found:
            print(f"\n{name.replace('_', ' ')}:", *(f"  {breach}" for breach in found), sep="\n")
    return int(any(breaches.values()))


if __name__ == "__main__":
    sys.exit(main(Path(*sys.argv[1:2]) if sys.argv[1:] else Path(__file__).parents[1]))
