"""Reads a whole record into one frozen value; records of format 1 through upgrade.py."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from steelyard.model.errors import RecordError
from steelyard.record.environment import Environment, Inspection
from steelyard.record.epoch import EndLine, Epoch, EpochLine, EventLine
from steelyard.record.plan import CountedChoice, Plan
from steelyard.record.record import PLAN, STUDY_FILE, Record, damage_named
from steelyard.record.slice import SliceLine
from steelyard.record.spent import SpentLine
from steelyard.record.totals import epochs_of
from steelyard.record.turns.turn import LostTurnLine, TurnLine
from steelyard.record.upgrade import (
    RawLine,
    end_of,
    inspection_of,
    upgrade_plan,
    upgrade_slice,
    upgrade_telemetry,
    upgrade_verdict,
)
from steelyard.record.verdict import Verdict
from steelyard.study.budget import FixedCount
from steelyard.study.read import read_recorded_study
from steelyard.study.study import Study

ENVIRONMENT = "environment.json"
INSPECTION = "inspection.json"
SLICES = "slices.jsonl"
TELEMETRY = "telemetry.jsonl"
VERDICT = "verdict.json"
JUDGED = "interrupted: judged by what there was"
"""The event of a Ctrl-C."""
GIVEN_UP = "given up: judged by what there was"
"""The event of too many lost epochs in a row."""
RESUMED = "resumed"


@dataclass(frozen=True)
class RecordContents:
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
    spent: tuple[SpentLine, ...] = ()
    """Where the wall time went, of all sittings; empty in records from before it was kept."""


@dataclass(frozen=True)
class MeasuredTurn:
    """A finished turn: its line and its slices, those of the warm-up among them."""

    line: TurnLine
    slices: tuple[SliceLine, ...]


@dataclass(frozen=True)
class Telemetry:
    """What telemetry.jsonl holds, each part in order."""

    epochs: tuple[EpochLine, ...]
    """The line of every epoch that was finished; a torn one is not among them."""
    events: tuple[EventLine, ...]
    """What happened to the weighing."""
    end: EndLine | None
    turns: tuple[TurnLine, ...] = ()
    """The line of every turn that was finished, also of an epoch that was not."""
    lost_turns: tuple[LostTurnLine, ...] = ()
    """Of every turn that was lost, likewise."""
    spent: tuple[SpentLine, ...] = ()


@dataclass(frozen=True)
class RecordLines:
    """The lines of telemetry.jsonl and of slices.jsonl, where both are needed more than once."""

    telemetry: Telemetry
    slices: Sequence[SliceLine]
    """Every slice in the order in which they ended, those of the pilot among them."""


def read_lines(record: Record) -> RecordLines:
    """Both files; RecordError where one is damaged."""
    with _uncollected():
        telemetry = _telemetry(record, _raw_verdict)
        return RecordLines(telemetry, tuple(read_slices(record)))


def read_recorded(record: Record, lines: RecordLines | None = None) -> RecordContents:
    """The whole record, every file read once; RecordError where a part is missing or damaged.
    `lines`: of this record, where they were read before."""
    with damage_named():
        return _whole(record, lines)


def _whole(record: Record, lines: RecordLines | None) -> RecordContents:
    raw, environment = _raw_plan(record), _raw_environment(record) or {}
    plan = Plan.of_json(raw, _place(record, PLAN))
    verdict = cache(_raw_verdict)  # few need it
    telemetry = _telemetry(record, verdict) if lines is None else lines.telemetry
    return RecordContents(
        directory=str(record.directory),
        study=as_weighed(read_study_file(record), plan.counted),
        plan=plan,
        environment=Environment.of_json(environment, _place(record, ENVIRONMENT)),
        inspection=_inspection(record, verdict, raw, environment),
        epochs=finished_epochs(record, telemetry, lines.slices if lines else None),
        events=telemetry.events,
        end=telemetry.end,
        spent=telemetry.spent,
    )


def as_weighed(study: Study, counted: CountedChoice | None) -> Study:
    """The study with slices by executions where the pilot chose them."""
    if counted is None:
        return study
    cut = FixedCount(each=counted.each, blocks=counted.blocks, warmup=counted.warmup)
    return study.model_copy(
        update={
            "budget": study.budget.model_copy(update={"counted": cut}),
            "workload": study.workload.model_copy(update={"clients": counted.clients}),
        }
    )


def read_study_file(record: Record) -> Study:
    """The study as it was resolved; StudyError where it cannot be read."""
    return read_recorded_study(record.directory / STUDY_FILE)


def read_plan(record: Record) -> Plan:
    """plan.json."""
    return Plan.of_json(_raw_plan(record), _place(record, PLAN))


def read_environment(record: Record) -> Environment | None:
    """environment.json; None where the weighing did not come so far."""
    raw = _raw_environment(record)
    return None if raw is None else Environment.of_json(raw, _place(record, ENVIRONMENT))


def read_inspection(record: Record) -> Inspection | None:
    """inspection.json; None where there is none."""
    if not (record.directory / INSPECTION).exists():
        return None
    return Inspection.of_json(record.read(INSPECTION), _place(record, INSPECTION))


def read_verdict(record: Record) -> Verdict | None:
    """verdict.json; None where there is none yet."""
    raw = _raw_verdict(record)
    return None if raw is None else Verdict.of_json(raw, _place(record, VERDICT))


def read_slices(record: Record) -> Iterator[SliceLine]:
    """Every slice in the order in which they ended, those of the pilot among them."""
    place = _place(record, SLICES)
    for line in record.lines(SLICES):
        yield SliceLine.of_json(upgrade_slice(line), place)


def read_telemetry(record: Record) -> Telemetry:
    """telemetry.jsonl."""
    return _telemetry(record, lambda _: None)


def finished_epochs(
    record: Record,
    telemetry: Telemetry | None = None,
    slices: Iterable[SliceLine] | None = None,
) -> tuple[Epoch, ...]:
    """Every epoch that was finished, in order, with the totals over its slices; `telemetry` and
    `slices`: of this record, where they were read before. RecordError: some of it is missing."""
    read = telemetry or read_telemetry(record)
    for number, line in enumerate(read.epochs):
        if line.epoch != number:
            raise RecordError(
                f"epoch {number + 1} is missing in {_place(record, TELEMETRY)}, and later ones are "
                "there",
                hint=_COPY_AGAIN,
            )
    with _uncollected():
        every = read_slices(record) if slices is None else slices
        totals = epochs_of(every, read.epochs, read.turns)
    epochs = tuple(
        Epoch(line, epoch_totals) for line, epoch_totals in zip(read.epochs, totals, strict=True)
    )
    for epoch in epochs:
        _require_slices(record, epoch)
    return epochs


_COPY_AGAIN = "Copy the record once more from where it was made, and not while it is written."


def _require_slices(record: Record, epoch: Epoch) -> None:
    """RecordError: slices of a finished epoch are not there. What they took of the driver's
    processor time adds up to what the epoch's line has, unless a slice was dropped."""
    for arm, line in epoch.line.arms.items():
        totals = epoch.totals.arms.get(arm)
        if totals is None or totals.dropped or totals.driver_cpu_ns >= line.driver_cpu_ns:
            continue
        raise RecordError(
            f'slices of arm "{arm}" in epoch {epoch.line.epoch + 1} are missing in '
            f"{_place(record, SLICES)}",
            detail="The file was cut short, by a power failure perhaps, or copied while the record "
            "was written.",
            hint=f"{_COPY_AGAIN} Or delete the line of that epoch and all later ones in "
            "telemetry.jsonl: --resume measures them again.",
        )


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without searches for cycles, which lines have none of: each search walks over all that were
    read so far, a third of the time for ten thousand."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def turns_of_torn_epochs(
    record: Record, telemetry: Telemetry
) -> dict[tuple[int, str], MeasuredTurn]:
    """(epoch, arm) → each finished turn of an epoch that was not."""
    finished = {line.epoch for line in telemetry.epochs}
    torn = {(turn.epoch, turn.arm): turn for turn in telemetry.turns if turn.epoch not in finished}
    slices: dict[tuple[int, str], list[SliceLine]] = {key: [] for key in torn}
    for line in read_slices(record) if torn else ():
        key = line.epoch, line.arm
        if key in torn and line.attempt == torn[key].attempt:
            slices[key].append(line)
    return {key: MeasuredTurn(line, tuple(slices[key])) for key, line in torn.items()}


