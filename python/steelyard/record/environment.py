"""Where a weighing took place, as environment.json keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator

from steelyard.record.epoch import LedgerBalance
from steelyard.record.frozen import Frozen
from steelyard.record.machine import DriveHealth, Probe

OF_SCRIPT = "script "
"""Before the name of a script among the `files` of an environment."""


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
    memory_limit_bytes: int | None = 0
    """Of the tightest control group; None: there is none, 0: an older record does not say."""
    boot_id: str = ""


class DiskFacts(Frozen):
    """The file system that the slots stand on."""

    mount: str = ""
    type: str = ""
    device: str = ""
    options: str = ""
    free_bytes: int = 0
    total_bytes: int = 0
    devices: tuple[str, ...] = ()
    """That it rests on in the end, by their names in /sys/class/block."""
    unmapped: str = ""
    """Why no device is to be seen beneath it, or what one did is not counted."""
    holds_record: bool = False
    """Whether the record is written to one of these devices too."""


class ArmFacts(Frozen):
    """The build of an arm in its own words, and its settings as the server reported them."""

    build: Mapping[str, str | int | bool]
    settings: Mapping[str, str] = {}
    round_trip_us: float | None = None
    """Of the shortest statement, where the server is reached at an address."""
    notices: tuple[str, ...] = ()
    """What has to be said wherever a figure of it is shown, as its licence or its state asks."""


class FindingLine(Frozen):
    """What `steelyard doctor` sees of the host, without what it would have to measure."""

    name: str
    level: Literal["good", "note", "warning", "unseen"]
    seen: str
    matters_for: str
    advice: str
    source: str


def _name_alone(what: str) -> str:
    """Records of earlier versions have a setting's value too, which may be a password."""
    return what.partition(" = ")[0]


class NeutralisedFact(Frozen):
    """Something of the original that the copy is without."""

    what: Annotated[str, AfterValidator(_name_alone)]
    why: str


class ReplacedFact(Frozen):
    """A setting of the original's server in whose place the arms have another."""

    name: str
    theirs: str
    """Words such as "default" or "not shown" where it is no number or switch."""
    used: str
    why: str


class SourceFacts(Frozen):
    """External data, of which every arm has a copy."""

    kind: Literal["data directory", "base backup", "dump"]
    name: str
    """The last part of its path."""
    major: str | None = None
    """Of the server that it belonged to."""
    database: str
    """Its name in the original; empty: a dump does not say."""
    database_bytes: int
    neutralised: tuple[NeutralisedFact, ...] = ()
    doubts: tuple[str, ...] = ()
    """What may be otherwise than in the original."""
    replaced: tuple[ReplacedFact, ...] = ()
    settings_missing: str = ""
    """Why the arms have not the settings of its server, with what to do about it; empty: they
    have them, or the record is older."""

    @property
    def of_database(self) -> str:
        """`"database shop"`; empty: a dump that does not say."""
        return f"database {self.database}" if self.database else ""

    @property
    def changes(self) -> str:
        """How much is otherwise, in a line: `"13 settings left out, 4 replaced"`; empty: nothing
        is."""
        counts = ((len(self.neutralised), "left out"), (len(self.replaced), "replaced"))
        (first, what), *rest = [*(pair for pair in counts if pair[0]), (0, "")]
        noun = "setting" if first == 1 else "settings"
        clauses = [f"{first} {noun} {what}", *(f"{count} {how}" for count, how in rest if count)]
        return ", ".join(clauses) if first else ""


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
    source: SourceFacts | None = None
    """What was taken in; None: the workload loaded its own data."""
    findings: tuple[FindingLine, ...] = ()
    """Of the host, before the weighing."""
    probe: Probe | None = None
    """The last of the device that the slots stand on; None: none was kept."""
    probe_age_seconds: float | None = None
    """How long before the weighing it was taken."""
    drives: tuple[DriveHealth, ...] = ()
    """The drives beneath the slots, before the pilot of the first sitting."""

    def settings(self, arm: str) -> Mapping[str, str]:
        """Settings as an arm's server reported them."""
        return self.arms[arm].settings if arm in self.arms else {}


Difference = tuple[str, str, str]
"""(name, value of the control, value of the arm)."""


class ArmDifferences(Frozen):
    """Settings that differ between an arm and the control."""

    declared: tuple[Difference, ...] = ()
    derived: tuple[Difference, ...] = ()
    undeclared: tuple[Difference, ...] = ()


class ArmInspection(Frozen):
    """An arm against the control, before it is weighed."""

    may_differ: tuple[str, ...] = ()
    """Names of settings that may differ; "data_checksums" and "version" among them."""
    differences: ArmDifferences = ArmDifferences()
    builds: tuple[Difference, ...] = ()
    plans_meant: bool = False
    """Whether its treatment is meant to change plans, as settings of the planner do, or what was
    done with its data: other plans are then no doubt."""
    seen: tuple[tuple[str, str], ...] = ()
    """(threat, what was seen): of records of format 1, which kept no plans."""


class Inspection(Frozen):
    """What was found of the arms before the pilot, and what the A/A ledger said."""

    compared: int
    """Settings compared."""
    statements: int
    """Of the scripts, that have a plan: only these return or change rows."""
    writes: bool
    arms: Mapping[str, ArmInspection]
    """Arm → against the control."""
    pairs: Mapping[str, ArmInspection] = {}
    """Arm → against another one, that the study compares it with besides."""
    plans: Mapping[str, Mapping[str, str]] = {}
    """Arm, the control among them → statement → its plan."""
    build_profile: str = "release"
    """Of the load driver."""
    machine_changes: tuple[str, ...] = ()
    """What of the machine, or of Steelyard, was another one in a sitting after an interruption."""
    ledger: LedgerBalance | None = None
    """As it was consulted; None: there is none, or a new one begins with this weighing."""
    seen: tuple[tuple[str, str], ...] = ()
    """(threat, what was seen) about every arm: of records of format 1."""
