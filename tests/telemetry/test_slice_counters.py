"""What the machine did is added up by arm from files that were read at the borders of slices."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard.evaluation.transaction.bottleneck import ceiling
from steelyard.record.machine import PEAK_READ, PEAK_WRITE
from steelyard.telemetry.slice_counters import UNREAD, MachineCounters
from tuning.probes import figure, probe_of

PRESSURE = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 total={}\n"
STAT = "{} 0 {} {} 0 0 0 0 0 9 9\n"
VMSTAT = "nr_free_pages 7\nworkingset_refault_file {}\npgmajfault {}\n"
QUOTA = "usage_usec 9\nnr_throttled {}\nthrottled_usec {}\n"


@pytest.fixture
def machine(tmp_path: Path) -> MachineCounters:
    """One device, pressure for I/O, memory and a quota."""
    root = tmp_path.resolve()
    device = root / "sys/devices/vda"
    device.mkdir(parents=True)
    (root / "sys/class/block").mkdir(parents=True)
    (root / "sys/class/block/vda").symlink_to(device)
    number = os.stat(root).st_dev
    (root / "sys/dev/block").mkdir(parents=True)
    (root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}").symlink_to(device)
    files = {
        "sys/devices/vda/stat": STAT.format(0, 0, 0),
        "proc/pressure/io": PRESSURE.format(0, 0),
        "proc/vmstat": VMSTAT.format(0, 0),
        "proc/self/cgroup": "0::/\n",
        "sys/fs/cgroup/cgroup.procs": "",
        "sys/fs/cgroup/cpu.stat": QUOTA.format(0, 0),
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return MachineCounters(root, root)


def texts(reads: int, stalled_us: int, refaults: int, throttled_us: int) -> list[str]:
    return [
        STAT.format(reads, reads * 16, reads * 2),
        PRESSURE.format(stalled_us, stalled_us // 2),
        VMSTAT.format(refaults, 1),
        QUOTA.format(1, throttled_us),
    ]


def test_the_files_are_those_that_are_there(machine: MachineCounters) -> None:
    ends = [path.split("/")[-2:] for path in machine.paths]
    assert ends == [["vda", "stat"], ["pressure", "io"], ["proc", "vmstat"], ["cgroup", "cpu.stat"]]


def test_differences_are_added_up_by_arm(machine: MachineCounters) -> None:
    machine.add("on", texts(10, 100, 5, 0), texts(30, 160, 9, 50), 1000)
    machine.add("off", texts(30, 160, 9, 50), texts(31, 160, 9, 50), 500)
    machine.add("on", texts(31, 160, 9, 50), texts(41, 200, 9, 50), 1000)
    on = {one.name: one.value for one in machine.readings("on")}
    assert on["slices_ns"] == 2000
    assert on["device_vda_reads"] == 30
    assert on["device_vda_read_bytes"] == 30 * 16 * 512
    assert on["device_vda_read_ms"] == 60
    assert (on["pressure_io_some_ns"], on["pressure_io_full_ns"]) == (100_000, 50_000)
    assert (on["workingset_refault_file"], on["pgmajfault"]) == (4, 0)
    assert on["throttled_ns"] == 50_000
    off = {one.name: (one.value, one.unit, one.measured) for one in machine.readings("off")}
    assert off["device_vda_reads"] == (1, "requests", True)
    assert off["device_vda_read_bytes"][1] == "bytes"
    assert off["device_vda_read_ms"][1] == "ms"
    assert off["slices_ns"][1] == "ns"
    assert off["pgmajfault"][1] == "pages"


def test_what_the_devices_did_in_one_slice_is_that_between_its_borders(
    machine: MachineCounters,
) -> None:
    before, after = texts(10, 100, 5, 0), texts(30, 160, 9, 50)
    use = machine.devices_between(before, after)
    assert use is not None
    assert (use.reads, use.read_bytes, use.read_ms) == (20, 20 * 16 * 512, 40)
    assert machine.devices_between(after, before) is None, "the device came back anew"
    assert machine.devices_between(["", *before[1:]], after) is None
    assert machine.readings("on") == (), "it is no reading by itself"


def test_without_a_device_nothing_is_between_two_borders(tmp_path: Path) -> None:
    assert MachineCounters(tmp_path, tmp_path).devices_between([], []) is None


def test_a_file_that_could_not_be_read_gives_nothing(machine: MachineCounters) -> None:
    machine.add("on", ["", "", "", ""], texts(1, 1, 1, 1), 1000)
    machine.add("on", texts(9, 9, 9, 9), texts(1, 9, 9, 9), 1000)  # the device came back anew
    read = {one.name: one.value for one in machine.readings("on")}
    assert read.pop("slices_ns") == 2000
    assert not any(read.values())
    assert "device_vda_reads" not in read


def test_of_an_arm_with_a_slice_that_was_not_read_there_is_no_sum(machine: MachineCounters) -> None:
    """It would be that of fewer slices, over the time of all."""
    machine.add("on", texts(0, 0, 0, 0), texts(10, 10, 5, 10), 1000)
    machine.add("on", texts(500, 10, 5, 10), texts(3, 20, 9, 20), 1000)  # the device came back anew
    machine.add("on", texts(3, 20, 9, 20), ["", *texts(13, 30, 9, 30)[1:]], 1000)
    machine.add("off", texts(0, 30, 9, 30), texts(10, 30, 9, 30), 1000)
    on, off = (
        {reading.name: reading for reading in machine.readings(arm)} for arm in ("on", "off")
    )
    for name in ("device_vda_reads", "device_vda_read_bytes", "device_vda_queued_ms"):
        assert (on[name].value, on[name].missing) == (None, UNREAD)
    assert on["slices_ns"].value == 3000
    assert on["throttled_ns"].value == 30_000, "it was read in all of them"
    assert off["device_vda_reads"].value == 10, "another arm's slices are its own"


def test_of_a_volume_on_a_mirror_its_own_requests_are_counted_beside_its_drives(
    machine: MachineCounters, tmp_path: Path
) -> None:
    root = tmp_path.resolve()
    for drive in ("sda", "sdb"):
        (root / "sys/devices" / drive).mkdir()
        (root / "sys/devices" / drive / "stat").write_text(STAT.format(0, 0, 0))
        (root / "sys/class/block" / drive).symlink_to(root / "sys/devices" / drive)
        (root / "sys/devices/vda/slaves" / drive).mkdir(parents=True)
    stacked = MachineCounters(root, root)
    drives = [path.split("/")[-2] for path in stacked.paths[:3]]
    assert drives == ["sda", "sdb", "vda"]
    rest = len(stacked.paths) - 3
    after = [STAT.format(count, 0, 0) for count in (40, 20, 60)]
    stacked.add("on", [STAT.format(0, 0, 0)] * 3 + [""] * rest, after + [""] * rest, 2_000_000_000)
    known = {one.name: one.value for one in stacked.readings("on")}
    peaks = figure(PEAK_READ, 300), figure(PEAK_WRITE, 100)
    used = ceiling([known], probe_of(*peaks, device="vda", members=("vda",)))
    assert used is not None
    assert used.reads == 30, "those of the volume, not of the volume and of its drives"


@pytest.mark.parametrize("paths", [("nvme0c0n1",), ("nvme0c0n1", "nvme0c1n1")])
def test_what_the_paths_of_a_drive_did_is_added_up_under_its_name(
    tmp_path: Path, paths: tuple[str, ...]
) -> None:
    root = on_drive(tmp_path.resolve(), "nvme0n1", "0")
    for path in paths:
        switched(root, path, "1")
    machine = MachineCounters(root, root)
    assert [file.split("/")[-2] for file in machine.paths] == list(paths)
    before, after = ([STAT.format(reads, 0, 0)] * len(paths) for reads in (0, 7))
    machine.add("on", before, after, 1000)
    read = {one.name: one.value for one in machine.readings("on")}
    assert read["device_nvme0n1_reads"] == 7 * len(paths)
    use = machine.devices_between(before, after)
    assert use is not None
    assert use.reads == 7 * len(paths)


def test_a_drive_that_counts_nothing_has_no_figures(tmp_path: Path) -> None:
    root = on_drive(tmp_path.resolve(), "nvme0n1", "0")
    (root / "sys/devices/nvme0n1/mq").mkdir()
    machine = MachineCounters(root, root)
    assert machine.paths == ()
    assert machine.devices_between([], []) is None


def test_beside_one_that_counts_nothing_the_other_drive_is_not_all_of_them(tmp_path: Path) -> None:
    root = on_drive(tmp_path.resolve(), "vda", "1")
    for drive, switch in (("sda", "1"), ("sdb", "0")):
        switched(root, drive, switch)
        (root / "sys/devices" / drive / "mq").mkdir()
        (root / "sys/devices/vda/slaves" / drive).mkdir(parents=True)
    machine = MachineCounters(root, root)
    assert [file.split("/")[-2] for file in machine.paths] == ["vda"], "the volume has its own"
    assert machine.devices_between([STAT.format(0, 0, 0)], [STAT.format(1, 0, 0)]) is None


def on_drive(root: Path, name: str, switch: str) -> Path:
    """A root that stands on this drive."""
    (root / "sys/class/block").mkdir(parents=True)
    (root / "sys/dev/block").mkdir(parents=True)
    switched(root, name, switch)
    number = os.stat(root).st_dev
    mounted = root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
    mounted.symlink_to(root / "sys/devices" / name)
    return root


def switched(root: Path, name: str, switch: str) -> None:
    """A device whose counts are on or off."""
    device = root / "sys/devices" / name
    (device / "queue").mkdir(parents=True)
    (device / "queue/iostats").write_text(f"{switch}\n")
    (device / "stat").write_text(STAT.format(0, 0, 0))
    (root / "sys/class/block" / name).symlink_to(device)


def test_nothing_is_read_of_an_arm_without_slices(machine: MachineCounters) -> None:
    assert machine.readings("on") == ()
