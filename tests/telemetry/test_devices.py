"""Devices beneath a directory are found through every layer; their counts agree with iostat."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.telemetry.devices import (
    DeviceCounts,
    added,
    device_counts,
    device_identity,
    device_use,
    devices_beneath,
    named_counts,
)


class Machine:
    """A /sys and a /proc of a test's own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directory = root / "data"
        self.directory.mkdir(parents=True)
        (root / "sys/dev/block").mkdir(parents=True)
        (root / "sys/class/block").mkdir(parents=True)
        (root / "proc/self").mkdir(parents=True)
        number = os.stat(self.directory).st_dev
        self.number = f"{os.major(number)}:{os.minor(number)}"

    def device(self, place: str, *slaves: str, mounted: bool = False, partition: int = 0) -> None:
        """A device at its place in /sys/devices, on top of others."""
        path = self.root / "sys/devices" / place
        (path / "slaves").mkdir(parents=True)
        (self.root / "sys/class/block" / path.name).symlink_to(path)
        for slave in slaves:
            (path / "slaves" / slave).symlink_to(self.root / "sys/class/block" / slave)
        if partition:
            (path / "partition").write_text(f"{partition}\n")
        if mounted:
            (self.root / "sys/dev/block" / self.number).symlink_to(path)

    def mount(self, kind: str, source: str) -> None:
        """The directory's file system as mountinfo has it."""
        line = f"1 0 {self.number} / {self.directory} rw - {kind} {source} rw\n"
        (self.root / "proc/self/mountinfo").write_text(line)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path.resolve())


def test_a_partition_is_a_part_of_its_device(machine: Machine) -> None:
    machine.device("pci/nvme0n1")
    machine.device("pci/nvme0n1/nvme0n1p2", partition=2, mounted=True)
    found = devices_beneath(machine.directory, machine.root)
    assert (found.top, found.leaves) == ("nvme0n1", ("nvme0n1",))


def test_a_volume_on_a_mirror_of_partitions_rests_on_both_drives(machine: Machine) -> None:
    for drive in ("sda", "sdb"):
        machine.device(f"pci/{drive}")
        machine.device(f"pci/{drive}/{drive}1", partition=1)
    machine.device("virtual/md0", "sda1", "sdb1")
    machine.device("virtual/dm-0", "md0", mounted=True)
    found = devices_beneath(machine.directory, machine.root)
    assert (found.top, found.leaves) == ("dm-0", ("sda", "sdb"))
    assert found.members == ("dm-0",)


def test_a_btrfs_rests_on_all_its_devices(machine: Machine) -> None:
    machine.device("pci/sdc")
    machine.device("pci/sdd")
    members = machine.root / "sys/fs/btrfs/some-uuid/devices"
    members.mkdir(parents=True)
    for drive in ("sdc", "sdd"):
        (members / drive).symlink_to(machine.root / "sys/class/block" / drive)
    machine.mount("btrfs", "/dev/sdc")
    found = devices_beneath(machine.directory, machine.root)
    assert (found.top, found.leaves) == ("sdc", ("sdc", "sdd"))
    assert found.members == ("sdc", "sdd")


def test_of_a_btrfs_on_encrypted_drives_the_volumes_are_its_members(machine: Machine) -> None:
    members = machine.root / "sys/fs/btrfs/some-uuid/devices"
    members.mkdir(parents=True)
    for drive, volume in (("sdc", "dm-0"), ("sdd", "dm-1")):
        machine.device(f"pci/{drive}")
        machine.device(f"virtual/{volume}", drive)
        (members / volume).symlink_to(machine.root / "sys/class/block" / volume)
    machine.mount("btrfs", "/dev/dm-0")
    found = devices_beneath(machine.directory, machine.root)
    assert (found.leaves, found.members) == (("sdc", "sdd"), ("dm-0", "dm-1"))


