"""Loops are compiled when they are called, and so are those that they call."""

import pickle
import subprocess
import sys

import pytest

from stretto.engine.derived.kernels import exact_sums
from stretto.engine.derived.kernels.exact_sums import sum_levels
from stretto.values.loops import Loop, loop


@loop
def twice(x: int) -> int:
    return 2 * x


@loop
def more(x: int) -> int:
    """Calls another one."""
    return twice(x) + 1


def test_a_loop_that_calls_another() -> None:
    assert isinstance(more, Loop)
    assert more.__doc__ == "Calls another one."
    assert more.signatures == []
    assert more(3) == 7
    assert len(more.signatures) == 1
    assert more.py_func(4) == 9
    assert twice(5) == 10


def test_a_loop_is_pickled_by_its_name() -> None:
    """Also one that another loop has called by now: a module then has what Numba made of it."""
    kept = sum_levels
    assert pickle.loads(pickle.dumps(kept)) is exact_sums.sum_levels
    compiled = kept.compiled  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exact_sums, "sum_levels", compiled)
        assert pickle.loads(pickle.dumps(kept)) is compiled


def test_the_compiler_is_loaded_by_the_first_call() -> None:
    code = """
import sys
import stretto.engine.run, stretto.engine.derived.front, stretto.values.evaluate
print('numba' in sys.modules)
import numpy as np
from stretto.values.reduce import ALL_PRESENT, sum_ints
print(sum_ints(np.array([0, 2]), np.array([3, 4]), ALL_PRESENT)[0], 'numba' in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "[7]", "True"]
