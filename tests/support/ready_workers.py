"""Python workers of Spark that have loaded the package before they are asked, for `spark.python.daemon.module`.

Spark forks its workers from one process, and each of them loads what it needs: seconds in which nothing is tested, for
every worker of every stream that the tests start. Here the process has loaded that before it forks. It must have no
threads then, so the libraries that would start some are told not to.
"""

import gc
import os
from importlib import import_module

ALONE = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
LOADED = ("pandas", "pyspark.worker", "stretto.spark", "stretto.spark.stream.unit_processor")


def main() -> None:
    """Load what workers load, then be what they are forked from."""
    os.environ |= ALONE
    for name in LOADED:
        import_module(name)
    gc.freeze()
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
