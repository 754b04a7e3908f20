"""Opens the record of a weighing: a new one, or one that is to be resumed."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.record.epoch import Epoch, EventLine
from steelyard.record.plan import Plan
from steelyard.record.reader import (
    MeasuredTurn,
    finished_epochs,
    losses_of_torn_epochs,
    read_plan,
    read_slices,
    read_telemetry,
    read_verdict,
    turns_of_torn_epochs,
)
from steelyard.record.record import PLAN, STUDY_FILE, Record
from steelyard.record.turns.turn import LostTurnLine
from steelyard.record.verdict import Verdict
from steelyard.running.stopwatch import SpentTime, Stopwatch
from steelyard.study.read import write_study
from steelyard.study.study import Study
from steelyard.telemetry.environment import file_sha256
from steelyard.verdict.rejudge import hopeless


@dataclass(frozen=True)
class OpenRecord:
    """What a record holds of the weighing so far, and the question as it is to be answered."""

    record: Record
    question: Question
    spent: SpentTime
    plan: Plan | None = None
    """None: a new weighing, whose plan is not drawn yet."""
    epochs: tuple[Epoch, ...] = ()
    events: tuple[EventLine, ...] = ()
    attempts: dict[int, int] = field(default_factory=dict)
    """Epoch → how often it was begun; a torn one is begun again and its slices left unseen."""
    turns: dict[tuple[int, str], MeasuredTurn] = field(default_factory=dict)
    """(epoch, arm) → a finished turn of a torn epoch: it is not measured again. None where files
    are not put back before each epoch."""
    lost_turns: dict[tuple[int, str], LostTurnLine] = field(default_factory=dict)
    """(epoch, arm) → a lost turn of a torn epoch: the loss is the arm's, and it has no second."""

    @property
    def resumed(self) -> bool:
        """Whether an interrupted weighing goes on."""
        return self.plan is not None

    @property
    def resuming_command(self) -> str:
        """To be pasted, once what was begun can go on; empty: there is nothing to go on with."""
        directory, command = self.record.directory, self.question.resumed_by
        planned = bool(command) and (directory / PLAN).is_file()
        return shlex.join(("steelyard", *command, "--resume", str(directory))) if planned else ""


def open_record(question: Question, now_ns: Callable[[], int]) -> OpenRecord:
    """The record with study.toml in it, held until it is closed; for `--resume` the seed comes from
    its plan. By `now_ns`, a monotonic clock, the time of the weighing is accounted for from here
    on. RecordError: another process writes into it."""
    stopwatch, new = Stopwatch(now_ns), question.resume is None
    study = write_study(question.study)  # before there is a record: it may have to be refused
    record = (
        Record.open(question.resume)
        if question.resume is not None
        else Record.create(question.record, question.study.name)
    )
    try:
        record.hold()
        if not new:
            return _resumed(record, question, stopwatch)
        record.write(STUDY_FILE, study)
        return OpenRecord(record, question, SpentTime(record, stopwatch))
    except BaseException:
        record.close()
        raise


def _resumed(record: Record, question: Question, stopwatch: Stopwatch) -> OpenRecord:
    plan, telemetry = read_plan(record), read_telemetry(record)
    epochs = finished_epochs(record, telemetry)
    verdict = read_verdict(record)  # None: it was killed before it had judged
    if verdict is not None and _is_complete(plan, epochs, verdict):
        again = "" if plan.open_ended else " Begun with --open-ended, a weighing can be extended."
        raise UsageError(
            f'weighing is complete already: "{question.resume}"',
            hint="Its verdict is in verdict.json; `steelyard report` makes its page again." + again,
        )
    _require_same_study(record, plan)
    attempts: dict[int, int] = {}
    for line in read_slices(record):
        attempts[line.epoch] = max(attempts.get(line.epoch, 0), line.attempt)
    resumed = replace(question, seed=plan.seed)
    # Elsewhere a kept turn has aged files, and the turns that are missing have fresh copies.
    torn = turns_of_torn_epochs(record, telemetry) if plan.upkeep == "restore" else {}
    spent = SpentTime(record, stopwatch, telemetry.spent)
    lost = losses_of_torn_epochs(telemetry)
    return OpenRecord(record, resumed, spent, plan, epochs, telemetry.events, attempts, torn, lost)


def _require_same_study(record: Record, plan: Plan) -> None:
    """UsageError: study.toml was edited since the weighing was planned, so that the epochs to come
    would be of another study than those there are, and the plan of none."""
    file = record.directory / STUDY_FILE
    if plan.study_sha256 in ("", file_sha256(file)):
        return
    raise UsageError(
        f'cannot resume "{record.directory}": its {STUDY_FILE} is not what it was when the '
        "weighing was planned",
        detail="The epochs that are measured, and those to come, would be of two studies.",
        hint=f"Put it back as it was, or weigh anew: steelyard weigh {shlex.quote(str(file))}",
    )


def _is_complete(plan: Plan, epochs: Sequence[Epoch], verdict: Verdict) -> bool:
    """Whether no epoch may follow, and the verdict is of all of them: it is not where a sitting was
    killed after it. In an open-ended weighing, whether it ended since it was settled."""
    if len(verdict.contrasts[0].details.epochs) != len(epochs):
        return False
    if not plan.open_ended:
        return len(epochs) >= plan.epochs
    settled = verdict.contrasts[0].verdict != "inconclusive"
    return settled and not verdict.interrupted and not hopeless(epochs)


@dataclass(frozen=True)
class Question:
    """One weighing as it was asked for on the command line or from Python."""

    study: Study
    seed: int
    record: Path | None = None  # None: records/<study>/<UTC time>/
    resume: Path | None = None  # a record to go on with; its study and seed hold
    command: Sequence[str] = ()
    ledger: Path | None = None  # None: the A/A ledger is neither read nor written
    new_ledger: bool = False  # begin a new one with this weighing
    resumed_by: Sequence[str] = ()
    """The command that goes on with it by --resume; none: what it is a part of goes on."""
