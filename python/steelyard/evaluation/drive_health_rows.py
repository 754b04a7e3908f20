"""Words the health of drives before and after the work, and how long their endurance would last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.evaluation.drives import (
    AmountRange,
    DriveChange,
    drive_changes,
    endurance,
    endurance_unknown,
    too_few_steps,
)
from steelyard.model.units import format_bytes, format_digits
from steelyard.record.machine import DriveHealth
from steelyard.record.verdict import Verdict

Rows = list[tuple[str, str]]

_HOURS_PER_YEAR = 8766
_LONG_H = 1000
_BYTES_PER_TB = 10**12


def drive_rows(
    before: Sequence[DriveHealth],
    after: Sequence[DriveHealth],
    work: str,
    seconds: float | None,
    *,
    included: str = "",
) -> Rows:
    """A few rows for every drive: what it is, what the work did to it, what is left of it.

    `work`: a word for what was done; `seconds`: of load; `included`: what else was written
    meanwhile.
    """
    return [
        row
        for change in drive_changes(before, after)
        for row in _rows(change, work, seconds, included)
    ]


def weighing_rows(
    before: Sequence[DriveHealth], after: Sequence[DriveHealth], verdict: Verdict | None
) -> Rows:
    """The rows of a weighing; none without a verdict, since it has not ended."""
    if verdict is None:
        return []
    included = "pilot, warm-up and copies included"
    if verdict.resumed:
        included += ", and whatever else was done between its sittings"
    seconds = verdict.measured_seconds
    return drive_rows(before, after, "weighing", seconds, included=included)


def _rows(change: DriveChange, work: str, seconds: float | None, included: str) -> Rows:
    last = change.latest
    name = f"drive {last.device}" if last.device else "drives"
    rows = [(name, "; ".join(_of_itself(last)))]
    if not last.source:
        return rows
    meanwhile = "; ".join(_meanwhile(change, included))
    rows += [(f"{name}, this {work}", meanwhile)] if meanwhile else []
    left = _endurance(change, work, seconds, at_most=bool(included))
    return [*rows, (f"{name}, endurance", left)]


def _of_itself(health: DriveHealth) -> Iterator[str]:
    """Its model and its health, as far as the drive reports them."""
    if health.model:
        yield health.model + (f", firmware {health.firmware}" if health.firmware else "")
    if health.used_percent is not None:
        yield f"{health.used_percent} % of its endurance used"
    if health.spare_percent is not None:
        threshold = health.spare_threshold_percent
        warns = f" (it warns below {threshold} %)" if threshold else ""
        yield f"spare {health.spare_percent} %{warns}"
    if health.media_errors is not None:
        yield f"media errors {health.media_errors}"
    if health.error_log_entries is not None:
        yield f"entries of its error log {health.error_log_entries}"
    if "warnings" in health.model_fields_set:
        yield ", ".join(health.warnings) or "no critical warning"
    if health.power_on_h is not None:
        yield f"{_number(health.power_on_h)} h in use"
    if health.source:
        yield f"read by {health.source}"
    if health.why_not:
        yield health.why_not


def _meanwhile(change: DriveChange, included: str) -> Iterator[str]:
    """What changed from before to after."""
    if change.after is None:
        yield "it was not read afterwards, or is another drive by then"
        return
    yield from _bytes_moved(change, change.after, included)
    first, last = change.before.temperature_celsius, change.after.temperature_celsius
    if first is not None and last is not None:
        yield f"{first} → {last} °C"
    if (errors := change.grew("media_errors")) is not None:
        yield f"{errors or 'no'} new media error{'' if errors == 1 else 's'}"
    lightly, heavily = (change.grew(f"{kind}_throttling_count") for kind in ("light", "heavy"))
    if lightly or heavily:
        yield f"slowed itself down lightly {lightly or 0} times, heavily {heavily or 0} times"
    elif lightly is not None:
        yield "never slowed itself down for its heat"
    if change.new_warnings:
        yield f"new: {', '.join(change.new_warnings)}"


def _bytes_moved(change: DriveChange, after: DriveHealth, included: str) -> Iterator[str]:
    grown = {"read": change.grew("read_bytes"), "written": change.grew("written_bytes")}
    counted = {direction: amount for direction, amount in grown.items() if amount is not None}
    if counted:
        moved = ", ".join(
            f"{format_bytes(amount)} {direction}" for direction, amount in counted.items()
        )
        yield moved + (f" ({included})" if included else "")
    if any(too_few_steps(after, amount) for amount in counted.values()):
        step = f"{after.step_bytes:,}".replace(",", " ")
        yield f"its counters go up by {step} bytes: what is a few of them is not exact"


def _endurance(change: DriveChange, work: str, seconds: float | None, *, at_most: bool) -> str:
    """What is left at its lifetime's rate and at this one; `at_most`: more was written than by
    the load alone."""
    last, grown = change.latest, change.grew("written_bytes")
    few = grown is None or too_few_steps(last, grown)
    rate = grown / seconds if grown and seconds and not few else None
    estimate = endurance(last, rate)
    if estimate is None:
        return f"not computed: {endurance_unknown(last)}"
    clauses = [f"about {_terabytes(estimate.total_bytes)} in all"]
    if estimate.left_at_lifetime_rate_h is not None:
        clauses.append(f"left at its lifetime's rate {_hours(estimate.left_at_lifetime_rate_h)}")
    if estimate.left_at_this_rate_h is None or rate is None:
        clauses.append(f"at this {work}'s rate not known: it wrote too little, or was not read")
    else:
        speed = f"{'at most ' if at_most else ''}{format_bytes(rate)}/s under load"
        clauses.append(f"at this {work}'s rate ({speed}) {_hours(estimate.left_at_this_rate_h)}")
    return "; ".join(clauses)


def _terabytes(amount: AmountRange) -> str:
    low, likely, high = (
        _number(each / _BYTES_PER_TB) for each in (amount.low, amount.likely, amount.high)
    )
    return f"{likely} TB ({low} to {high}; of 10¹² bytes, as makers rate drives)"


def _hours(amount: AmountRange) -> str:
    low, likely, high = (_number(each) for each in (amount.low, amount.likely, amount.high))
    years = f", {amount.likely / _HOURS_PER_YEAR:.1f} years" if amount.likely >= _LONG_H else ""
    return f"{likely} h ({low} to {high}{years})"


def _number(amount: float) -> str:
    """Three digits that count, in groups: 49 000, 11 300, 12.4."""
    return format_digits(amount, 3)
