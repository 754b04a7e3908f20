"""The environment of a record says what was compared, where, and from which files."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from own_cache import own_server
from steelyard.engines.engine import Settings, Slot
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.endpoint import Endpoint
from steelyard.model.identity import Identity
from steelyard.record.environment import DiskFacts
from steelyard.telemetry.devices import devices_beneath
from steelyard.telemetry.environment import environment, file_sha256, machine, machines_differ

IDENTITY = Identity("noop", "1", 1, "", "", "", "bindir", "", False)


@dataclass
class Standing:
    """An instance that only stands there and knows its settings."""

    directory: Path
    running: bool = True
    identity: Identity = IDENTITY
    address: Endpoint = field(default_factory=lambda: Endpoint("/s", 1, "u", "d"))
    own: Settings = field(default_factory=dict)

    def start(self, slot: Slot, settings: Settings) -> None: ...

    def stop(self) -> None: ...

    def settings(self) -> dict[str, str]:
        if not self.running:
            pytest.fail("the settings of a stopped server were asked for")
        return {"work_mem": "4096 kB", **self.own}


@pytest.fixture
def kept(tmp_path: Path) -> dict[str, Any]:
    template = tmp_path / "template"
    (template / "global").mkdir(parents=True)
    (template / "global" / "pg_control").write_bytes(b"control")
    seen = environment(
        {"on": Standing(tmp_path), "off": Standing(tmp_path, running=False)},
        scripts={"select-only": "SELECT 1;"},
        directory=tmp_path,
        template=template,
    )
    read_back: dict[str, Any] = json.loads(json.dumps(seen))
    return read_back


def test_it_names_the_devices_beneath_the_data_or_says_why_none_is_seen(
    kept: dict[str, Any], tmp_path: Path
) -> None:
    beneath = devices_beneath(tmp_path)
    assert kept["disk"]["devices"] == list(beneath.leaves)
    assert kept["disk"]["unmapped"] == beneath.unmapped
    assert bool(kept["disk"]["devices"]) != bool(kept["disk"]["unmapped"])
    assert DiskFacts.model_validate(kept["disk"]).devices == beneath.leaves


def test_it_holds_builds_and_the_settings_of_servers_that_run(kept: dict[str, Any]) -> None:
    assert kept["arms"]["on"]["settings"] == {"work_mem": "4096 kB"}
    assert kept["arms"]["off"]["settings"] == {}
    assert kept["arms"]["off"]["build"]["kind"] == "noop"


def test_of_a_setting_that_may_be_a_secret_it_holds_whether_arms_differ(tmp_path: Path) -> None:
    values = {"a": "password=one", "b": "password=one", "c": "password=two", "d": ""}
    seen = environment(
        {arm: Standing(tmp_path, own={"primary_conninfo": own}) for arm, own in values.items()},
        scripts={},
        directory=tmp_path,
    )
    shown = [about["settings"]["primary_conninfo"] for about in seen["arms"].values()]
    assert shown == ["(not shown)", "(not shown)", "(not shown) 2", ""]


def test_it_holds_hashes_of_scripts_template_and_driver(kept: dict[str, Any]) -> None:
    assert kept["files"] == {
        "script select-only": hashlib.sha256(b"SELECT 1;").hexdigest(),
        "template pg_control": hashlib.sha256(b"control").hexdigest(),
    }
    assert len(kept["steelyard"]["driver_sha256"]) == 64
    assert kept["steelyard"]["build_profile"] in ("release", "debug")
    assert kept["disk"]["total_bytes"] > 0


def test_it_holds_what_the_drives_say_or_why_they_do_not(kept: dict[str, Any]) -> None:
    assert kept["drives"]
    for drive in kept["drives"]:
        assert drive.get("source") or drive["why_not"].startswith("not available on this device: ")
    assert [one["name"] for one in kept["findings"]].count("drive health") == 1


def test_a_file_is_hashed_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"\x00" * 100_000)
    assert file_sha256(path) == hashlib.sha256(b"\x00" * 100_000).hexdigest()


def test_the_same_machine_does_not_differ_from_its_own_record() -> None:
    assert machines_differ(json.loads(json.dumps(machine())), machine()) == []


def test_another_machine_differs_in_plain_words() -> None:
    here = machine()
    there = {**here, "processors": 64, "boot_id": "another"}
    assert machines_differ(there, here) == [
        f"processors was 64, is {here['processors']}",
        f"boot id was another, is {here['boot_id']}",
    ]
    assert machines_differ({}, here)[0].startswith("hostname was None")


def test_the_processor_is_named_where_the_kernel_names_it(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(
        "processor : 0\nmodel name : Some CPU\nflags : a hypervisor\n"
    )
    assert machine(tmp_path)["processor"] == "Some CPU"
    assert machine(tmp_path)["virtual"] is True
    (tmp_path / "proc/cpuinfo").write_text("processor : 0\nCPU part : 0xd0c\n")
    assert machine(tmp_path)["processor"] == "CPU part 0xd0c"
    assert machine(tmp_path)["virtual"] is False


def test_the_memory_that_a_group_allows_is_a_fact_of_the_machine(tmp_path: Path) -> None:
    assert machine(tmp_path)["memory_limit_bytes"] is None
    group = tmp_path / "sys/fs/cgroup/job"
    group.mkdir(parents=True)
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/job\n")
    (tmp_path / "sys/fs/cgroup/cgroup.procs").write_text("")
    (group / "memory.max").write_text("1000\n")
    assert machine(tmp_path)["memory_limit_bytes"] == 1000


@pytest.mark.parametrize(
    ("vendor", "product", "virtual"),
    [
        ("Amazon EC2", "m7g.2xlarge", True),
        ("Amazon EC2", "m7g.metal", False),
        ("Amazon EC2", "c8g.metal-24xl", False),
        ("QEMU", "KVM Virtual Machine", True),
        ("Microsoft Corporation", "Virtual Machine", True),
        ("Google", "Google Compute Engine", True),
        ("Hetzner", "vServer", True),
        ("GIGABYTE", "R272-P30-JG", False),
        ("Ampere(R)", "Mt. Jade", False),
        ("", "", False),
    ],
)
def test_of_a_processor_without_flags_the_firmware_tells_whether_it_is_virtual(
    tmp_path: Path, vendor: str, product: str, virtual: bool
) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor : 0\nFeatures : fp\nCPU part : 0xd40\n")
    firmware = tmp_path / "sys/class/dmi/id"
    firmware.mkdir(parents=True)
    for file, text in (("sys_vendor", vendor), ("product_name", product)):
        if text:
            (firmware / file).write_text(f"{text}\n")
    assert machine(tmp_path)["virtual"] is virtual
    (tmp_path / "proc/device-tree/hypervisor").mkdir(parents=True)
    assert machine(tmp_path)["virtual"] is True


def test_flags_count_before_the_firmware(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("processor : 0\nflags : fpu vme\n")
    (tmp_path / "sys/class/dmi/id").mkdir(parents=True)
    (tmp_path / "sys/class/dmi/id/sys_vendor").write_text("Xen\n")  # its first domain
    assert machine(tmp_path)["virtual"] is False


@pytest.mark.postgres
def test_of_a_real_server_it_holds_the_build_and_every_setting() -> None:
    engine = find_postgres("18")
    with own_server("18", {"work_mem": "8MB"}) as instance:
        seen = environment(
            {"on": instance},
            scripts={},
            directory=instance.directory.parent,
            template=instance.directory,
        )
    arm = json.loads(json.dumps(seen))["arms"]["on"]
    assert arm["build"]["version"] == engine.identity.version
    assert arm["settings"]["data_checksums"] == "on"
    assert arm["settings"]["work_mem"].startswith("8192")
    assert len(arm["settings"]) > 300
    assert len(seen["files"]["template pg_control"]) == 64
