"""Judges records and sweeps again and names those that do not follow from what was measured."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from steelyard.history.entry import Entry, Unread
from steelyard.history.index import History
from steelyard.model.errors import RecordError, SteelyardError
from steelyard.record.reader import read_recorded, read_verdict
from steelyard.record.record import Record, damage_named, read_object
from steelyard.record.sweep import LATER_KEYS, SWEEP_FILE, SWEPT_FILE, SweepPlan, Swept, SweptPoint
from steelyard.record.verdict import Verdict
from steelyard.verdict.rejudge import VerdictDifference, differences, rejudge
from steelyard.verdict.swept import swept, without_pairs


def verified(history: History) -> History:
    """The history without records whose verdict, judged again, is another one: these are named.

    Takes about as long for a record as its report; a later version of Steelyard may judge otherwise
    on purpose, and is then named with the key on which it does.
    """
    doubts = [(entry, _doubt(history, entry)) for entry in history.entries]
    wrong = [Unread(path=entry.path, reason=why) for entry, why in doubts if why]
    return History(
        history.root,
        tuple(entry for entry, why in doubts if not why),
        tuple(sorted([*history.unread, *wrong], key=lambda record: record.path)),
    )


def _doubt(history: History, entry: Entry) -> str:
    """What is wrong with the verdict of a record; empty: nothing, or it has none."""
    if entry.state == "no verdict":
        return ""
    record = Record.open(history.directory(entry))
    try:
        verdict, recorded = read_verdict(record), read_recorded(record)
        with damage_named():
            differ = differences(verdict, rejudge(recorded)) if verdict is not None else []
    except SteelyardError as reason:
        return reason.primary.splitlines()[0]
    if not differ:
        return ""
    return _does_not_follow("verdict.json", "from what was measured", "judged", differ)


def swept_again(folder: Path, entries: Mapping[str, Entry]) -> Swept:
    """What a sweep found, made from its plan and from the verdicts of its points.

    `entries`: every record in the sweep's folder by where it stands there (`"points/8"`).
    RecordError: swept.json says otherwise, or names a folder that is no point of this sweep.
    """
    plan = SweepPlan.of_json(read_object(folder / SWEEP_FILE), SWEEP_FILE)
    recorded = Swept.of_json(read_object(folder / SWEPT_FILE), SWEPT_FILE)
    numbers = range(len(plan.values))
    if sorted(plan.order) != [*numbers] or [point.value for point in recorded.points] != [
        *plan.values
    ]:
        raise RecordError("swept.json does not have the values of sweep.json, each once")
    weighed: dict[str, Verdict | str] = {}
    for number in plan.order:
        point = recorded.points[number]
        weighed[point.value] = point.failed or _verdict_at(
            folder, point, entries.get(point.record), plan.seed + number
        )
    records = {point.value: point.record for point in recorded.points}
    failed = {plan.seed + number for number in numbers if recorded.points[number].failed}
    begun = {where for where, entry in entries.items() if _was_begun(entry, failed)}
    left = entries.keys() - {*records.values()} - begun
    if left:
        raise RecordError(f'swept.json does not have the record in "{min(left)}"')
    question = next((entry.question for entry in entries.values()), "")
    remade = swept(plan, question, weighed, lambda value: records[value])
    differ = differences(_whole(recorded), _whole(_as_old_as(recorded, remade)))
    if differ:
        raise RecordError(_does_not_follow("swept.json", "from its points", "made", differ))
    return remade


def _was_begun(entry: Entry, failed: Collection[int]) -> bool:
    """Whether it is what a value that failed has left: a plan of this sweep without a verdict.
    `failed`: the seeds of such values."""
    return entry.state == "no verdict" and bool(entry.sweep) and entry.seed in failed


def _verdict_at(folder: Path, point: SweptPoint, entry: Entry | None, seed: int) -> Verdict:
    """Of a point; RecordError: there is none of this sweep's."""
    if entry is not None and entry.sweep and entry.seed == seed:
        verdict = read_verdict(Record.open(folder / point.record))
        if verdict is not None:
            return verdict
    raise RecordError(
        f'swept.json has at {point.value} what is no point of this sweep: "{point.record}"'
    )


def _whole(sweep: Swept) -> Swept:
    """With every key, those at their defaults too, so that none is left out of a comparison."""
    return Swept.model_validate(sweep.model_dump())


def _as_old_as(recorded: Swept, remade: Swept) -> Swept:
    """What was made without the later keys that a point of `recorded` does not have."""
    if not any("pairs" in point.model_fields_set for point in recorded.points):
        remade = without_pairs(remade)
    recorded_keys: dict[tuple[str, str], set[str]] = {
        (point.value, contrast.arm): contrast.model_fields_set
        for point in recorded.points
        for contrast in point.contrasts
    }
    points = tuple(
        point.model_copy(
            update={
                "contrasts": tuple(
                    contrast.model_copy(
                        update=dict.fromkeys(
                            LATER_KEYS - recorded_keys.get((point.value, contrast.arm), set())
                        )
                    )
                    for contrast in point.contrasts
                )
            }
        )
        for point in remade.points
    )
    return remade.model_copy(update={"points": points})


def _does_not_follow(file: str, source: str, verb: str, differ: Sequence[VerdictDifference]) -> str:
    first = differ[0]
    more = f", and {len(differ) - 1} keys more" if len(differ) > 1 else ""
    return (
        f"{file} does not follow {source}: {first.key} is {first.recorded!r}, {verb} again "
        f"{first.rejudged!r}{more}"
    )
