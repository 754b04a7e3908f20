"""Reads and appends to the A/A ledger: what weighings of equal arms read on a machine.

`records/ledger.jsonl`, append-only. A line holds the log ratios of the epochs that one weighing
added at one time; a resumed weighing adds the rest later, under the same identity. A line of the
type "new" begins a new ledger of its machine: what stands before it is kept and counts no more. A
line that cannot be read (a crash tore it) is skipped and counted, never repaired.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from steelyard.model.errors import RecordError
from steelyard.model.files.bounded_json import JsonError, parse_json, read_bounded
from steelyard.model.files.own_directory import OwnDirectory
from steelyard.record.environment import MachineFacts
from steelyard.record.epoch import LedgerBalance
from steelyard.record.frozen import Frozen

LEDGER = Path("records") / "ledger.jsonl"
MOST_BYTES = 64 << 20
"""Of a ledger: a hundred thousand weighings."""
"""Where the command line keeps it, wherever a record is kept: it is the machine's, not the
record's."""


class LedgerMachine(Frozen):
    """What makes a machine the same one. Not its kernel, memory or boot: a balance that is off does
    not become true by a restart."""

    hostname: str | None = None
    architecture: str | None = None
    processor: str | None = None
    processors: int | None = None

    @classmethod
    def of(cls, machine: MachineFacts) -> Self:
        """The identity of a machine in a ledger; None where its kernel does not tell."""
        return cls(**{name: getattr(machine, name) or None for name in cls.model_fields})


class LedgerLine(Frozen):
    """What one weighing added at one time."""

    model_config = ConfigDict(extra="ignore")  # ledgers are kept for years

    type: Literal["weighing"]
    at: str = ""
    machine: LedgerMachine
    weighing: str
    """Its identity, from its plan."""
    first_epoch: int
    """Epoch of the first log ratio."""
    d: tuple[float | None, ...]
    """By epoch; null where there was no finite one."""
    s0: Annotated[float, Field(gt=0)]
    """10-batch standard error of the log ratio in its pilot."""
    study: str = ""
    arm: str = ""
    control: str = ""
    metric: str = ""
    seed: int | None = None
    e_value: float | None = None
    """Of the ledger, with this line."""
    steelyard: str = ""
    """Version of the tool."""


class NewLedgerLine(Frozen):
    """The beginning of a new ledger of a machine."""

    model_config = ConfigDict(extra="ignore")

    type: Literal["new"]
    at: str = ""
    machine: LedgerMachine
    closed: LedgerBalance | None = None
    """How the one before stood."""


_LINE: TypeAdapter[LedgerLine | NewLedgerLine] = TypeAdapter(
    Annotated[LedgerLine | NewLedgerLine, Field(discriminator="type")]
)


@dataclass(frozen=True)
class LedgerReadings:
    """The log ratios that one weighing added at one time."""

    weighing: str
    first: int  # epoch of the first log ratio
    d: tuple[float, ...]  # by epoch; NaN where there was no finite one
    s0: float

    @property
    def end(self) -> int:
        """One past the last epoch."""
        return self.first + len(self.d)


@dataclass(frozen=True)
class Page:
    """What a ledger holds of one machine since its present ledger was begun."""

    readings: tuple[LedgerReadings, ...] = ()
    begun: int = 1  # ledgers of this machine so far, the present one included
    skipped: int = 0  # lines of the file that could not be read
    known: Mapping[str, int] = field(default_factory=dict)
    """Weighing → how many of its epochs stand here already, in an earlier ledger or this one."""


@dataclass(frozen=True)
class Ledger:
    """The file of a ledger, which need not exist yet."""

    path: Path

    def page(self, machine: LedgerMachine) -> Page:
        """The page of a machine; RecordError where the file cannot be read at all."""
        readings, begun, skipped = list[LedgerReadings](), 1, 0
        ends: dict[str, int] = {}
        for line in self._lines():
            if line is None:
                skipped += 1
            elif line.machine != machine:
                continue
            elif isinstance(line, NewLedgerLine):
                begun, readings = begun + 1, []
            elif line.first_epoch == ends.get(line.weighing, 0):
                d = tuple(math.nan if x is None else x for x in line.d)
                readings.append(LedgerReadings(line.weighing, line.first_epoch, d, line.s0))
                ends[line.weighing] = readings[-1].end
        return Page(tuple(readings), begun, skipped, ends)

    def add(self, line: LedgerLine) -> None:
        """Append what a weighing read. OSError where it cannot be written."""
        self._append(line)

    def begin_anew(self, machine: LedgerMachine, closed: LedgerBalance) -> None:
        """Begin a new ledger of this machine; `closed`: how the one before stood."""
        self._append(NewLedgerLine(type="new", machine=machine, closed=closed))

    def _append(self, line: LedgerLine | NewLedgerLine) -> None:
        """One line, on disk when this returns; after a torn line it begins on a line of its own."""
        OwnDirectory.make(self.path.parent)
        now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        text = json.dumps(line.model_copy(update={"at": now}).to_json())
        with (
            OwnDirectory.open(self.path.parent) as directory,
            directory.appending(self.path.name) as stream,
        ):
            end = stream.seek(0, os.SEEK_END)
            whole = not end or os.pread(stream.fileno(), 1, end - 1) == b"\n"
            stream.write((b"" if whole else b"\n") + text.encode() + b"\n")
            os.fsync(stream.fileno())

    def _lines(self) -> Iterator[LedgerLine | NewLedgerLine | None]:
        """Every line; None for one that cannot be read."""
        try:
            text = read_bounded(self.path, MOST_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            return
        except (OSError, JsonError) as reason:
            raise RecordError(f"could not read the ledger: {reason}") from reason
        for line in text.split("\n"):
            if line.strip():
                try:
                    yield _LINE.validate_python(parse_json(line))
                except (JsonError, ValidationError):
                    yield None
