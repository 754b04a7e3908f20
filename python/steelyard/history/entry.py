"""Holds what the history keeps of one record: where it stands, what was asked, what was read."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator

from steelyard.record.contrast import ArmValues, Percent
from steelyard.record.environment import OF_SCRIPT
from steelyard.record.frozen import Frozen
from steelyard.record.ledger import LedgerMachine
from steelyard.record.reader import ENVIRONMENT
from steelyard.record.record import PLAN, STUDY_FILE

STAMP = "%Y-%m-%dT%H%M%SZ"
"""In UTC, as folders of records are named."""
State = Literal["judged", "interrupted", "no verdict"]
"""interrupted: judged by what there was; no verdict: still going, or stopped before the end."""


def time_of(at: str) -> datetime | None:
    """When that is: `"2026-03-01T120000Z"`; None: it is no time, as that of 30 February."""
    with suppress(ValueError):
        time = datetime.strptime(at, STAMP).replace(tzinfo=UTC)
        return time if time.strftime(STAMP) == at else None
    return None


def _stamp(at: str) -> str:
    if time_of(at) is None:
        raise ValueError("no time: 2026-03-01T120000Z is one")
    return at


def moment(at: str) -> str:
    """`"2026-03-01T120000Z"` → `"2026-03-01 12:00"`: UTC, to the minute."""
    return f"{at[:10]} {at[11:13]}:{at[13:15]}"


class KnownBuild(Frozen):
    """The build that an arm ran on, in its own words; empty where the record does not have it."""

    kind: str = ""
    """Of engine: "postgres", "mysql"."""
    version: str = ""
    version_number: int = 0
    """As server_version_num: 180004."""
    builder: str = ""
    configure: str = ""
    cflags: str = ""
    assertions: bool = False
    bindir: str = ""
    origin: str = ""


class KnownScript(Frozen):
    """A script of a mix: the change of its mean time."""

    script: str
    share_percent: float
    """Of the control's time on all scripts."""
    estimate_percent: Percent
    low_percent: Percent
    high_percent: Percent


class KnownReading(Frozen):
    """One contrast of a record. Percents are (arm / control - 1) * 100 of the metric itself."""

    question: str
    """Which question it answers: the name of `question.py`."""
    arm: str
    control: str
    metric: str
    unit: str
    higher_is_better: bool
    estimate_percent: Percent
    low_percent: Percent
    high_percent: Percent
    confidence: float
    margin_percent: float
    verdict: str
    nonzero: bool
    epochs: int
    d: tuple[float | None, ...]
    """Log ratio of every epoch; None: it has none, or an infinite one."""
    look: str
    sentence: str
    doubts: tuple[str, ...] = ()
    """Names of its threats."""
    true_percent: float | None = None
    """Where the truth is known: of equal arms and known weights."""
    scripts: tuple[KnownScript, ...] = ()
    """Of a mix of several, the slowest first."""
    control_values: ArmValues = ArmValues()
    arm_values: ArmValues = ArmValues()

    @property
    def idle_epochs(self) -> int:
        """Epochs that are in the interval with an infinite log ratio: one arm did no work there."""
        finite = sum(log is not None and math.isfinite(log) for log in self.d)
        return max(0, self.epochs - finite)

    @property
    def pair(self) -> str:
        """`"off against on"`."""
        return f"{self.arm} against {self.control}"


class Entry(Frozen):
    """One record."""

    path: str
    """Below the folder of the history, with slashes."""
    hashes: Mapping[str, str]
    """File of the record → its SHA-256, of those that are read for the history."""
    measured_bytes: int
    """Size of slices.jsonl, which only grows."""
    record_format: int
    state: State
    at: Annotated[str, AfterValidator(_stamp)]
    """When it was weighed, UTC: `"2026-03-01T120000Z"`."""
    at_from: Literal["name", "plan", "file"]
    """name: a folder is named by it; plan: none is, and the plan says it; file: neither, and
    plan.json is of that time."""
    study: str
    title: str
    question: str
    seed: int
    layout: str
    machine: LedgerMachine
    kernel: str = ""
    boot: str = ""
    """One start of one kernel (boot_id of Linux), which all containers of a machine see; empty:
    the record does not have it."""
    steelyard: str = ""
    """Version of the tool."""
    keys: Mapping[str, str]
    """Key of the study → value, where that is not the default: `"workload.clients"` → `"32"`."""
    builds: Mapping[str, KnownBuild]
    """By arm."""
    settings: Mapping[str, str] = {}
    """By arm: SHA-256 of its settings as the server reported them, without those that name places
    of one weighing."""
    files: Mapping[str, str] = {}
    """What took part → its SHA-256, as environment.json has it."""
    kind: str = ""
    """Of host, as whoever brought the record here said; empty: not known."""
    sweep: str = ""
    """Of a sweep's point, the folder of the sweep; empty: it is none."""
    readings: tuple[KnownReading, ...] = ()
    interrupted: bool = False
    command: str = ""

    @property
    def known_truth(self) -> bool:
        """Whether it weighed equal arms or known weights: a check of the balance."""
        return any(reading.true_percent is not None for reading in self.readings)

    @property
    def weighing(self) -> str:
        """The same in every copy of a record, and in no other: what its plan, its study and its
        environment are made of."""
        return " ".join(self.hashes.get(name, "") for name in (PLAN, STUDY_FILE, ENVIRONMENT))

    @property
    def script_texts(self) -> str:
        """`"SHA-256 3fa9c1d2e4b5…"` over the texts of all scripts that took part; empty: the record
        does not have them."""
        texts = sorted(
            f"{n} {sha256}" for n, sha256 in self.files.items() if n.startswith(OF_SCRIPT)
        )
        digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
        return f"SHA-256 {digest[:12]}…" if texts else ""

    @property
    def machine_words(self) -> str:
        """`"vm, AMD EPYC, 2 processors"`."""
        count = self.machine.processors
        parts = [self.machine.hostname, self.machine.processor, count and f"{count} processors"]
        return ", ".join(part for part in parts if part) or "unknown machine"


class Unread(Frozen):
    """A folder with files of a record that could not be read into an `Entry`, and why."""

    path: str
    reason: str
    """In one line, lower case, without a full stop."""
