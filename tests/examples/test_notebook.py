"""The notebook of the examples: its cells run in their order, and what they show can be shown."""

import ast
import json
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[2] / "examples" / "tour.ipynb"


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """The value of a cell's last line, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_the_cells_run_in_order() -> None:
    book = json.loads(NOTEBOOK.read_text())
    assert book["nbformat"] == 4
    names: dict[str, Any] = {}
    shown = []
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            value = run_cell("".join(cell["source"]), names)
            for show in ("_repr_html_", "_repr_mimebundle_"):
                if hasattr(value, show):
                    shown.append((type(value).__name__, str(getattr(value, show)())))
    kinds = [kind for kind, _ in shown]
    assert kinds == ["DataFrame", "Workload", "Plan", "Matches", "DataFrame", "DataFrame", "DataFrame"]
    assert "QUERY relay" in shown[1][1]
    assert "svg" in shown[2][1]
    assert min(names["matches"].counts().values()) > 0
