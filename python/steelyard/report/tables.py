"""Turns a verdict and its plan into rows of text: the tables of the page, and no HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from steelyard.evaluation.judge_epochs import counted_log_ratio
from steelyard.model.units import (
    MOST_SPREAD,
    NO_INFORMATION,
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    format_bytes,
    format_digits,
    format_duration,
    format_percent,
    percent_of_log,
)
from steelyard.record.contrast import ContrastLine, EpochDetail
from steelyard.record.verdict import (
    Cause,
    Counted,
    Latency,
    Pages,
    Query,
    StandbyLag,
    StatementCost,
    Work,
)
from steelyard.report.charts.percentile_effects import quantile_name
from steelyard.wording.contrast_text import interval_text, reading_text, shown_epoch

SMALLEST = 0.001
"""Of any unit: what is smaller is no figure."""


def amount(value: float | None, unit: str = "") -> str:
    """A quantity with four significant figures and its unit: `"24.31 µs"`; a dash for none."""
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if 0 < size < SMALLEST:
        return f"{'< 0.001' if value > 0 else 'about 0'} {unit}".strip()
    text = f"{value:,.0f}" if size >= 1000 else format_digits(value, 4)
    return f"{text.replace(',', ' ')} {unit}".strip().replace("-", "−")


CAUSES = {
    "server_cpu_us": "server CPU",
    "wal_bytes": "WAL",
    "full_page_images": "full-page images",
    "full_page_image_bytes": "images' part of WAL",
    "archive_bytes": "WAL archived, by gzip",
    "blocks_read": "blocks read",
    "blocks_written": "blocks written",
}


def cause_name(metric: str) -> str:
    """`"server CPU"` for `server_cpu_us_per_transaction`; the table says "per transaction"."""
    short = metric.removesuffix("_per_transaction")
    return CAUSES.get(short, short.replace("_", " "))


def is_negligible(row: Counted) -> bool:
    """Whether there is nothing of it to speak of in either arm."""
    return max(abs(row.control_value), abs(row.arm_value)) < SMALLEST


def none_line(causes: Iterable[Cause]) -> str:
    """`"none in either arm: full-page images, blocks written"`; empty: there is some of each."""
    names = [cause_name(cause.metric) for cause in causes if is_negligible(cause)]
    return f"none in either arm: {', '.join(names)}" if names else ""


def cause_rows(causes: Iterable[Cause]) -> list[dict[str, str]]:
    """Each cause that either arm has some of, with both arms' values and its contrast."""
    return [
        {
            "metric": cause_name(cause.metric),
            "control": amount(cause.control_value, cause.unit),
            "arm": amount(cause.arm_value, cause.unit),
            "reading": counted_reading(cause),
            "note": cause.note,
        }
        for cause in causes
        if not is_negligible(cause)
    ]


def statement_cost_rows(rows: Iterable[StatementCost]) -> list[dict[str, str]]:
    """What an execution of each statement cost in both arms, with its contrast."""
    return [
        {
            "metric": f"{row.statement}: {CAUSES.get(row.metric, row.metric)}",
            "control": amount(row.control_value, row.unit),
            "arm": amount(row.arm_value, row.unit),
            "reading": counted_reading(row),
            "note": row.note,
        }
        for row in rows
    ]


def counted_reading(cause: Counted) -> str:
    """The ratio; the difference where there is none: `"+8 131 bytes [8 120, 8 142]"`."""
    if cause.difference is None:
        return reading_text(cause)
    every = (cause.difference, cause.difference_low, cause.difference_high)
    middle, low, high = (0.0 if end is not None and abs(end) < SMALLEST else end for end in every)
    assert middle is not None
    if middle == low == high == 0:
        return "no difference to speak of"
    sign = "+" if middle > 0 else ""
    return f"{sign}{amount(middle, cause.unit)} [{amount(low)}, {amount(high)}]"


def page_price(pages: Pages) -> str:
    """What a verified page costs: `"412 ns a page [330, 495]"`, or at most how much, or why it has
    no price; empty where it is not known."""
    low, high = pages.low, pages.high
    if not (math.isfinite(low) and math.isfinite(high)):
        return ""
    if low > 0:
        spread = f" [{amount(low)}, {amount(high)}]" if high <= MOST_SPREAD * low else ""
        if spread:
            return f"{amount(pages.nanoseconds_per_page, 'ns')} a page{spread}"
        return f"more than {amount(low, 'ns')} a page"
    if pages.verified_per_transaction < FEWEST_PAGES:
        return "too few pages were verified to price one"
    if high <= 0:
        return f"what a page costs {NO_INFORMATION}: with verification less time was used"
    return f"at most {amount(high, 'ns')} a page, not distinguishable from zero"


FEWEST_PAGES = 1.0
"""Verified in a transaction: with fewer, a price that may be zero has no highest value either."""


def latency_rows(rows: Iterable[Latency]) -> list[dict[str, str]]:
    """Each percentile with both arms' latency and the effect on it."""
    return [
        {
            "quantile": quantile_name(row.quantile),
            "control": _microseconds(row.control_us),
            "arm": _microseconds(row.arm_us),
            "reading": reading_text(row),
        }
        for row in rows
    ]


def work_rows(rows: Iterable[Work]) -> list[dict[str, str]]:
    """What the workload counts of its own work, a minute, with its contrast."""
    return [
        {
            "metric": row.metric.removesuffix("_per_minute").replace("_", " "),
            "control": amount(row.control_value),
            "arm": amount(row.arm_value),
            "reading": reading_text(row),
            "note": "",
        }
        for row in rows
    ]