@pytest.mark.parametrize("source", ["/dev/mapper/luks-1", "/dev/vg/root", "/dev/dm-1"])
def test_a_btrfs_on_a_volume_is_known_by_whatever_name_it_was_mounted(
    machine: Machine, source: str
) -> None:
    """As Fedora and openSUSE install it: the kernel's names stand in /sys, a volume's in
    mountinfo; a container has no links in /dev/mapper."""
    for number, volume in ((0, "swap"), (1, "luks-1")):
        machine.device(f"virtual/dm-{number}", "sdc")
        (machine.root / f"sys/devices/virtual/dm-{number}/dm").mkdir()
        (machine.root / f"sys/devices/virtual/dm-{number}/dm/name").write_text(f"{volume}\n")
    machine.device("pci/sdc")
    members = machine.root / "sys/fs/btrfs/some-uuid/devices"
    members.mkdir(parents=True)
    (members / "dm-1").symlink_to(machine.root / "sys/class/block/dm-1")
    (machine.root / "dev/vg").mkdir(parents=True)
    (machine.root / "dev/vg/root").symlink_to("../dm-1")
    machine.mount("btrfs", source)
    found = devices_beneath(machine.directory, machine.root)
    assert (found.top, found.leaves, found.members) == ("dm-1", ("sdc",), ("dm-1",))


@pytest.mark.parametrize("kind", ["overlay", "tmpfs", "zfs", "nfs4"])
def test_a_file_system_without_a_device_is_said(machine: Machine, kind: str) -> None:
    machine.mount(kind, kind)
    found = devices_beneath(machine.directory, machine.root)
    assert found.leaves == ()
    assert kind in found.unmapped


IDENTITIES = {
    "nvme0n1": ("wwid", "nvme.144d-53334556-53616d73756e67-00000001"),
    "sda": ("device/wwid", "naa.5000c500a1b2c3d4"),
    "dm-0": ("dm/uuid", "LVM-qv2dBXu1MYUCqLmyNdg3"),
    "md0": ("md/uuid", "8c1b9ab4-0d2f-7a2c-9a15-36e52ac3fe2a"),
    "loop0": ("loop/backing_file", "/srv/disk.img"),
    "vda": ("serial", "vol-0abc"),
    "mmcblk0": ("device/cid", "150100424a4e4234520765ac7da3a300"),
}


def says(machine: Machine, name: str, file: str, text: str) -> None:
    path = machine.root / "sys/class/block" / name / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\n")


@pytest.mark.parametrize("name", IDENTITIES)
def test_another_device_of_the_same_name_is_another(machine: Machine, name: str) -> None:
    file, text = IDENTITIES[name]
    machine.device(f"pci/{name}")
    says(machine, name, file, text)
    first = device_identity(name, machine.root)
    says(machine, name, "size", "2048")
    assert device_identity(name, machine.root) == first, "it grew, and is what it was"
    says(machine, name, file, f"{text}5")
    assert device_identity(name, machine.root) != first
    assert text not in first, "no serial number is kept"


def test_a_device_that_says_nothing_of_itself_is_known_by_its_size_and_machine(
    machine: Machine,
) -> None:
    machine.device("pci/xvda")
    seen = set()
    (machine.root / "etc").mkdir()
    for own, size in (("a", "2048"), ("b", "2048"), ("b", "4096")):
        (machine.root / "etc/machine-id").write_text(f"{own}\n")
        says(machine, "xvda", "size", size)
        seen.add(device_identity("xvda", machine.root))
        assert device_identity("xvda", machine.root) in seen
    assert len(seen) == 3


def test_an_array_that_says_nothing_is_known_by_its_drives_in_any_order(machine: Machine) -> None:
    for drive, own in (("sda", "one"), ("sdb", "two")):
        machine.device(f"pci/{drive}")
        says(machine, drive, "device/wwid", own)
    machine.device("virtual/md0", "sda", "sdb")
    first = device_identity("md0", machine.root)
    for drive, own in (("sda", "two"), ("sdb", "one")):  # as after a boot
        says(machine, drive, "device/wwid", own)
    assert device_identity("md0", machine.root) == first
    says(machine, "sdb", "device/wwid", "three")
    assert device_identity("md0", machine.root) != first


