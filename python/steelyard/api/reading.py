"""Reads a record into a weighing as programs get it.

import steelyard
weighing = steelyard.read("records/checksums/latest")
frame = weighing.slice_frame()
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import cast

from steelyard.api.weighing import (
    Contrast,
    ContrastEpoch,
    VerdictWord,
    WeighedArm,
    Weighing,
)
from steelyard.history.entry import Entry
from steelyard.history.reading import entry_of, read_parts
from steelyard.model.estimate import Estimate
from steelyard.record.contrast import ArmValues, ContrastLine, control_and_arm_values
from steelyard.record.environment import ArmFacts
from steelyard.record.record import Record, damage_named
from steelyard.record.verdict import Verdict


def read(directory: str | PathLike[str]) -> Weighing:
    """The record in a directory, or behind a study's `latest`; of format 1 too.

    RecordError: it is none, or damaged; StudyError: its study cannot be read.
    """
    record = Record.open(Path(directory))
    with damage_named():
        return _weighing(record)


def _weighing(record: Record) -> Weighing:
    directory = record.directory
    parts = read_parts(record)
    entry = entry_of(parts, str(directory.resolve()), {})  # a link's folder may have another time
    verdict, study = parts.verdict, parts.study
    facts = parts.environment.arms
    values = _values(verdict)
    names = [arm.name for arm in (study.control, *study.arms)]
    return Weighing(
        directory=directory,
        study=entry.study,
        title=entry.title,
        question=entry.question,
        state=entry.state,
        at=_moment(entry),
        machine=entry.machine_words,
        layout=entry.layout,
        seed=entry.seed,
        control=names[0],
        arms={
            name: _arm(name, name == names[0], entry, facts.get(name), values.get(name))
            for name in names
        },
        contrasts=tuple(_pair(line) for line in verdict.every_contrast) if verdict else (),
        sentence=verdict.sentence if verdict else "",
    )


def _moment(entry: Entry) -> datetime | None:
    """None where only the time of a file says it, which a copy may have lost."""
    if entry.at_from == "file":
        return None
    return datetime.strptime(entry.at, "%Y-%m-%dT%H%M%SZ").replace(tzinfo=UTC)


def _values(verdict: Verdict | None) -> Mapping[str, ArmValues]:
    """By arm; of the control as its first contrast has them."""
    values: dict[str, ArmValues] = {}
    for line in verdict.contrasts if verdict is not None else ():
        control, arm = control_and_arm_values(line, verdict.latency if verdict else ())
        values.setdefault(line.control, control)
        values.setdefault(line.arm, arm)
    return values


def _arm(
    name: str, is_control: bool, entry: Entry, facts: ArmFacts | None, values: ArmValues | None
) -> WeighedArm:
    values = values or ArmValues()
    return WeighedArm(
        name=name,
        is_control=is_control,
        version=entry.builds[name].version if name in entry.builds else "",
        settings=dict(facts.settings) if facts is not None else {},
        throughput=values.throughput,
        latency_us_p50=values.latency_us_p50,
        latency_us_p95=values.latency_us_p95,
        latency_us_p99=values.latency_us_p99,
    )


def _pair(line: ContrastLine) -> Contrast:
    low, high = line.low_percent, line.high_percent
    return Contrast(
        arm=line.arm,
        control=line.control,
        metric=line.metric,
        unit=line.unit,
        higher_is_better=line.higher_is_better,
        estimate=Estimate(
            value=math.nan if line.estimate_percent is None else line.estimate_percent,
            low=-math.inf if low is None else low,
            high=math.inf if high is None else high,
            count=line.epochs,
            unit="%",
            confidence=line.confidence,
        ),
        verdict=cast(VerdictWord, line.verdict),
        margin_percent=line.details.margin_percent,
        doubts=line.threats,
        sentence=line.sentence,
        epochs=tuple(
            ContrastEpoch(
                epoch=detail.epoch,
                log_ratio=detail.d,
                control_throughput=detail.throughput_of(line.control),
                arm_throughput=detail.throughput_of(line.arm),
            )
            for detail in line.details.epochs
        ),
    )
