"""Reads one record folder into an entry of the history; RecordError or StudyError says why not."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal

from steelyard.history.entry import (
    STAMP,
    Entry,
    KnownBuild,
    KnownReading,
    KnownScript,
    State,
    time_of,
)
from steelyard.history.question import keys_of, question_name
from steelyard.model.errors import RecordError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.price import parse_price
from steelyard.record.contrast import ArmValues, ContrastLine, control_and_arm_values
from steelyard.record.environment import ArmFacts, Environment
from steelyard.record.ledger import LedgerMachine
from steelyard.record.plan import Plan
from steelyard.record.reader import (
    ENVIRONMENT,
    SLICES,
    VERDICT,
    read_environment,
    read_plan,
    read_study_file,
    read_verdict,
)
from steelyard.record.record import PLAN, STUDY_FILE, Record
from steelyard.record.sweep import POINTS, SWEEP_FILE
from steelyard.record.verdict import Verdict
from steelyard.study.study import Study

COLLECTED = "collected.json"
"""In a record that was made elsewhere, or in its sweep: where it came from, its files, its kind of
host."""
HASHED = (PLAN, STUDY_FILE, ENVIRONMENT, VERDICT, COLLECTED)
"""What an entry is made of."""
_PLACES = frozenset(
    {
        *("config_file", "data_directory", "hba_file", "hosts_file", "ident_file"),
        *("external_pid_file", "port"),
        *("unix_socket_directories", "cluster_name", "log_directory"),
    }
)
_STAMP_LETTERS = len("2026-03-01T120000Z")


def hashes_of(directory: Path) -> dict[str, str]:
    """File → SHA-256, of the files that an entry is made of and that are there. RecordError."""
    try:
        return {
            name: hashlib.sha256((directory / name).read_bytes()).hexdigest()
            for name in HASHED
            if (directory / name).is_file()
        }
    except OSError as reason:
        raise RecordError(f'could not read "{directory}": {reason.strerror}') from reason


def measured_bytes(directory: Path) -> int:
    """Size of slices.jsonl; 0 where there is none."""
    file = directory / SLICES
    return file.stat().st_size if file.is_file() else 0


@dataclass(frozen=True, slots=True)
class EntryParts:
    """What an entry is made of, read once."""

    record: Record
    plan: Plan
    study: Study
    verdict: Verdict | None
    environment: Environment


def read_parts(record: Record) -> EntryParts:
    """The parts of a record; of format 1 too. RecordError: one is damaged, or they do not belong
    together; StudyError: its study cannot be read."""
    plan, study = read_plan(record), read_study_file(record)
    verdict, environment = read_verdict(record), read_environment(record) or Environment()
    if verdict is not None:
        _require_together(record.directory, plan, study, verdict)
    return EntryParts(record, plan, study, verdict, environment)


def read_entry(directory: Path, path: str, hashes: dict[str, str]) -> Entry:
    """The entry of the record in `directory`. RecordError and StudyError as `read_parts`."""
    return entry_of(read_parts(Record.open(directory)), path, hashes)


def entry_of(parts: EntryParts, path: str, hashes: dict[str, str]) -> Entry:
    """The entry of a record that was read; `hashes`: file → SHA-256, where they are wanted."""
    record, plan, study = parts.record, parts.plan, parts.study
    verdict, environment, directory = parts.verdict, parts.environment, record.directory
    at, at_from = _when(directory, path, plan)
    state: State = "no verdict"
    if verdict is not None:
        state = "interrupted" if verdict.interrupted else "judged"
    sweep = PurePosixPath(path).parent
    of_sweep = sweep.name == POINTS and (directory.parent.parent / SWEEP_FILE).is_file()
    return Entry(
        path=path,
        hashes=hashes,
        measured_bytes=measured_bytes(directory),
        record_format=int(record.read(PLAN).get("format", 1)),
        state=state,
        at=at,
        at_from=at_from,
        study=study.name,
        title=study.title,
        question=study.question,
        seed=plan.seed,
        layout=plan.layout_choice.name,
        machine=LedgerMachine.of(environment.machine),
        kernel=environment.machine.kernel,
        boot=environment.machine.boot_id,
        steelyard=environment.steelyard.version,
        keys=keys_of(study),
        builds={name: _build(facts) for name, facts in environment.arms.items()},
        settings={
            name: _settings_digest(facts)
            for name, facts in environment.arms.items()
            if facts.settings
        },
        files=environment.files,
        kind=kind_of(directory.parent.parent if of_sweep else directory),
        sweep=str(sweep.parent) if of_sweep else "",
        readings=_readings(study, verdict),
        interrupted=verdict is not None and verdict.interrupted,
        command=plan.command or (verdict.command if verdict else ""),
    )


def _require_together(directory: Path, plan: Plan, study: Study, verdict: Verdict) -> None:
    """RecordError where plan, study and verdict are not of one weighing."""
    if verdict.seed != plan.seed:
        raise RecordError(
            f'verdict.json in "{directory}" is of another weighing: its seed is {verdict.seed}, '
            f"that of the plan {plan.seed}"
        )
    names = {arm.name for arm in study.every_arm}
    planned = {(name, plan.control) for name in names if plan.control in names}
    planned |= {(arm.name, base.name) for arm in study.arms if (base := study.base_of(arm))}
    for contrast in verdict.every_contrast:
        if (contrast.arm, contrast.control) not in planned:
            raise RecordError(
                f'verdict.json in "{directory}" is of another weighing: {contrast.pair} is no '
                "contrast of its plan and study"
            )


def _when(directory: Path, path: str, plan: Plan) -> tuple[str, Literal["name", "plan", "file"]]:
    """UTC, and what says it: the name of a folder (the record's, or that of its sweep), the plan,
    or the time of its file, which a copy may have lost."""
    parts = PurePosixPath(path).parts
    stamps = [*_stamps(parts)] or [*_stamps([directory.resolve().name])]
    if stamps:
        return stamps[-1], "name"
    if time_of(plan.at) is not None:
        return plan.at, "plan"
    changed = datetime.fromtimestamp((directory / PLAN).stat().st_mtime, UTC)
    return changed.strftime(STAMP), "file"


def _stamps(names: Iterable[str]) -> Iterator[str]:
    """The times that names begin with."""
    starts = (name[:_STAMP_LETTERS] for name in names)
    return (start for start in starts if time_of(start) is not None)


def kind_of(directory: Path) -> str:
    """Kind of host of a collected record or sweep; empty: not known. RecordError: damaged note."""
    note = directory / COLLECTED
    if not note.is_file():
        return ""
    try:
        document = read_json(note)
        return str(document.get("kind", ""))
    except (OSError, ValueError, AttributeError) as reason:
        raise RecordError(f'could not read "{note}": {reason}') from reason


def _build(facts: ArmFacts) -> KnownBuild:
    document = {name: facts.build[name] for name in KnownBuild.model_fields if name in facts.build}
    return KnownBuild.of_json(document, "the build of an arm")


def own_place(setting: str) -> bool:
    """Whether a setting names a place of the weighing, so that it differs between any two."""
    return setting in _PLACES


def _settings_digest(facts: ArmFacts) -> str:
    settings = sorted(
        (name, value) for name, value in facts.settings.items() if not own_place(name)
    )
    return hashlib.sha256(json.dumps(settings).encode()).hexdigest()


def _readings(study: Study, verdict: Verdict | None) -> tuple[KnownReading, ...]:
    arms = {arm.name: arm for arm in study.arms}
    if verdict is None:
        return ()
    return tuple(
        _reading(
            line, question_name(study, arms[line.arm], line.metric, arms.get(line.control)), verdict
        )
        for line in verdict.every_contrast
        if line.arm in arms
    )


def _scripts(verdict: Verdict, line: ContrastLine) -> tuple[KnownScript, ...]:
    rows = [row for row in verdict.scripts if (row.arm, row.control) == (line.arm, line.control)]
    names = KnownScript.model_fields
    return tuple(KnownScript(**{name: getattr(row, name) for name in names}) for row in rows)


def _by_itself(values: ArmValues, line: ContrastLine, verdict: Verdict, arm: str) -> ArmValues:
    """With an arm's throughput by epoch, and what its transactions cost."""
    rates = [
        rate
        for epoch in line.details.epochs
        if epoch.d is not None and (rate := epoch.throughput.get(arm) or 0.0) > 0
    ]
    update: dict[str, object] = {"epoch_throughput": tuple(rates)}
    for cost in verdict.costs:
        if cost.arm == arm:
            update |= {
                "price": _price(cost.price),
                "cost_per_million": cost.per_million,
                "cost_per_million_low": cost.low_per_million,
                "cost_per_million_high": cost.high_per_million,
            }
    return values.model_copy(update=update)


def _price(words: str) -> str:
    """The same; RecordError: they are no price."""
    try:
        parse_price(words)
    except ValueError as reason:
        raise RecordError(f'could not read "{VERDICT}": {reason}') from reason
    return words


def _reading(line: ContrastLine, question: str, verdict: Verdict) -> KnownReading:
    control_values, arm_values = (
        _by_itself(values, line, verdict, name)
        for values, name in zip(
            control_and_arm_values(line, verdict.latency), (line.control, line.arm), strict=True
        )
    )
    return KnownReading(
        question=question,
        arm=line.arm,
        control=line.control,
        metric=line.metric,
        unit=line.unit,
        higher_is_better=line.higher_is_better,
        estimate_percent=line.estimate_percent,
        low_percent=line.low_percent,
        high_percent=line.high_percent,
        confidence=line.confidence,
        margin_percent=line.details.margin_percent,
        verdict=line.verdict,
        nonzero=line.nonzero,
        epochs=line.epochs,
        d=line.details.d,
        look=line.details.look,
        sentence=line.sentence,
        doubts=tuple(dict.fromkeys(threat.name for threat in line.threats)),
        true_percent=line.true_percent,
        scripts=_scripts(verdict, line),
        control_values=control_values,
        arm_values=arm_values,
    )
