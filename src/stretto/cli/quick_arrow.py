"""Arrow without what a command does not need of it."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _Hidden(MetaPathFinder):
    """As if there were no pandas."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - Python's interface
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname, name=fullname)
        return None


def without_pandas() -> None:
    """Let Arrow look for pandas now, and find none.

    It loads pandas, if it is installed, with the first array that it makes, which takes a fifth of a second; commands
    have no object of pandas. Whoever imports it later gets it, and Arrow then takes its frames and columns.
    """
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        pa.array([0]).to_numpy()
    finally:
        sys.meta_path.remove(hidden)
