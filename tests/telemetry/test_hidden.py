"""Whatever a container hides of /sys and /proc is passed over, and never ends a command."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from closed_paths import closed
from steelyard.engines.memory import rights
from steelyard.engines.memory.control_groups import entries_of, own_groups
from steelyard.telemetry.capacity import (
    allowed_processors,
    existing_ancestor,
    filesystem,
    processor_quota,
    throttling,
    tightest_memory,
)
from steelyard.telemetry.devices import (
    device_counts,
    device_identity,
    device_numbers,
    devices_beneath,
    stat_files,
    uncounted,
)
from steelyard.telemetry.doctor.examine import findings
from steelyard.telemetry.doctor.finding import HostFacts
from steelyard.telemetry.drive_health import read_drives
from steelyard.telemetry.environment import machine
from steelyard.telemetry.host import other_loads, sample_host
from steelyard.telemetry.slice_counters import MachineCounters

NAMES = ("sda", "sda1", "dm-0")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine of a test's own: a volume on a partition, and control groups."""
    place = tmp_path.resolve()
    data = place / "data"
    block, of_sda = place / "sys/class/block", place / "sys/devices/pci/sda"
    for directory in (data, block, place / "sys/dev/block", of_sda / "sda1", of_sda / "queue"):
        directory.mkdir(parents=True)
    volume = place / "sys/devices/virtual/dm-0"
    (volume / "slaves").mkdir(parents=True)
    (of_sda / "sda1/partition").write_text("1\n")
    (of_sda / "stat").write_text("0 " * 17 + "\n")
    (of_sda / "size").write_text("1000\n")
    (of_sda / "queue/iostats").write_text("1\n")
    (volume / "stat").write_text("0 " * 17 + "\n")
    for path in (of_sda, of_sda / "sda1", volume):
        (block / path.name).symlink_to(path)
    (volume / "slaves/sda1").symlink_to(block / "sda1")
    number = os.stat(data).st_dev
    name = f"{os.major(number)}:{os.minor(number)}"
    (place / "sys/dev/block" / name).symlink_to(volume)
    (place / "proc/self").mkdir(parents=True)
    (place / "proc/self/mountinfo").write_text(f"1 0 {name} / {data} rw - ext4 /dev/dm-0 rw\n")
    (place / "proc/self/cgroup").write_text("0::/own\n4:memory:/own\n")
    (place / "proc/stat").write_text("cpu 1 1 1 1 1 1 1 1\ncpu0 1 1 1 1 1 1 1 1\n")
    (place / "proc/7").mkdir()
    (place / "proc/7/stat").write_text("7 (x) S 1 1 1\n")
    (place / "proc/7/cmdline").write_bytes(b"steelyard\0weigh\0aa\0")
    for group in ("sys/fs/cgroup/own", "sys/fs/cgroup/memory/own"):
        (place / group).mkdir(parents=True)
    (place / "sys/fs/cgroup/cgroup.procs").write_text("")
    (place / "sys/fs/cgroup/memory/cgroup.procs").write_text("")
    (place / "sys/fs/cgroup/own/cpu.max").write_text("100000 100000\n")
    (place / "run/systemd/system").mkdir(parents=True)
    return place


def _memory_cap(root: Path) -> object:
    return list(rights._candidates(1 << 30, root))


READERS: tuple[Callable[[Path], object], ...] = (
    lambda root: devices_beneath(root / "data", root),
    lambda root: device_numbers(NAMES, root),
    lambda root: [device_identity(name, root) for name in NAMES],
    lambda root: [stat_files(name, root) for name in NAMES],
    lambda root: uncounted(NAMES, root),
    lambda root: [device_counts(name, root) for name in NAMES],
    lambda root: filesystem(root / "data", root),
    lambda root: read_drives(root / "data", root, 1.0),
    allowed_processors,
    processor_quota,
    throttling,
    tightest_memory,
    lambda root: list(own_groups("memory", root)),
    _memory_cap,
    machine,
    lambda root: sample_host(root / "data", root),
    lambda root: MachineCounters(root / "data", root),
    lambda root: other_loads(root / "proc"),
    lambda root: findings(HostFacts(root / "data", root=root)),
)


def test_no_reader_fails_where_a_directory_is_hidden(root: Path) -> None:
    hidden = [Path(where) for where, _, _ in os.walk(root) if where != str(root)]
    assert len(hidden) > 20
    for read in READERS:
        read(root)
    for directory in hidden:
        with closed(directory):
            for read in READERS:
                read(root)


def test_a_hidden_directory_is_as_one_that_is_not_there(root: Path) -> None:
    before = devices_beneath(root / "data", root)
    assert (before.top, before.leaves) == ("dm-0", ("sda",))
    with closed(root / "sys/dev/block"):
        assert "has no block device to be seen" in devices_beneath(root / "data", root).unmapped
        assert entries_of(root / "sys/dev/block") == []
        assert existing_ancestor(root / "sys/dev/block/8:0") == root / "sys/dev/block"
    with closed(root / "run"):
        assert existing_ancestor(root / "run/systemd/system") == root / "run"


def test_a_runtime_directory_of_another_account_has_no_manager(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`su` leaves XDG_RUNTIME_DIR as it was."""
    (root / "run/user/0/systemd/private").mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(root / "run/user/0"))
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    assert rights._systemd_is_there(root)
    with closed(root / "run/user/0"):
        assert not rights._systemd_is_there(root)
