"""Commands leave pandas alone, and who needs it afterwards has it."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
from pathlib import Path
from stretto.cli.main import main

Path("e.csv").write_text("ts,type\\n1700000000,A\\n1700000001,B\\n")
Path("q.cep").write_text("QUERY q PATTERN SEQ(A a, B b) WITHIN 5 s RETURN *;")
sys.argv = ["stretto", "run", "q.cep", "--events", "e.csv", "--out", "m.jsonl"]
try:
    main()
except SystemExit as end:
    assert not end.code
assert "pandas" not in sys.modules
import pandas as pd
import pyarrow as pa

frame = pa.table({"a": [1, 2]}).to_pandas()
assert pa.table(frame)["a"].to_pylist() == pa.array(pd.Series([1, 2])).to_pylist() == [1, 2]
"""


def test_pandas_is_not_loaded_and_can_be(tmp_path) -> None:
    pytest.importorskip("pandas")
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, check=True)