def lag_line(lag: StandbyLag) -> str:
    """`"on: 12 kB and 3 ms behind at the end of the median epoch, 1172 kB and 40 ms at most"`."""
    median, most = (
        f"{format_bytes(round(size))} and {format_duration(round(ms * NS_PER_MS))}"
        for size, ms in ((lag.bytes_median, lag.ms_median), (lag.bytes_most, lag.ms_most))
    )
    if not lag.bytes_most:
        return f"{lag.arm}: nothing left to replay at the end of any epoch"
    return f"{lag.arm}: {median} behind at the end of the median epoch, {most} at most"


def script_rows(rows: Iterable[Latency]) -> list[dict[str, str]]:
    """Each percentile of each script with both arms' latency and the effect on it."""
    every = list(rows)
    texts = latency_rows(every)
    return [
        {"metric": f"{row.script}, {text['quantile']}", **text, "note": ""}
        for row, text in zip(every, texts, strict=True)
    ]


def query_rows(rows: Iterable[Query]) -> list[dict[str, str]]:
    """The time of each query in both arms, with its contrast and what was not finished."""
    return [
        {
            "metric": row.query,
            "control": amount(row.control_ms, "ms"),
            "arm": amount(row.arm_ms, "ms"),
            "reading": reading_text(row),
            "unfinished": _unfinished(row),
            "excluded": _excluded(row),
            "note": "; ".join(filter(None, (_unfinished(row), _excluded(row)))),
        }
        for row in rows
    ]


def _excluded(row: Query) -> str:
    return "not in the mean" if row.excluded else ""


def _unfinished(row: Query) -> str:
    counts = [(row.control_unfinished, row.control), (row.arm_unfinished, row.arm)]
    texts = [f"{count} in {arm}" for count, arm in counts if count]
    return f"not finished: {', '.join(texts)}; counted with their time until then" if texts else ""


def epoch_rows(contrast: ContrastLine) -> list[dict[str, str]]:
    """Each epoch with the slots of the arms, their order, and what was read."""
    arm, control = contrast.arm, contrast.control
    return [
        {
            "epoch": str(shown_epoch(row)),
            "slots": " · ".join(f"{name} {row.slots.get(name, '–')}" for name in (control, arm)),
            "order": ", ".join(row.order),
            "control": amount(row.throughput.get(control)),
            "arm": amount(row.throughput.get(arm)),
            "reading": _epoch_reading(contrast, row),
            "typical": "–"
            if row.typical_d is None
            else format_percent(percent_of_log(row.typical_d)),
        }
        for row in contrast.details.epochs
    ]


def _epoch_reading(contrast: ContrastLine, row: EpochDetail) -> str:
    """In percent; an epoch in which one arm did no work is in the interval, and not lost."""
    ratio = counted_log_ratio(contrast, row)
    if math.isfinite(ratio):
        return format_percent(percent_of_log(ratio))
    if math.isnan(ratio):
        return "lost"
    idle = contrast.arm if (ratio < 0) is contrast.higher_is_better else contrast.control
    return f"{idle} did no work"


def settling_rows(contrast: ContrastLine) -> list[dict[str, str]]:
    """Estimate and interval as they stood after each epoch."""
    return [
        {"epochs": str(step.epochs), "reading": reading_text(step)}
        for step in contrast.details.settling
    ]


def detail_rows(contrast: ContrastLine) -> list[tuple[str, str]]:
    """What is printed beside the interval, so that a reader can judge the weighing."""
    details = contrast.details
    rows: list[tuple[str, str]] = []
    for label, ends in (
        ("t interval over epochs (conservative, for comparison)", details.t_interval_percent),
        ("interval of the equivalence test", details.equivalence_interval_percent),
    ):
        rows.append((label, interval_text(ends)))
    for label, value, signed in (
        ("reading of the typical slice (a gap means stalls)", details.typical_percent, True),
        ("standard deviation from epoch to epoch", details.epoch_sd_percent, False),
        ("difference between the slots", details.slot_effect_percent, True),
        (
            "smallest effect that such a weighing detects with 80 % power",
            details.smallest_visible_percent,
            False,
        ),
    ):
        if value is not None:
            text = format_percent(value)
            rows.append((label, text if signed else text.lstrip("+")))
    if details.drops:
        rows.append(("slices dropped", _by_arm(details.drops)))
    if any(details.capped.values()):
        label = "clients cancelled, since they did not finish in time after a slice"
        rows.append((label, _by_arm(details.capped)))
    forecast = forecast_text([contrast.forecast_seconds])
    if forecast:
        rows.append(("forecast", forecast))
    return rows


def _by_arm(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{arm} {count}" for arm, count in counts.items())


def forecast_text(seconds: Sequence[float | None]) -> str:
    """`"if …, 4 min to 11 min more …"` of the ends of a range; empty where nothing is needed."""
    ends = [end for end in seconds if end is not None]
    if not any(ends):
        return ""
    spans = dict.fromkeys(format_duration(end * NS_PER_S) for end in ends)
    more = f"{' to '.join(spans)} more measuring"
    return f"if the effect is as large as it reads, {more} would settle it"


def _microseconds(value: float) -> str:
    return format_duration(value * NS_PER_US) if math.isfinite(value) else "–"