def stat(machine: Machine, numbers: str) -> DeviceCounts:
    machine.device("pci/vdz")
    (machine.root / "sys/devices/pci/vdz/stat").write_text(numbers)
    counts = device_counts("vdz", machine.root)
    assert counts is not None
    return counts


def test_every_field_is_read_from_its_place(machine: Machine) -> None:
    counts = stat(machine, "  1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n")
    assert counts == DeviceCounts(
        reads=1, read_bytes=3 * 512, read_ms=4, writes=5, written_bytes=7 * 512, write_ms=8,
        in_flight=9, busy_ms=10, queued_ms=11, discards=12, discarded_bytes=14 * 512,
        discard_ms=15, flushes=16, flush_ms=17,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "discards", "flushes"),
    [
        ("1 2 3 4 5 6 7 8 9 10 11", None, None),  # Linux 4.14, as Amazon Linux 2 has it
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15", 12, None),  # 4.18 to 5.4: RHEL 8, Ubuntu 20.04
        ("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17", 12, 16),
    ],
)
def test_what_an_older_kernel_does_not_count_is_not_known(
    machine: Machine, numbers: str, discards: int | None, flushes: int | None
) -> None:
    counts = stat(machine, f"{numbers}\n")
    assert (counts.queued_ms, counts.discards, counts.flushes) == (11, discards, flushes)
    use = device_use(counts, counts)
    assert use is not None
    assert (use.reads, use.in_flight) == (0, 9)
    assert {use.discards, use.discarded_bytes, use.discard_ms} == {discards and 0}
    assert {use.flushes, use.flush_ms} == {flushes and 0}
    assert added([use, use]) == replace(use, in_flight=18)
    read = named_counts("vdz", use)
    assert ("device_vdz_discards" in read) == (discards is not None)
    assert ("device_vdz_flush_ms" in read) == (flushes is not None)
    assert read["device_vdz_reads"] == ("requests", 0)


def test_no_device_has_no_counts(machine: Machine) -> None:
    assert device_counts("vdz", machine.root) is None


MANY = "9 0 72 9 5 0 40 9 1 9 9 0 0 0 0 3 1"
NONE = " ".join("0" * 17)


@pytest.mark.parametrize(
    ("devices", "reads"),
    [
        # Linux 4.15 to 6.3: the drive counts nothing, its paths do.
        ({"nvme0n1": (NONE, "0"), "nvme0c0n1": (MANY, "1")}, 9),
        ({"nvme0n1": (NONE, "0"), "nvme0c0n1": (MANY, "1"), "nvme0c33n1": (MANY, "1")}, 18),
        ({"nvme0n1": (NONE, "0"), "nvme0c0n1": (MANY, "1"), "nvme0c0n11": (MANY, "1")}, 9),
        ({"nvme0n1": (NONE, "0"), "nvme0c0n1": (MANY, "1"), "nvme1c0n1": (MANY, "1")}, 9),
        ({"nvme0n1": (NONE, "0"), "nvme0c0n1": (MANY, "1"), "nvme0c1n1": (NONE, "0")}, None),
        # From 6.4 on both do.
        ({"nvme0n1": (MANY, "1"), "nvme0c0n1": (MANY, "1")}, 9),
        ({"nvme0n1": (MANY, "1")}, 9),
        ({"nvme0n1": (NONE, "1")}, 0),
        ({"nvme0n1": (MANY, "")}, 9),
    ],
)
def test_what_goes_through_the_paths_of_an_nvme_drive_is_what_it_did(
    machine: Machine, devices: dict[str, tuple[str, str]], reads: int | None
) -> None:
    for name, (numbers, switch) in devices.items():
        counting(machine, name, numbers, switch)
    counts = device_counts("nvme0n1", machine.root)
    assert (None if counts is None else counts.reads) == reads


