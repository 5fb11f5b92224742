"""The default bound on memory, from files as Linux writes them."""

import pyarrow as pa
import pytest

from stretto import Engine, Schema, Workload, optimize
from stretto.engine import run as run_module
from stretto.engine.memory.available import LEAST, available_bytes, default_memory_bytes

GIB = 1 << 30


@pytest.fixture
def files(tmp_path):
    """Writes the files of a machine and its cgroups below a root folder."""

    def machine(gib, cgroup, folders):
        written = {
            "proc/meminfo": f"MemTotal: 99999999 kB\nMemAvailable: {gib << 20} kB\n",
            "proc/self/cgroup": cgroup,
        }
        for folder, texts in folders.items():
            written |= {f"sys/fs/cgroup/{folder}/{name}": text for name, text in texts.items()}
        for name, text in written.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(str(text))
        return tmp_path

    return machine


def v2(limit, current, cache=0):
    return {"memory.max": limit, "memory.current": current, "memory.stat": f"anon 5\ninactive_file {cache}\n"}


def v1(limit, usage, cache=0):
    return {
        "memory.limit_in_bytes": limit,
        "memory.usage_in_bytes": usage,
        "memory.stat": f"inactive_file 3\ntotal_inactive_file {cache}\n",
    }


@pytest.mark.parametrize(
    ("cgroup", "folders", "gib"),
    [
        ("", {}, 16),
        ("0::/", {}, 16),
        ("0::/", {".": v2("max", 5 * GIB)}, 16),
        ("0::/", {".": v2(4 * GIB, 1 * GIB)}, 3),  # a container with its own namespace
        ("0::/", {".": v2(4 * GIB, 3 * GIB, cache=2 * GIB)}, 3),  # pages of files that the kernel can drop
        ("0::/a/b", {"a": v2(6 * GIB, 4 * GIB), "a/b": v2(5 * GIB, 1 * GIB)}, 2),  # the enclosing one is full
        ("0::/a/b", {"a/b": v2(100 * GIB, 1 * GIB)}, 16),
        ("0::/host/path", {".": v2(2 * GIB, 0)}, 2),  # the path is that of the host
        ("0::/../..", {".": v2(2 * GIB, 0)}, 2),
        ("0::/a", {"unified/a": v2(2 * GIB, 0)}, 2),
        ("5:cpu,memory:/d\n1:name=systemd:/d", {"memory/d": v1(8 * GIB, 3 * GIB, cache=1 * GIB)}, 6),
        ("5:memory:/d", {"memory": v1(9223372036854771712, 3 * GIB), "memory/d": v1(8 * GIB, 0)}, 8),
        ("5:memory:/d\n0::/d", {"memory/d": v1(9223372036854771712, 3 * GIB)}, 16),
        ("5:memory:/docker/0123", {"memory": v1(3 * GIB, 1 * GIB)}, 2),
        ("0::/", {".": v2(2 * GIB, 3 * GIB)}, 0),
        ("nonsense", {".": v2("nonsense", "")}, 16),
    ],
)
def test_what_is_available(files, cgroup, folders, gib):
    root = files(16, cgroup, folders)
    assert available_bytes(root) == gib * GIB
    assert default_memory_bytes(root=root) == max(gib * GIB // 2, LEAST)
    assert default_memory_bytes(4, root) == max(gib * GIB // 8, LEAST)


def test_without_files_the_machine_tells(tmp_path):
    assert available_bytes(tmp_path) > 0


def test_a_bound_on_the_process_counts(files, monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1 * GIB, 1 * GIB))
    assert default_memory_bytes(root=files(16, "", {})) == GIB // 2


def test_the_users_setting_wins(monkeypatch):
    events = pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "type": ["A", "B"]})
    plan = optimize(
        Workload.parse("QUERY q PATTERN SEQ(A a, B b) WITHIN 1 s;"),
        Schema.of(events.schema, {"A", "B"}),
        "none",
    )
    monkeypatch.setattr(run_module, "default_memory_bytes", lambda: 123 << 20)
    assert Engine(plan)._meter.limit == 123 << 20
    assert Engine(plan, memory_bytes=5 << 20)._meter.limit == 5 << 20
