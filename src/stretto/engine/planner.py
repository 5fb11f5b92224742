"""A plan in the making, while events are still run by another one."""

from collections.abc import Callable
from threading import Thread
from time import perf_counter

from stretto.pattern.workload import Workload
from stretto.plan.dag import Plan


class Planner:
    """Makes a plan for a workload: on another thread, or at once."""

    def __init__(self, task: Callable[[], Plan], workload: Workload, *, background: bool) -> None:
        self.workload = workload
        self.seconds = 0.0
        self._task = task
        self._made: Plan | BaseException | None = None
        if background:
            # A daemon: a process that has read all its events need not wait for a plan that nobody will run.
            Thread(target=self._run, name="planner", daemon=True).start()
        else:
            self._run()

    @property
    def done(self) -> bool:
        """Whether the plan is there, or cannot be made."""
        return self._made is not None

    def plan(self) -> Plan:
        """The plan, when it is done; what went wrong is raised here."""
        made = self._made
        assert made is not None
        if isinstance(made, BaseException):
            raise made
        return made

    def _run(self) -> None:
        begun = perf_counter()
        try:
            made: Plan | BaseException = self._task()
        except BaseException as error:  # noqa: BLE001  it is raised where the plan is asked for
            made = error
        self.seconds = perf_counter() - begun
        self._made = made
