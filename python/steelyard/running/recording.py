"""Opens the record of a weighing: a new one, or one that is to be gone on with."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from steelyard.analysis.decision.looks import FEWEST_FOR_VERDICT
from steelyard.model.errors import UsageError
from steelyard.record.record import Record
from steelyard.record.totals import epochs_of
from steelyard.running.epoch import RanEpoch
from steelyard.running.question import Question
from steelyard.study.read import write_study

JUDGED = "interrupted: judged by what there was"
"""The event of a Ctrl-C, as the record keeps it."""


@dataclass(frozen=True)
class Kept:
    """What a record holds of the weighing so far, and the question as it is to be answered."""

    record: Record
    question: Question
    resumed: bool
    epochs: list[RanEpoch] = field(default_factory=list)
    attempts: dict[int, int] = field(default_factory=dict)
    """Epoch → how often it was begun; a torn one is begun again and its slices left unseen."""
    looked: int = 0
    """How often it was interrupted, judged and shown before."""


def open_record(question: Question) -> Kept:
    """The record with study.toml in it; for `--resume` the seed comes from its plan."""
    if question.resume is None:
        record = Record.create(question.record, question.study.name)
        record.write("study.toml", write_study(question.study))
        return Kept(record, question, resumed=False)
    record = Record.open(question.resume)
    plan = record.read("plan.json")
    epochs = finished_epochs(record)
    if len(epochs) >= plan["epochs"] and not plan["open_ended"]:
        raise UsageError(
            f'weighing is complete already: "{question.resume}"',
            hint="Its verdict is in verdict.json; `steelyard report` makes its page again.",
        )
    attempts: dict[int, int] = {}
    for line in record.lines("slices.jsonl"):
        epoch = line["epoch"]
        attempts[epoch] = max(attempts.get(epoch, 0), line.get("attempt", 1))
    resumed = replace(question, seed=plan["seed"])
    looked = sum(
        line["type"] == "event" and line["event"] == JUDGED and line["epoch"] >= FEWEST_FOR_VERDICT
        for line in record.lines("telemetry.jsonl")
    )
    return Kept(record, resumed, resumed=True, epochs=epochs, attempts=attempts, looked=looked)


def finished_epochs(record: Record) -> list[RanEpoch]:
    """Every epoch that was finished, in order; a torn one is not among them."""
    lines = record.lines("telemetry.jsonl")
    heads = {line["epoch"]: line for line in lines if line["type"] == "epoch"}
    totals = epochs_of(record.lines("slices.jsonl"), heads.values())
    return [RanEpoch(one, heads[one.epoch]) for one in totals]
