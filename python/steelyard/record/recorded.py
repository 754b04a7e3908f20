"""Reads a whole record into one frozen value; records of format 1 through upgrade.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from steelyard.record.environment import Environment, Inspection
from steelyard.record.epoch import EndLine, Epoch, EpochLine, EventLine
from steelyard.record.plan import Plan
from steelyard.record.record import STUDY_FILE, Record
from steelyard.record.slice import SliceLine
from steelyard.record.totals import epochs_of
from steelyard.record.turn import TurnLine
from steelyard.record.upgrade import (
    end_of,
    inspection_of,
    upgrade_plan,
    upgrade_slice,
    upgrade_telemetry,
    upgrade_verdict,
)
from steelyard.record.verdict import Verdict
from steelyard.study.read import read_recorded_study
from steelyard.study.study import Study

PLAN = "plan.json"
ENVIRONMENT = "environment.json"
INSPECTION = "inspection.json"
SLICES = "slices.jsonl"
TELEMETRY = "telemetry.jsonl"
VERDICT = "verdict.json"
JUDGED = "interrupted: judged by what there was"
"""The event of a Ctrl-C."""
RESUMED = "resumed"


@dataclass(frozen=True)
class Recorded:
    """Everything a verdict stands on, as a record holds it."""

    directory: str
    study: Study
    plan: Plan
    environment: Environment
    inspection: Inspection
    epochs: tuple[Epoch, ...] = ()
    events: tuple[EventLine, ...] = ()
    end: EndLine | None = None
    """None: it has not ended yet."""


@dataclass(frozen=True)
class TurnDone:
    """A finished turn: its line and its slices, those of the warm-up among them."""

    line: TurnLine
    slices: tuple[SliceLine, ...]


def read_recorded(record: Record) -> Recorded:
    """The whole record; RecordError where a part is missing or damaged."""
    plan = read_plan(record)
    telemetry = list(_telemetry(record))
    verdict = _raw_verdict(record)
    ends = [line for line in telemetry if line.get("type") == "end"]
    if not ends and verdict is not None:
        ends = [end_of(verdict, telemetry)]
    return Recorded(
        directory=str(record.directory),
        study=read_study_file(record),
        plan=plan,
        environment=read_environment(record) or Environment(),
        inspection=_inspection(record, verdict),
        epochs=tuple(finished_epochs(record)),
        events=tuple(_events(telemetry, record)),
        end=EndLine.of_json(ends[-1], _place(record, TELEMETRY)) if ends else None,
    )


def read_study_file(record: Record) -> Study:
    """The study as it was resolved; StudyError where it cannot be read."""
    return read_recorded_study(record.directory / STUDY_FILE)


def read_plan(record: Record) -> Plan:
    """plan.json."""
    return Plan.of_json(upgrade_plan(record.read(PLAN)), _place(record, PLAN))


def read_environment(record: Record) -> Environment | None:
    """environment.json; None where the weighing did not come so far."""
    if not (record.directory / ENVIRONMENT).exists():
        return None
    return Environment.of_json(record.read(ENVIRONMENT), _place(record, ENVIRONMENT))


def read_verdict(record: Record) -> Verdict | None:
    """verdict.json; None where there is none yet."""
    raw = _raw_verdict(record)
    return None if raw is None else Verdict.of_json(raw, _place(record, VERDICT))


def read_slices(record: Record) -> Iterator[SliceLine]:
    """Every slice in the order in which they ended, those of the pilot among them."""
    for line in record.lines(SLICES):
        yield SliceLine.of_json(upgrade_slice(line), _place(record, SLICES))


def read_events(record: Record) -> list[EventLine]:
    """What happened to the weighing, in order."""
    return list(_events(list(_telemetry(record)), record))


def epoch_lines(record: Record) -> list[EpochLine]:
    """The line of every epoch that was finished, in order; a torn one is not among them."""
    place = _place(record, TELEMETRY)
    lines = [
        EpochLine.of_json(line, place) for line in _telemetry(record) if line.get("type") == "epoch"
    ]
    last = {line.epoch: line for line in lines}
    return [last[epoch] for epoch in sorted(last)]


def finished_epochs(record: Record) -> list[Epoch]:
    """Every epoch that was finished, in order, with the totals over its slices."""
    lines = epoch_lines(record)
    totals = epochs_of(read_slices(record), lines, turn_lines(record))
    return [Epoch(line, one) for line, one in zip(lines, totals, strict=True)]


def turn_lines(record: Record) -> list[TurnLine]:
    """The line of every turn that was finished, in order."""
    place = _place(record, TELEMETRY)
    lines = (line for line in _telemetry(record) if line.get("type") == "turn")
    return [TurnLine.of_json(line, place) for line in lines]


def turns_of_torn_epochs(record: Record) -> dict[tuple[int, str], TurnDone]:
    """(epoch, arm) → each finished turn of an epoch that was not."""
    finished = {line.epoch for line in epoch_lines(record)}
    torn = {(one.epoch, one.arm): one for one in turn_lines(record) if one.epoch not in finished}
    own: dict[tuple[int, str], list[SliceLine]] = {key: [] for key in torn}
    for line in read_slices(record) if torn else ():
        key = line.epoch, line.arm
        if key in torn and line.attempt == torn[key].attempt:
            own[key].append(line)
    return {key: TurnDone(line, tuple(own[key])) for key, line in torn.items()}


def _events(telemetry: list[dict[str, Any]], record: Record) -> Iterator[EventLine]:
    for line in telemetry:
        if line.get("type") == "event":
            yield EventLine.of_json(line, _place(record, TELEMETRY))


def _telemetry(record: Record) -> Iterator[dict[str, Any]]:
    return map(upgrade_telemetry, record.lines(TELEMETRY))


def _raw_verdict(record: Record) -> dict[str, Any] | None:
    there = (record.directory / VERDICT).exists()
    return upgrade_verdict(record.read(VERDICT)) if there else None


def _inspection(record: Record, verdict: dict[str, Any] | None) -> Inspection:
    if (record.directory / INSPECTION).exists():
        return Inspection.of_json(record.read(INSPECTION), _place(record, INSPECTION))
    environment = record.directory / ENVIRONMENT
    raw = record.read(ENVIRONMENT) if environment.exists() else {}
    made = inspection_of(verdict, upgrade_plan(record.read(PLAN)), raw)
    return Inspection.of_json(made, _place(record, VERDICT))


def _place(record: Record, name: str) -> str:
    return f'"{record.directory / name}"'
