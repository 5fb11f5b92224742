"""Errors of the Spark room: PySpark's and Stretto's at once, and failures in workers as one clear message.

What goes wrong in a Python worker reaches the driver as text inside of Spark's own errors, between stack traces of two
languages. A worker therefore puts what happened between two marks, so that the driver finds it again in any text.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final
from urllib.parse import unquote, urlsplit

from pyspark.errors import PySparkException

from stretto.errors import StrettoError

SHOWN_QUERIES: Final = 5
LONGEST: Final = 2_000
"""Characters of a message; the rest of a longer one is left out."""
TRACE: Final = "Traceback (most recent call last)"
RAISED: Final = re.compile(r"^(?:\w+\.)*(\w+(?:Error|Exception)\b.*)$", re.MULTILINE)
"""The last line of a Python trace."""
UNREAD: Final = re.compile(
    r"\[FAILED_READ_FILE\.\w+\] Encountered error while reading file (\S+?)\.\s([^\n]*)"
)
DAMAGED: Final = (
    "not a readable file of events, or damaged (--source-option ignoreCorruptFiles=true leaves those out)"
)
MISSING: Final = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
WITHOUT: Final = (
    "Spark's workers have no package `{}`: set PYSPARK_PYTHON to the Python of an environment on the executors that has"
    " stretto[spark], or send one along (spark.archives)"
)
TOO_SLOW: Final = "Python worker failed to connect back"
"""Spark gives the Python process of a stateful stream ten seconds to start, and one trial."""
PIPELINES: Final = {
    "ATTEMPT_ANALYSIS_IN_PIPELINE_QUERY_FUNCTION": (
        "in the query function of a pipeline no column can be looked up: call stretto.spark.detect at the level of the"
        " module (matches_of and trends_of too), and return its DataFrame from the function"
    ),
    "SESSION_MUTATION_IN_DECLARATIVE_PIPELINE": (
        "a pipeline may not change its session: set spark.sql.streaming.stateStore.providerClass to"
        " org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider in its configuration"
        " (spark-pipeline.yml)"
    ),
}
"""What Spark's Declarative Pipelines refuse, and what to do then."""
MARKED: Final = re.compile(r"\[stretto\] (.*?) \[/stretto\]", re.DOTALL)


class StrettoSparkError(PySparkException, StrettoError):
    """An error that Stretto raises on purpose in a Spark job."""

    def __init__(self, message: str) -> None:
        PySparkException.__init__(self, message=message)
        self.args = (message,)  # so that it can be pickled

    def __str__(self) -> str:
        return str(self._message)

    def getMessage(self) -> str:  # noqa: N802 - PySpark's name
        return str(self._message)


class SlowStartError(StrettoSparkError):
    """A Python process of Spark's did not start in time: another trial may do."""

    def __init__(self) -> None:
        super().__init__(
            "a Python process of the stream did not start within the ten seconds that Spark gives it: the machine is"
            " too busy"
        )

    def __reduce__(self) -> tuple[type["SlowStartError"], tuple[()]]:
        return SlowStartError, ()


class WorkerError(StrettoError):
    """What stopped a worker; the driver finds its text again by the marks around it."""

    def __init__(self, step: str, queries: Sequence[str], message: str) -> None:
        self.step, self.queries, self.message = step, tuple(queries), message
        super().__init__(step, self.queries, message)

    def __str__(self) -> str:
        return f"[stretto] {worker_text(self.step, self.queries, self.message)} [/stretto]"


@contextmanager
def at_work(step: str, queries: Sequence[str]) -> Iterator[None]:
    """In a worker: whatever goes wrong in here names the step, the queries and the reason, in one message.

    `step` says what was done, such as `finding matches in slice 3`. The engine's own errors name the operator and its
    queries already and keep their text.
    """
    try:
        yield
    except (WorkerError, GeneratorExit):
        raise
    except StrettoError as error:
        text = str(error)
        named = any(query in text for query in queries)
        raise WorkerError(step, () if named else queries, text) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise WorkerError(step, queries, reason) from error


@contextmanager
def clear_failures() -> Iterator[None]:
    """In the driver: a failure that a worker described comes out as a StrettoSparkError with that text alone."""
    try:
        yield
    except StrettoSparkError:
        raise
    except Exception as error:
        clear = failure_in(error)
        if clear is None:
            raise
        raise clear from None


def failure_in(error: BaseException) -> StrettoSparkError | None:
    """What a worker said about an error that Spark raised; None where none of our workers is behind it."""
    text = "\n".join(map(str, _behind(error)))
    found = MARKED.search(text)
    if found is not None:
        return StrettoSparkError(found[1])
    if TOO_SLOW in text:
        return SlowStartError()
    for condition, advice in PIPELINES.items():
        if condition in text:
            return StrettoSparkError(advice)
    missing = MISSING.search(text)
    return None if missing is None else StrettoSparkError(WITHOUT.format(missing[1]))


@contextmanager
def plain_failures() -> Iterator[None]:
    """The same, and what Spark itself says against a call comes out as one sentence too."""
    try:
        with clear_failures():
            yield
    except StrettoError:
        raise
    except PySparkException as error:
        raise StrettoSparkError(said_by_spark(error)) from error


def said_by_spark(error: PySparkException) -> str:
    """What an error of Spark's says in one line, without where in the plan, and without the traces of two languages."""
    text = str(error.getMessage() or error).partition("=== Streaming Query ===")[0]
    unread = UNREAD.search(text)
    if unread is not None:
        name, reason = unquote(urlsplit(unread[1]).path), _sentence(unread[2])
        return f"{name}: {reason or DAMAGED}"
    raised = RAISED.search(text) if TRACE in text else None
    return _sentence(raised[1] if raised is not None else text.strip().split("\n\n", maxsplit=1)[0])


def _sentence(text: str) -> str:
    return re.sub(r"\s*SQLSTATE: \w+\s*$", "", " ".join(text.split()))


def worker_text(step: str, queries: Sequence[str], message: str) -> str:
    """One message: what was done, what went wrong, and which queries are concerned."""
    short = message if len(message) <= LONGEST else f"{message[:LONGEST]} .."
    shown = ", ".join(queries[:SHOWN_QUERIES])
    more = f" and {len(queries) - SHOWN_QUERIES:,} more" if len(queries) > SHOWN_QUERIES else ""
    return f"{step}: {short}" + (f" (queries: {shown}{more})" if queries else "")


def _behind(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it came from."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
