"""Functions of users on workers: those that a plan calls travel with it, pickled as PySpark pickles its own.

They are code, and reach a worker from the program that registered them alone: no text of a workload can name a file.
"""

import pickle
from dataclasses import replace

from pyspark import cloudpickle

from stretto.pattern.functions import UserFunction, keep_function, registered_functions
from stretto.plan.dag import Plan
from stretto.spark.errors import StrettoSparkError

_last = b""
"""What this process has unpickled last: micro-batches come with the same functions again and again."""


def with_functions(plan: Plan) -> Plan:
    """The plan with the functions that it calls, ready for other processes; StrettoSparkError for one that cannot go.

    Functions of a module that workers can import go by name, all others (of notebooks, scripts, `--functions`) whole.
    """
    known = registered_functions()
    if not known:
        return plan
    carried: dict[str, UserFunction] = pickle.loads(plan.functions) if plan.functions else {}  # noqa: S301 - our own
    called = {**carried, **_called(plan, known)}
    for name, function in called.items():
        try:
            _pickled(function.function)
        except Exception as error:  # whatever its parts say
            reason = f"{type(error).__name__}: {error}"
            raise StrettoSparkError(
                f"the function `{name}` cannot be sent to Spark's workers: {reason}"
            ) from error
    return replace(plan, functions=_pickled(called) if called else b"")


def _pickled(value: object) -> bytes:
    found: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return found


def _called(plan: Plan, known: dict[str, UserFunction]) -> dict[str, UserFunction]:
    """Those of the functions whose names stand in a plan, wherever in it."""
    written = pickle.dumps(plan, protocol=5)
    return {name: known[name] for name in sorted(known) if f"user:{name}".encode() in written}


def know_functions(pickled: bytes, *, anew: bool = True) -> None:
    """Register what `with_functions` added to a plan in this process; not `anew`: only what it does not have."""
    global _last  # noqa: PLW0603 - a process has one register of functions
    if not pickled or (anew and pickled == _last):
        return
    found: dict[str, UserFunction] = pickle.loads(pickled)  # noqa: S301 - as trusted as the job that sent it
    for name, function in found.items():
        keep_function(name, function, anew=anew)
    if anew:
        _last = pickled
