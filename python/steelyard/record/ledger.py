"""Keeps the balance's ledger: what weighings of equal arms read on a machine, a line a time.

`records/ledger.jsonl`, append-only. A line holds the log ratios of the epochs that one weighing
told at one time; a weighing that is gone on with tells the rest later, under the same identity. A
line of the type "new" begins a new ledger of its machine: what stands before it is kept and counts
no more. A line that cannot be read (a crash tore it) is skipped and counted, never repaired.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.model.errors import RecordError

Json = dict[str, Any]
LEDGER = Path("records") / "ledger.jsonl"
"""Where the command line keeps it, wherever a record is kept: it is the machine's, not the
record's."""
MACHINE = ("hostname", "architecture", "processor", "processors")
"""What makes a machine the same one. Not its kernel, memory or boot: a balance that is off does not
become true by a restart."""


@dataclass(frozen=True)
class Told:
    """What one weighing told at one time."""

    weighing: str  # identity, from its plan
    first: int  # epoch of the first log ratio
    d: tuple[float, ...]  # by epoch; NaN where there was no finite one
    s0: float

    @property
    def end(self) -> int:
        """One past the last epoch told."""
        return self.first + len(self.d)


@dataclass(frozen=True)
class Page:
    """What a ledger holds of one machine since its present ledger was begun."""

    told: tuple[Told, ...] = ()
    begun: int = 1  # ledgers of this machine so far, the present one included
    skipped: int = 0  # lines of the file that could not be read
    known: Mapping[str, int] = field(default_factory=dict)
    """Weighing → how many of its epochs were told already, to an earlier ledger or this one."""


@dataclass(frozen=True)
class Ledger:
    """The file of a ledger, which need not exist yet."""

    path: Path

    def page(self, machine: Mapping[str, Any]) -> Page:
        """The page of a machine; RecordError where the file cannot be read at all."""
        own, told, begun, skipped = identity(machine), list[Told](), 1, 0
        known: dict[str, int] = {}
        for line in self._lines():
            if line is None:
                skipped += 1
            elif line["machine"] != own:
                continue
            elif line["told"] is None:
                begun, told = begun + 1, []
            elif line["told"].first == known.get(line["told"].weighing, 0):
                told.append(line["told"])
                known[line["told"].weighing] = line["told"].end
        return Page(tuple(told), begun, skipped, known)

    def tell(
        self,
        machine: Mapping[str, Any],
        weighing: str,
        first: int,
        d: Sequence[float | None],
        facts: Mapping[str, Any],
    ) -> None:
        """Append what a weighing tells from epoch `first` on; `facts` holds s0 and what a person
        may want to know. OSError where it cannot be written."""
        what = {"weighing": weighing, "first_epoch": first, "d": list(d), **facts}
        self._append({"type": "weighing", **_now_on(machine), **what})

    def begin_anew(self, machine: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Begin a new ledger of this machine; `facts`: how the closed one stood."""
        self._append({"type": "new", **_now_on(machine), **facts})

    def _append(self, line: Json) -> None:
        """One line, on disk when this returns; after a torn line it begins on a line of its own."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = not self.path.exists() or self.path.read_bytes()[-1:] in (b"", b"\n")
        with self.path.open("ab") as stream:
            stream.write((b"" if whole else b"\n") + json.dumps(line).encode() + b"\n")
            stream.flush()
            os.fsync(stream.fileno())

    def _lines(self) -> Iterator[Json | None]:
        """{"machine", "told"} of every line, None for one that cannot be read."""
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return
        except OSError as reason:
            raise RecordError(f"could not read the ledger: {reason}") from reason
        for line in text.split("\n"):
            if line.strip():
                yield _read(line)


def identity(machine: Mapping[str, Any]) -> Json:
    """What tells a machine from others in a ledger."""
    return {name: machine.get(name) for name in MACHINE}


def _now_on(machine: Mapping[str, Any]) -> Json:
    return {"at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "machine": identity(machine)}


def _read(text: str) -> Json | None:
    try:
        line = json.loads(text)
        machine = dict(line["machine"])
        if line["type"] == "new":
            return {"machine": machine, "told": None}
        told = Told(
            weighing=str(line["weighing"]),
            first=int(line["first_epoch"]),
            d=tuple(math.nan if x is None else float(x) for x in line["d"]),
            s0=float(line["s0"]),
        )
    except (ValueError, TypeError, KeyError):
        return None
    return {"machine": machine, "told": told} if told.s0 > 0 else None
