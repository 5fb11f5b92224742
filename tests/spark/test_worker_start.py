"""Every Python worker of Spark loads these modules before its first row: nothing that only drivers need."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["batch.worker", "stream.processor", "stream.unit_processor"])
def test_a_worker_loads_no_planner_and_no_compiler(module: str) -> None:
    code = f"import sys, stretto.spark.{module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    drivers = {
        "stretto.plan.optimize",
        "stretto.papers",
        "stretto.spark.setup.session",
        "stretto.engine.trends",
    }
    assert not loaded & {"numba", "typer", "rich", *drivers}


def test_the_names_of_the_room() -> None:
    code = "import stretto.spark as room; print(*(getattr(room, name).__name__ for name in room.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"detect", "aggregate", "profile", "session"} <= set(done.stdout.split())