def losses_of_torn_epochs(telemetry: Telemetry) -> dict[tuple[int, str], LostTurnLine]:
    """(epoch, arm) → each lost turn of an epoch that was not finished."""
    finished = {line.epoch for line in telemetry.epochs}
    lost = telemetry.lost_turns
    return {(loss.epoch, loss.arm): loss for loss in lost if loss.epoch not in finished}


RawVerdict = Callable[[Record], RawLine | None]
"""Reads the verdict of a record, where it has one: of format 1 it has what other files lack."""


def _telemetry(record: Record, verdict: RawVerdict) -> Telemetry:
    """`verdict`: reads that of a record of format 1, which has its end: the telemetry has none."""
    place = _place(record, TELEMETRY)
    lines = [upgrade_telemetry(line) for line in record.lines(TELEMETRY)]
    kinds = ("epoch", "event", "end", "turn", "lost turn", "spent")
    parts: dict[str, list[RawLine]] = {kind: [] for kind in kinds}
    for line in lines:
        parts.setdefault(line.get("type", ""), []).append(line)
    epochs = {line.epoch: line for line in (EpochLine.of_json(x, place) for x in parts["epoch"])}
    if not parts["end"] and (stated := verdict(record)) is not None:
        parts["end"] = [end_of(stated, lines)]
    return Telemetry(
        epochs=tuple(epochs[epoch] for epoch in sorted(epochs)),
        events=tuple(EventLine.of_json(line, place) for line in parts["event"]),
        end=EndLine.of_json(parts["end"][-1], place) if parts["end"] else None,
        turns=tuple(TurnLine.of_json(line, place) for line in parts["turn"]),
        lost_turns=tuple(LostTurnLine.of_json(line, place) for line in parts["lost turn"]),
        spent=tuple(SpentLine.of_json(line, place) for line in parts["spent"]),
    )


def _raw_plan(record: Record) -> RawLine:
    return upgrade_plan(record.read(PLAN))


def _raw_environment(record: Record) -> RawLine | None:
    there = (record.directory / ENVIRONMENT).exists()
    return record.read(ENVIRONMENT) if there else None


def _raw_verdict(record: Record) -> RawLine | None:
    there = (record.directory / VERDICT).exists()
    with damage_named():
        return upgrade_verdict(record.read(VERDICT)) if there else None


def _inspection(
    record: Record, verdict: RawVerdict, plan: RawLine, environment: RawLine
) -> Inspection:
    if (record.directory / INSPECTION).exists():
        return Inspection.of_json(record.read(INSPECTION), _place(record, INSPECTION))
    stated = inspection_of(verdict(record), plan, environment)
    return Inspection.of_json(stated, _place(record, VERDICT))


def _place(record: Record, name: str) -> str:
    return f'"{record.directory / name}"'
