"""Keeps what recorded weighings of equal arms measured, slice by slice, for replays.

    python -m validation.traces RECORDS…

takes every finished record below the given directories and writes one small file each into
validation/traces/. A trace holds readings alone: no path, no name of a machine.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.model.readings import ArmTotals, EpochTotals, SliceTotals
from steelyard.record.reader import finished_epochs, read_slices
from steelyard.record.record import Record

FOLDER = Path(__file__).with_name("traces")
COLUMNS = ("epoch", "block", "position", "arm", "slot", "transactions", "busy_us", "start_ms")
NS_PER_US = 1_000
NS_PER_MS = 1_000_000
OF_THE_MACHINE = ("kernel", "processor", "allowed_processors", "memory_bytes", "virtual")

Row = tuple[int, int, int, str, int, int, int, int]


@dataclass(frozen=True)
class Trace:
    """The slices of one weighing of equal arms, and its epochs as the product holds them."""

    head: Mapping[str, Any]
    """study, seed, slice_ns, clients, placement, started, machine."""
    epochs: tuple[EpochTotals, ...]

    @property
    def slice_ns(self) -> int:
        """The length of its slices."""
        return int(self.head["slice_ns"])

    @property
    def placement(self) -> str:
        """Where backends stood: "symmetric" or "free"."""
        return str(self.head["placement"])


def head_of(record: Record) -> dict[str, Any]:
    """What a trace says of itself."""
    plan, environment = record.read("plan.json"), record.read("environment.json")
    planned = {name: plan[name] for name in ("study", "seed", "slice_ns", "clients", "placement")}
    machine = {name: environment["machine"][name] for name in OF_THE_MACHINE}
    return {**planned, "machine": machine}


def rows_of(record: Record) -> list[Row]:
    """The measured slices of the finished epochs, in the order they were measured."""
    finished = {
        epoch.line.epoch: epoch.line
        for epoch in finished_epochs(record)
        if epoch.line.outcome == "complete"
    }
    rows: list[Row] = []
    start_ns: int | None = None
    for line in read_slices(record):
        epoch = finished.get(line.epoch)
        if line.kind != "measured" or epoch is None or line.attempt != epoch.attempt:
            continue
        start_ns = line.start_ns if start_ns is None else start_ns
        rows.append((
            line.epoch,
            line.block,
            line.position,
            line.arm,
            epoch.slots[line.arm],
            line.transactions,
            round(line.busy_with_debt_ns / NS_PER_US),
            round((line.start_ns - start_ns) / NS_PER_MS),
        ))  # fmt: skip
    return rows


def write(head: Mapping[str, Any], rows: Sequence[Row], file: Path) -> None:
    """Write a trace; the same readings make the same bytes."""
    text = io.StringIO()
    text.write(f"# {json.dumps(head, sort_keys=True)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(rows)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))


def read(file: Path) -> Trace:
    """Read a trace back."""
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    head = json.loads(lines[0].removeprefix("# "))
    table = csv.DictReader(lines[1:])
    by_epoch: dict[int, list[dict[str, str]]] = {}
    for row in table:
        by_epoch.setdefault(int(row["epoch"]), []).append(row)
    clients = int(head["clients"])
    return Trace(
        head, tuple(_epoch(number, by_epoch[number], clients) for number in sorted(by_epoch))
    )


def _epoch(number: int, rows: Sequence[Mapping[str, str]], clients: int) -> EpochTotals:
    arms = {}
    for name in sorted({row["arm"] for row in rows}):
        arm_rows = [row for row in rows if row["arm"] == name]
        slices = tuple(_slice(row) for row in arm_rows)
        arms[name] = arm_of(name, int(arm_rows[0]["slot"]), clients, slices)
    slots = {name: arm.slot for name, arm in arms.items()}
    return EpochTotals(number, slots, tuple(arms), arms)


def _slice(row: Mapping[str, str]) -> SliceTotals:
    busy_ns = int(row["busy_us"]) * NS_PER_US
    return SliceTotals(
        block=int(row["block"]),
        position=int(row["position"]),
        transactions=int(row["transactions"]),
        busy_ns=busy_ns,
        latency_sum_ns=busy_ns,
    )


def arm_of(name: str, slot: int, clients: int, slices: tuple[SliceTotals, ...]) -> ArmTotals:
    """The totals of some slices of one arm."""
    busy_ns = sum(totals.busy_ns for totals in slices)
    done = sum(totals.transactions for totals in slices)
    return ArmTotals(name, slot, clients, done, busy_ns, latency_sum_ns=busy_ns, slices=slices)


def traces(folder: Path = FOLDER) -> tuple[Trace, ...]:
    """The traces that are there, in the order of their seeds."""
    stored = [read(file) for file in sorted(folder.glob("*.csv.gz"))]
    return tuple(sorted(stored, key=lambda trace: int(trace.head["seed"])))


def digest(folder: Path = FOLDER) -> str:
    """Twelve hexadecimal digits of what the traces hold."""
    whole = hashlib.sha256()
    for file in sorted(folder.glob("*.csv.gz")):
        whole.update(gzip.decompress(file.read_bytes()))
    return whole.hexdigest()[:12]


def records_below(directories: Sequence[Path]) -> Iterator[Record]:
    """Every finished record at or below some directories."""
    for directory in directories:
        for verdict in sorted(directory.rglob("verdict.json")):
            if (verdict.parent / "plan.json").exists():
                yield Record.open(verdict.parent)


def main() -> int:
    """Extract; prints what was written."""
    parser = argparse.ArgumentParser(description="extract traces from records of equal arms")
    parser.add_argument("records", type=Path, nargs="+")
    options = parser.parse_args()
    written = 0
    for record in records_below(options.records):
        head, rows = head_of(record), rows_of(record)
        file = FOLDER / f"{head['study']}-{int(head['seed']):05d}.csv.gz"
        write(head, rows, file)
        written += file.stat().st_size
        print(f"{file.name}: {len(rows)} slices, {file.stat().st_size} bytes")
    print(f"{written} bytes in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
