"""Control groups are read as both versions of the kernel's interface write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.telemetry.capacity import (
    hidden_limits,
    memory_left,
    memory_limit,
    processor_quota,
    throttling,
)

V1 = {
    "proc/self/cgroup": "5:memory:/job\n2:cpu,cpuacct:/job\n0::/\n",
    "sys/fs/cgroup/cpu,cpuacct/cgroup.procs": "",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_throttled 4\nthrottled_time 77000\n",
    "sys/fs/cgroup/memory/cgroup.procs": "",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/memory.usage_in_bytes": "5000\n",
    "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "1000000\n",
    "sys/fs/cgroup/memory/job/memory.usage_in_bytes": "900000\n",
    "sys/fs/cgroup/memory/job/memory.stat": "inactive_file 1\ntotal_inactive_file 300000\n",
}
V2 = {
    "proc/self/cgroup": "0::/outer/inner\n",
    "sys/fs/cgroup/cgroup.procs": "",
    "sys/fs/cgroup/cpu.stat": "usage_usec 5\n",
    "sys/fs/cgroup/outer/cpu.max": "100000 100000\n",
    "sys/fs/cgroup/outer/cpu.stat": "nr_throttled 3\nthrottled_usec 40\n",
    "sys/fs/cgroup/outer/inner/cpu.max": "max 100000\n",
    "sys/fs/cgroup/outer/inner/cpu.stat": "nr_throttled 1\nthrottled_usec 2\n",
    "sys/fs/cgroup/outer/memory.max": "max\n",
    "sys/fs/cgroup/outer/memory.current": "10\n",
    "sys/fs/cgroup/outer/inner/memory.max": "1000\n",
    "sys/fs/cgroup/outer/inner/memory.current": "400\n",
}
# what a container sees that keeps the host's path but mounts its own group as the root
CONTAINER = {
    "proc/self/cgroup": "0::/not/seen/here\n",
    "sys/fs/cgroup/cgroup.procs": "",
    "sys/fs/cgroup/cpu.max": "50000 100000\n",
    "sys/fs/cgroup/cpu.stat": "nr_throttled 2\nthrottled_usec 9\n",
}


def recorded(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "quota", "left", "throttled_ns", "periods"),
    [
        (V1, 1.5, 400_000, 77_000, 4),
        (V2, 1.0, 600, 42_000, 4),
        (CONTAINER, 0.5, None, 9_000, 2),
        ({}, None, None, 0, 0),
    ],
    ids=["v1", "v2", "container", "no control groups"],
)
def test_the_tightest_limit_and_every_throttling_count(
    tmp_path: Path,
    files: dict[str, str],
    quota: float | None,
    left: int | None,
    throttled_ns: int,
    periods: int,
) -> None:
    root = recorded(tmp_path, files)
    assert processor_quota(root) == quota
    assert memory_left(root) == left
    assert throttling(root).throttled_ns == throttled_ns
    assert throttling(root).periods == periods


@pytest.mark.parametrize(
    ("files", "limit"),
    [(V1, 1_000_000), (V2, 1000), (CONTAINER, None), ({}, None)],
    ids=["v1", "v2", "container", "no control groups"],
)
def test_the_limit_is_the_tightest_whatever_is_used(
    tmp_path: Path, files: dict[str, str], limit: int | None
) -> None:
    assert memory_limit(recorded(tmp_path, files)) == limit


@pytest.mark.parametrize("place", ["v1", "v2"])
def test_page_cache_is_free_whether_it_was_used_lately_or_not(place: str, tmp_path: Path) -> None:
    files, group, prefix = {
        "v1": (V1, "sys/fs/cgroup/memory/job", "total_"),
        "v2": (V2, "sys/fs/cgroup/outer/inner", ""),
    }[place]
    pairs = f"anon 100\n{prefix}active_file 200\n{prefix}inactive_file 50\n"
    used = {"v1": "memory.usage_in_bytes", "v2": "memory.current"}[place]
    root = recorded(tmp_path, {**files, f"{group}/memory.stat": pairs, f"{group}/{used}": "350\n"})
    limit = memory_limit(root)
    assert limit is not None
    assert memory_left(root) == limit - 100
    recorded(root, {f"{group}/memory.stat": f"{prefix}active_file 900\n"})  # read a moment later
    assert memory_left(root) == limit


@pytest.mark.parametrize(
    ("most", "high", "limit", "left"),
    [
        ("max", "max", None, None),
        ("1000", "max", 1000, 600),
        ("max", "700", 700, 300),
        ("1000", "700", 700, 300),
        ("1000", "2000", 1000, 600),
        ("1000", "300", 300, 0),  # it is beyond it, and throttled
        ("1000", "0", 0, 0),
        ("1000", None, 1000, 600),
    ],
)
def test_a_limit_that_throttles_is_a_limit(
    tmp_path: Path, most: str, high: str | None, limit: int | None, left: int | None
) -> None:
    group = "sys/fs/cgroup/outer/inner"
    files = {**V2, f"{group}/memory.max": f"{most}\n"}
    if high is not None:
        files[f"{group}/memory.high"] = f"{high}\n"
    root = recorded(tmp_path, files)
    assert (memory_limit(root), memory_left(root)) == (limit, left)


@pytest.mark.parametrize(
    ("listing", "mounted", "hidden"),
    [
        ("0::/\n", "", True),
        ("0::/system.slice/x.service\n", "sys/fs/cgroup/cgroup.procs", False),
        ("5:memory:/job\n1:name=systemd:/\n", "", True),
        ("5:memory:/job\n0::/\n", "sys/fs/cgroup/memory/cgroup.procs", False),
        ("5:memory:/job\n", "sys/fs/cgroup/cpu/cgroup.procs", True),
        ("2:cpu,cpuacct:/\n1:name=systemd:/a:b\n", "", False),  # this kernel has no such groups
        ("", "", False),
    ],
)
def test_limits_that_are_not_to_be_seen_are_not_absent(
    tmp_path: Path, listing: str, mounted: str, hidden: bool
) -> None:
    files = {"proc/self/cgroup": listing, **({mounted: ""} if mounted else {})}
    assert hidden_limits("memory", recorded(tmp_path, files)) is hidden
