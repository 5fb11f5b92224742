"""The places of the engine that choose between a compiled loop and its twin, and which of these they chose in a run."""

import ast
import importlib
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import stretto
from stretto.engine.kernels import when_to_compile

NAME = when_to_compile.is_due.__name__
Site = tuple[str, str, int]
"""A module, a function with the class that it is in, and the number of the call in it."""
Choice = tuple[Site, bool]


def call_lines() -> dict[str, dict[int, Site]]:
    """Return the calls of `is_due` by module and line, as the source has them."""
    root = Path(stretto.__file__).parent
    found: dict[str, dict[int, Site]] = {}
    for path in sorted(root.rglob("*.py")):
        text = path.read_text("utf-8")
        if NAME not in text:
            continue
        module = ".".join((root.name, *path.relative_to(root).with_suffix("").parts))
        counts: dict[str, int] = {}
        for function, line in sorted(_calls(ast.parse(text), ""), key=lambda call: call[1]):
            counts[function] = counts.get(function, 0) + 1
            found.setdefault(module, {})[line] = module, function, counts[function]
    return found


def _calls(node: ast.AST, function: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        inside = function
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inside = f"{function}.{child.name}".lstrip(".")
        if isinstance(child, ast.Call) and ast.unparse(child.func).split(".")[-1] == NAME:
            yield function, child.lineno
        yield from _calls(child, inside)


@contextmanager
def recorded_choices() -> Iterator[set[Choice]]:
    """Yield a set that fills with every choice that is made meanwhile."""
    lines, choices = call_lines(), set[Choice]()
    is_due = when_to_compile.is_due

    def recording(kernel: Any, work: int) -> bool:
        due = is_due(kernel, work)
        frame = sys._getframe(1)
        choices.add((lines[frame.f_globals["__name__"]][frame.f_lineno], due))
        return due

    with ExitStack() as stack:
        for module in lines:
            stack.enter_context(mock.patch.object(importlib.import_module(module), NAME, recording))
        yield choices
