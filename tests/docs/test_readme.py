"""The README tells the truth: its example prints what stands below it, its mistake reads as shown."""

import re
import subprocess
import sys
from pathlib import Path

from stretto.pattern.workload import check
from stretto.schema import Kind, Schema

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_example_prints_what_is_shown() -> None:
    examples = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.DOTALL)
    assert len(examples) == 2
    for code, shown in examples:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == shown


def test_the_mistake_reads_as_shown() -> None:
    text = "QUERY q PATTERN SEQ(A a, B b)\nWHERE a.prise < b.price\nWITHIN 1 s;\n"
    (mistake,) = check(text, "fraud.cep", Schema({"price": Kind.FLOAT}))
    assert f"```\n{mistake.show(text, 'fraud.cep')}\n```" in README
