"""Every drive beneath a directory is read by what is installed, or has a reason why it is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.record.machine import DriveHealth
from steelyard.telemetry import drive_health
from steelyard.telemetry.drive_health import read_drives
from telemetry.drive_reports import called, machine, nvme, program, sata, smart_log, smartctl

DENIED = "Smartctl open device: /dev/nvme0n1 failed: Permission denied"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory in which programs of drives are looked for; the shell's own stay."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    monkeypatch.setattr(drive_health, "PLACES", ())
    return tmp_path / "bin"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return (tmp_path / "root").resolve()


def read_one(directory: Path, root: Path, longest_s: float = 20.0) -> DriveHealth:
    [found] = read_drives(directory, root, longest_s)
    return found


def test_both_programs_complete_each_other(root: Path, place: Path) -> None:
    directory = machine(root, "nvme0n1")
    program(place, "smartctl", nvme(), status=0)
    program(place, "nvme", smart_log())
    found = read_one(directory, root)
    assert (found.device, found.source) == ("nvme0n1", "smartctl 7.3, nvme-cli")
    assert (found.model, found.used_percent, found.light_throttling_count) == (
        "Maker DC 7.68T",
        12,
        4,
    )
    assert found.why_not == ""
    assert called(place, "smartctl") == [f"--json=c -a {root}/dev/nvme0n1"]
    assert called(place, "nvme") == [f"smart-log {root}/dev/nvme0n1 -o json"]


def test_no_serial_number_is_kept(root: Path, place: Path) -> None:
    program(place, "smartctl", nvme())
    assert "SECRET" not in json.dumps(read_one(machine(root, "nvme0n1"), root).to_json())


def test_a_smartctl_that_tells_throttling_is_enough(root: Path, place: Path) -> None:
    program(place, "smartctl", nvme((8, 0)))
    program(place, "nvme", smart_log())
    found = read_one(machine(root, "nvme0n1"), root)
    assert (found.source, found.light_throttling_count) == ("smartctl 8.0", 0)
    assert called(place, "nvme") == []


def test_without_nvme_cli_an_old_smartctl_says_all_but_throttling(root: Path, place: Path) -> None:
    program(place, "smartctl", nvme())
    found = read_one(machine(root, "nvme0n1"), root)
    assert (found.used_percent, found.light_throttling_count) == (12, None)
    assert found.why_not.startswith("its throttling is not known: nvme is not installed")
    assert "light_throttling_count" not in found.to_json()


def test_without_smartctl_nvme_cli_says_it(root: Path, place: Path) -> None:
    program(place, "nvme", smart_log())
    found = read_one(machine(root, "nvme0n1"), root)
    assert (found.source, found.temperature_celsius, found.why_not) == ("nvme-cli", 35, "")


def test_a_sata_drive_is_never_asked_by_nvme_cli(root: Path, place: Path) -> None:
    program(place, "smartctl", sata((241, "Total_Writes_GiB", 2)), status=64)
    program(place, "nvme", smart_log())
    found = read_one(machine(root, "sda"), root)
    assert (found.source, found.written_bytes) == ("smartctl 7.3", 2 << 30)
    assert called(place, "nvme") == []
    assert "devstat" in called(place, "smartctl")[0]


def test_without_a_program_it_is_said_how_to_get_one(root: Path, place: Path) -> None:
    found = read_one(machine(root, "nvme0n1"), root)
    assert found.to_json() == {
        "device": "nvme0n1",
        "why_not": "not available on this device: smartctl is not installed (Debian: apt install "
        "smartmontools); nvme is not installed (Debian: apt install nvme-cli)",
    }
    assert place.name not in found.why_not


def test_without_rights_there_is_what_everybody_may_read(root: Path, place: Path) -> None:
    directory = machine(root, "nvme0n1")
    shown = root / "sys/class/block/nvme0n1/device"
    (shown / "model").write_text("Maker DC 7.68T       \n")
    (shown / "firmware_rev").write_text("FW01\n")
    (shown / "hwmon3").mkdir()
    (shown / "hwmon3/temp1_input").write_text("36850\n")
    program(place, "smartctl", smartctl((7, 3), 2, DENIED), status=2)
    program(place, "nvme", "", 1, "/dev/nvme0n1: Operation not permitted")
    found = read_one(directory, root)
    assert (found.source, found.model, found.firmware) == ("sysfs", "Maker DC 7.68T", "FW01")
    assert found.temperature_celsius == 37
    assert found.why_not.startswith("not available on this device: no right to ask it, which needs")
    assert "Permission denied" in found.why_not
    assert found.written_bytes is None


@pytest.mark.parametrize(
    "printed", ["", "smartctl: bad", "[1, 2]", '{"smartctl": {', "[" * 100_000]
)
def test_unreadable_json_is_a_reason(root: Path, place: Path, printed: str) -> None:
    program(place, "smartctl", printed, 1, "what is this")
    found = read_one(machine(root, "sda"), root)
    assert found.why_not == (
        "not available on this device: smartctl ended with status 1: what is this"
    )


def test_an_error_that_is_an_object_is_said_in_its_words(root: Path, place: Path) -> None:
    program(place, "nvme", '{\n  "error":"/dev/nvme0n1: Permission denied"\n}', 1)
    found = read_one(machine(root, "nvme0n1"), root)
    assert "no right to ask it, which needs root (nvme ended with status 1: {" in found.why_not
    assert "/dev/nvme0n1: Permission denied" in found.why_not


@pytest.mark.parametrize("mask", [4, 8, 64, 128])
def test_an_exit_status_with_results_is_no_failure(root: Path, place: Path, mask: int) -> None:
    program(place, "smartctl", nvme((8, 0), status=mask), status=mask)
    assert read_one(machine(root, "nvme0n1"), root).used_percent == 12


def test_a_failing_drive_says_so(root: Path, place: Path) -> None:
    program(place, "smartctl", nvme((8, 0), 8, critical_warning=5, available_spare=3), 8)
    found = read_one(machine(root, "nvme0n1"), root)
    assert found.warnings == ("its spare is below the threshold", "its reliability is degraded")
    assert (found.spare_percent, found.spare_threshold_percent) == (3, 10)


def test_programs_that_hang_cost_the_time_of_all_drives_once(root: Path, place: Path) -> None:
    directory = machine(root, "sdb", "sda", "md0")
    slaves = root / "sys/class/block/md0/slaves"
    slaves.mkdir()
    for name in ("sda", "sdb"):
        (slaves / name).symlink_to(root / "sys/class/block" / name)
    place.mkdir()
    (place / "smartctl").write_text("#!/bin/sh\nwhile :; do :; done\n")
    (place / "smartctl").chmod(0o755)
    first, second = read_drives(directory, root, 0.3)
    assert (first.device, second.device) == ("sda", "sdb")
    for found in (first, second):
        assert found.why_not == "not available on this device: smartctl did not end in time"


@pytest.mark.parametrize(
    ("bus", "name"),
    [("virtio3", "vda"), ("virtual", "loop0"), ("vbd-51712", "xvda"), ("rbd/0", "rbd0")],
)
def test_a_virtual_device_is_not_asked(root: Path, place: Path, bus: str, name: str) -> None:
    program(place, "smartctl", nvme())
    found = read_one(machine(root, name, bus=bus), root)
    assert found.why_not == "not available on this device: a virtual device keeps no health"
    assert called(place, "smartctl") == []


def test_a_virtual_drive_of_another_kind_gives_smartctls_reason(root: Path, place: Path) -> None:
    message = "/dev/sda: Unable to detect device type"
    program(place, "smartctl", smartctl((7, 3), 1, message), 1)
    assert read_one(machine(root, "sda"), root).why_not.endswith(message)


def test_a_container_without_the_node_is_said(root: Path, place: Path) -> None:
    program(place, "smartctl", nvme())
    found = read_one(machine(root, "nvme0n1", node=False), root)
    assert "is missing: a container has it where it is given" in found.why_not
    assert called(place, "smartctl") == []


def test_a_directory_without_a_device_is_said(tmp_path: Path, place: Path) -> None:
    [found] = read_drives(tmp_path, tmp_path / "nothing")
    assert (found.device, found.source) == ("", "")
    assert "has no block device to be seen" in found.why_not


def test_what_is_read_is_read_again_from_json(root: Path, place: Path) -> None:
    program(place, "smartctl", nvme((8, 0)))
    found = read_one(machine(root, "nvme0n1"), root)
    assert DriveHealth.of_json(json.loads(json.dumps(found.to_json())), "here") == found
