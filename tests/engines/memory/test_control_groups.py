"""A server's disk is held to rates by its control group, of either version, and by a scope."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from engines.memory.conftest import MB
from steelyard.engines.account import choose_account
from steelyard.engines.capabilities.memory import DiskLimits, MemoryCap
from steelyard.engines.memory.control_groups import admit, lacking_rates
from steelyard.engines.memory.group import MARKER, MemoryGroup, remove_groups
from steelyard.engines.memory.rights import choose_cap
from steelyard.engines.programs import run
from steelyard.model.errors import EngineError
from steelyard.telemetry.devices import device_numbers, leaves_beneath

LIMITS = DiskLimits({"vda": "254:0", "vdb": "254:16"}, {"read_iops": 500, "read_rate": 125 << 20})


@pytest.fixture
def real_limits(place: Path) -> MemoryCap:
    """A cap and rates of the device beneath that the kernel really holds."""
    devices = device_numbers(leaves_beneath((place,)))
    if not devices:
        pytest.skip("no block device to be seen beneath this file system")
    limits = DiskLimits(devices, {"read_iops": 700})
    try:
        return choose_cap(64 * MB, choose_account(), place, disk=limits)
    except EngineError as refused:
        pytest.skip(f"no right to hold a disk to a rate: {refused.detail}")


def test_the_kernel_has_the_rates_and_the_processes_of_a_server_are_held_to_them(
    place: Path, real_limits: MemoryCap
) -> None:
    group = MemoryGroup.make(real_limits, place / "slot0")
    paths = [Path(line) for line in (place / "slot0" / MARKER).read_text().splitlines()]
    with group.entrance() as door, subprocess.Popen(["sleep", "60"]) as process:
        try:
            assert door is not None
            (paths[0] / "cgroup.procs").write_text(str(process.pid))
            group.settle(process.pid)
            holding = paths[-1]
            assert str(process.pid) in (holding / "cgroup.procs").read_text().split()
            said = "".join(
                file.read_text()
                for file in (holding / "io.max", holding / "blkio.throttle.read_iops_device")
                if file.exists()
            )
            assert "700" in said
        finally:
            process.kill()
            process.wait()
    group.close()
    assert not any(path.exists() for path in paths)
    assert not (place / "slot0" / MARKER).exists()


def test_a_group_of_rates_that_a_killed_owner_left_is_removed(
    place: Path, real_limits: MemoryCap
) -> None:
    MemoryGroup.make(real_limits, place / "slot0")
    paths = [Path(line) for line in (place / "slot0" / MARKER).read_text().splitlines()]
    assert all(path.is_dir() for path in paths)
    assert remove_groups(place) == paths
    assert not any(path.exists() for path in paths)


def test_version_2_writes_a_line_a_device(
    paper_kernel: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = paper_kernel / "sys/fs/cgroup"
    written: list[tuple[str, str]] = []
    monkeypatch.setattr(
        "steelyard.engines.memory.group._write",
        lambda path, value: written.append((path.name, value)),
    )
    MemoryGroup.make(MemoryCap(MB, "v2", parent, disk=LIMITS), place / "slot0", paper_kernel)
    assert [each for each in written if each[0] == "io.max"] == [
        ("io.max", "254:0 riops=500 rbps=131072000"),
        ("io.max", "254:16 riops=500 rbps=131072000"),
    ]


def test_a_kernel_whose_groups_hold_no_disk_is_refused_with_what_to_type(
    paper_kernel: Path, place: Path
) -> None:
    with pytest.raises(EngineError, match="memory of servers and their disk") as refused:
        choose_cap(MB, choose_account(), place, paper_kernel, LIMITS)
    assert "--set directory=/mnt/slow" in (refused.value.hint or "")


def test_a_scope_is_asked_for_the_rates(fake_systemd: Path, tmp_path: Path) -> None:
    group = MemoryGroup.make(MemoryCap(MB, "systemd-run", disk=LIMITS), tmp_path / "ID" / "slot0")
    run(choose_account(), ["/bin/true"], group=group)
    said = fake_systemd.read_text().splitlines()
    assert "--property=IOReadIOPSMax=/dev/vdb 500" in said
    assert "--property=IOReadBandwidthMax=/dev/vda 131072000" in said


def test_processes_that_are_forked_meanwhile_are_moved_too(tmp_path: Path) -> None:
    for name, pids in (("members", "1\n2\n"), ("group", "")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "cgroup.procs").write_text(pids)

    class Kernel(type(tmp_path)):  # type: ignore[misc]
        """A group into which processes are written; the first forks before it is moved."""

        def write_text(self, data: str, *_: object, **__: object) -> int:
            if data == "1":
                with (tmp_path / "members" / "cgroup.procs").open("a") as members:
                    members.write("3\n")
            with open(os.fspath(self), "a") as file:
                return file.write(f"{data}\n")

    admit(tmp_path / "members", Kernel(tmp_path / "group"))
    assert (tmp_path / "group" / "cgroup.procs").read_text().split() == ["1", "2", "3"]


HELD = "254:0 rbps=131072000 wbps=max riops=500 wiops=max\n"


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        (HELD + HELD.replace("254:0", "254:16"), 0),
        (HELD, 2),
        (HELD + HELD.replace("254:0", "254:16").replace("500", "max"), 1),
        (HELD + HELD.replace("254:0", "254:16").replace("500", "5000"), 1),
        ("", 4),
        (None, 4),
    ],
)
def test_a_scope_that_does_not_hold_the_rates_is_refused(
    paper_kernel: Path, tmp_path: Path, text: str | None, lacking: int
) -> None:
    scope = paper_kernel / "sys/fs/cgroup/system.slice/steelyard-ID-slot0.scope"
    scope.mkdir(parents=True)
    (scope / "memory.max").write_text(f"{MB}\n")
    if text is not None:
        (scope / "io.max").write_text(text)
    (paper_kernel / "proc/77").mkdir()
    (paper_kernel / "proc/77/cgroup").write_text("0::/system.slice/steelyard-ID-slot0.scope\n")
    cap = MemoryCap(MB, "systemd-run", disk=LIMITS)
    group = MemoryGroup.make(cap, tmp_path / "ID" / "slot0", paper_kernel)
    assert len(lacking_rates(LIMITS, scope)) == lacking
    if not lacking:
        group.settle(77)
        return
    with pytest.raises(EngineError, match="not held to the rates") as refused:
        group.settle(77)
    assert "254:16 riops=500" in (refused.value.detail or "")
