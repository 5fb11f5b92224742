"""How much hypothesis tries: 50 examples a test, or STRETTO_EXAMPLES. `--bless` rewrites golden files.

Examples are new in every run; in CI, which sets the variable CI, they are the same until the code of a test changes, so
that a change is judged by itself.
"""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings
from tests.support.golden import Golden

from stretto.engine.kernels import when_to_compile
from stretto.stats import safe_estimates

# Small data is left to the kernels' NumPy twins; tests are for the kernels, unless they say otherwise.
when_to_compile.always = True
# A plan is made without an estimate that fails; in tests that is a mistake.
safe_estimates.strict = True

settings.register_profile(
    "stretto",
    max_examples=int(os.environ.get("STRETTO_EXAMPLES", "50")),
    deadline=None,  # the first call of a kernel compiles it
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    print_blob=True,
)
settings.load_profile("stretto")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bless", action="store_true", help="write golden files anew; read the diff before a commit"
    )


def pytest_collection_finish() -> None:
    """Thousands of collected tests live until the end: no garbage collection need look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """What compares texts with golden files, or writes these files."""
    return Golden(bless=request.config.getoption("--bless"))
