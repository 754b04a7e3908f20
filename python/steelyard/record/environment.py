"""Where a weighing took place, as environment.json keeps it."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard.record.frozen import Frozen


class SteelyardFacts(Frozen):
    """The version of the tool, and how its extension was built."""

    version: str = ""
    build_profile: str = ""
    driver_sha256: str = ""
    python: str = ""


class MachineFacts(Frozen):
    """The hardware and kernel as the kernel tells them."""

    hostname: str = ""
    kernel: str = ""
    architecture: str = ""
    distribution: str = ""
    processor: str = ""
    processors: int | None = None
    allowed_processors: tuple[int, ...] = ()
    cores: int = 0
    processor_quota: float | None = None
    virtual: bool = False
    governor: str = ""
    clocksource: str = ""
    huge_pages: str = ""
    memory_bytes: int = 0
    boot_id: str = ""


class DiskFacts(Frozen):
    """The file system that the slots stand on."""

    mount: str = ""
    type: str = ""
    device: str = ""
    options: str = ""
    free_bytes: int = 0
    total_bytes: int = 0


class ArmFacts(Frozen):
    """The build of an arm in its own words, and its settings as the server reported them."""

    build: Mapping[str, str | int | bool]
    settings: Mapping[str, str] = {}


class Environment(Frozen):
    """Machine, builds, settings, hashes of files."""

    steelyard: SteelyardFacts = SteelyardFacts()
    machine: MachineFacts = MachineFacts()
    disk: DiskFacts = DiskFacts()
    arms: Mapping[str, ArmFacts] = {}
    files: Mapping[str, str] = {}
    """What → its SHA-256."""
    workload: Mapping[str, object] = {}
    """The study's choice of workload, as it was resolved."""

    def settings(self, arm: str) -> Mapping[str, str]:
        """Settings as an arm's server reported them."""
        return self.arms[arm].settings if arm in self.arms else {}