@pytest.mark.parametrize(("queues", "reads"), [(True, None), (False, 9)])
def test_a_drive_whose_counts_are_turned_off_did_not_do_nothing(
    machine: Machine, queues: bool, reads: int | None
) -> None:
    """What they were when that happened stays in its file. A volume counts all the same."""
    counting(machine, "vdz", MANY, "0")
    if queues:
        (machine.root / "sys/devices/pci/vdz/mq").mkdir()
    counts = device_counts("vdz", machine.root)
    assert (None if counts is None else counts.reads) == reads


def counting(machine: Machine, name: str, numbers: str, switch: str) -> None:
    """A device with its counts, and with the switch of queue/iostats where there is one."""
    machine.device(f"pci/{name}")
    (machine.root / f"sys/devices/pci/{name}/stat").write_text(f"{numbers}\n")
    if switch:
        (machine.root / f"sys/devices/pci/{name}/queue").mkdir()
        (machine.root / f"sys/devices/pci/{name}/queue/iostats").write_text(f"{switch}\n")


def test_counts_between_two_readings_are_differences_and_requests_under_way_a_level() -> None:
    before = DeviceCounts(reads=10, read_ms=100, writes=5, in_flight=3)
    after = DeviceCounts(reads=30, read_ms=140, writes=5, in_flight=1, flushes=20)
    assert device_use(before, after) == DeviceCounts(reads=20, read_ms=40, in_flight=1, flushes=20)


def test_a_counter_of_milliseconds_wraps_and_others_do_not() -> None:
    use = device_use(DeviceCounts(reads=1, read_ms=2**32 - 10), DeviceCounts(reads=2, read_ms=5))
    assert use == DeviceCounts(reads=1, read_ms=15)
    assert device_use(DeviceCounts(reads=9), DeviceCounts(reads=1)) is None


def test_what_several_devices_did_is_added_up_where_all_are_known() -> None:
    one, other = DeviceCounts(reads=3, write_ms=7), DeviceCounts(reads=4, queued_ms=1)
    assert added([one, other]) == DeviceCounts(reads=7, write_ms=7, queued_ms=1)
    assert added([one, None]) is None
    assert added([]) is None


@pytest.mark.skipif(shutil.which("iostat") is None, reason="iostat (Debian: sysstat) is not here")
def test_the_figures_are_those_of_iostat(tmp_path: Path) -> None:
    found = devices_beneath(tmp_path)
    if len(found.leaves) != 1:
        pytest.skip(f"not on one device: {found}")
    [name] = found.leaves
    asked = ["iostat", "-o", "JSON", "-dxk", "-y", name, "2", "1"]
    before = device_counts(name)
    with subprocess.Popen(
        asked, stdout=subprocess.PIPE, text=True, env={"LC_ALL": "C", **os.environ}
    ) as told:
        time.sleep(0.3)
        with (tmp_path / "written").open("wb") as file:
            for _ in range(50):
                file.write(os.urandom(1 << 20))
                file.flush()
                os.fsync(file.fileno())
                if told.poll() is not None:
                    break
        text = told.communicate()[0]
    after = device_counts(name)
    assert before is not None
    assert after is not None
    use = device_use(before, after)
    assert use is not None
    [shown] = json.loads(text)["sysstat"]["hosts"][0]["statistics"][0]["disk"]
    written_kb = shown["wkB/s"] * 2
    # What came before and after iostat's two seconds is in ours too.
    assert use.written_bytes / 1024 == pytest.approx(written_kb, rel=0.5)
    assert use.writes >= shown["w/s"] * 2 * 0.99
    assert use.write_ms / use.writes == pytest.approx(shown["w_await"], rel=0.6)
