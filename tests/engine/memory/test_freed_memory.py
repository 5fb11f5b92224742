"""What a step frees is written to again by the next one, whatever the process did before."""

import os
import platform
import subprocess
import sys

import pytest

from stretto.engine.memory.freed_memory import TOLD_BY

ROUNDS = 20
PAGES = 10 * 128
"""Of what a round makes: ten arrays of half a megabyte."""
STEPS = f"""
from resource import RUSAGE_SELF, getrusage
import numpy as np
from stretto.engine.memory.limits import Meter

def steps():
    for _ in range({ROUNDS}):
        Meter(1 << 30).begin(0)
        arrays = [np.ones(1 << 16) for _ in range(10)]
        del arrays

steps()
before = getrusage(RUSAGE_SELF).ru_minflt
steps()
print(getrusage(RUSAGE_SELF).ru_minflt - before)
"""


def faults(**told):
    """How many pages the system gave for steps of a new process, after as many others."""
    env = {name: value for name, value in os.environ.items() if name not in TOLD_BY} | told
    done = subprocess.run([sys.executable, "-c", STEPS], env=env, capture_output=True, text=True, check=True)
    return int(done.stdout)


pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc of another C library")


def test_no_step_asks_for_the_memory_of_the_one_before():
    assert faults() < PAGES


def test_malloc_does_what_the_user_told_it():
    assert faults(MALLOC_TRIM_THRESHOLD_="131072", MALLOC_MMAP_THRESHOLD_="131072") > PAGES * (ROUNDS - 1)
