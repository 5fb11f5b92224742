"""How much hypothesis tries: `dev` by default, `ci` where CI=true. STRETTO_BLESS=1 rewrites golden files."""

import os

from hypothesis import HealthCheck, settings

from stretto.engine.kernels import patience

# Small data is left to the kernels' NumPy twins; tests are for the kernels, unless they say otherwise.
patience.always = True

# The first call of a kernel compiles it, so no example has a deadline.
quiet = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=50, **quiet)
settings.register_profile("ci", max_examples=500, **quiet)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "dev")
