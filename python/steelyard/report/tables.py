"""Turns parts of a record into rows of text: every table of the page, and nothing about HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from steelyard.model.units import NS_PER_US, format_duration, format_percent, percent_of_log
from steelyard.report.charts.effect import quantile_name
from steelyard.report.source import shown_epoch
from steelyard.report.words import finite, interval, reading

Facts = Mapping[str, Any]


def amount(value: object, unit: str = "") -> str:
    """A quantity with four significant figures and its unit: `"24.31 µs"`; a dash for none."""
    known = finite(value)
    if known is None:
        return "–"
    size = abs(known)
    if 0 < size < 0.001:
        return f"< 0.001 {unit}".strip()
    text = f"{known:,.0f}" if size >= 1000 else f"{known:.4g}"
    return f"{text.replace(',', ' ')} {unit}".strip().replace("-", "−")


CAUSES = {
    "server_cpu_us": "server CPU",
    "wal_bytes": "WAL",
    "full_page_images": "full-page images",
    "blocks_read": "blocks read",
    "blocks_written": "blocks written",
}


def cause_name(metric: str) -> str:
    """`"server CPU"` for `server_cpu_us_per_transaction`; the table says "per transaction"."""
    short = metric.removesuffix("_per_transaction")
    return CAUSES.get(short, short.replace("_", " "))


def cause_rows(causes: Iterable[Facts]) -> list[dict[str, str]]:
    """Each cause with both arms' values and its contrast."""
    return [
        {
            "metric": cause_name(str(cause.get("metric", ""))),
            "control": amount(cause.get("control_value"), str(cause.get("unit") or "")),
            "arm": amount(cause.get("arm_value"), str(cause.get("unit") or "")),
            "reading": reading(cause),
            "note": str(cause.get("note") or ""),
        }
        for cause in causes
    ]


def latency_rows(rows: Iterable[Facts]) -> list[dict[str, str]]:
    """Each percentile with both arms' latency and the effect on it."""
    return [
        {
            "quantile": quantile_name(float(row["quantile"])),
            "control": _microseconds(row.get("control_us")),
            "arm": _microseconds(row.get("arm_us")),
            "reading": reading(row),
        }
        for row in rows
    ]


def work_rows(rows: Iterable[Facts]) -> list[dict[str, str]]:
    """What the workload counts of its own work, a minute, with its contrast."""
    return [
        {
            "metric": str(row.get("metric", "")).removesuffix("_per_minute").replace("_", " "),
            "control": amount(row.get("control_value")),
            "arm": amount(row.get("arm_value")),
            "reading": reading(row),
            "note": "",
        }
        for row in rows
    ]


def script_rows(rows: Iterable[Facts]) -> list[dict[str, str]]:
    """Each percentile of each script with both arms' latency and the effect on it."""
    every = list(rows)
    told = latency_rows(every)
    return [
        {"metric": f"{row.get('script')}, {one['quantile']}", **one, "note": ""}
        for row, one in zip(every, told, strict=True)
    ]


def query_rows(rows: Iterable[Facts]) -> list[dict[str, str]]:
    """The time of each query in both arms, with its contrast and what was not finished."""
    return [
        {
            "metric": str(row.get("query", "")),
            "control": amount(row.get("control_ms"), "ms"),
            "arm": amount(row.get("arm_ms"), "ms"),
            "reading": reading(row),
            "note": "; ".join(filter(None, (_unfinished(row), _aside(row)))),
        }
        for row in rows
    ]


def _aside(row: Facts) -> str:
    return "not in the mean" if row.get("excluded") else ""


def _unfinished(row: Facts) -> str:
    counts = [(row.get(f"{who}_unfinished") or 0, row.get(who)) for who in ("control", "arm")]
    told = [f"{count} in {arm}" for count, arm in counts if count]
    return f"not finished: {', '.join(told)}; counted with their time until then" if told else ""


def statement_rows(rows: Iterable[Facts]) -> list[dict[str, str]]:
    """The mean time of each statement in both arms, with its contrast."""
    return [
        {
            "metric": str(row.get("statement", "")),
            "control": _microseconds(row.get("control_us")),
            "arm": _microseconds(row.get("arm_us")),
            "reading": reading(row),
            "note": "",
        }
        for row in rows
    ]


def epoch_rows(contrast: Facts) -> list[dict[str, str]]:
    """Each epoch with where the arms stood, who went first, and what was read."""
    arm, control = str(contrast.get("arm")), str(contrast.get("control"))
    rows = []
    for row in contrast.get("details", {}).get("epochs", []):
        slots, speed = row.get("slots", {}), row.get("throughput", {})
        d, typical = finite(row.get("d")), finite(row.get("typical_d"))
        rows.append(
            {
                "epoch": str(shown_epoch(int(row["epoch"]))),
                "slots": f"{control} {slots.get(control, '–')} · {arm} {slots.get(arm, '–')}",
                "order": ", ".join(str(name) for name in row.get("order", [])),
                "control": amount(speed.get(control)),
                "arm": amount(speed.get(arm)),
                "reading": "lost" if d is None else format_percent(percent_of_log(d)),
                "typical": "–" if typical is None else format_percent(percent_of_log(typical)),
            }
        )
    return rows


def settling_rows(contrast: Facts) -> list[dict[str, str]]:
    """Estimate and interval as they stood after each epoch."""
    return [
        {"epochs": str(step["epochs"]), "reading": reading(step)}
        for step in contrast.get("details", {}).get("settling", [])
    ]


def beside_rows(contrast: Facts) -> list[tuple[str, str]]:
    """What is printed beside the interval, so that a reader can weigh the weighing."""
    details = contrast.get("details", {})
    rows: list[tuple[str, str]] = []
    for key, words in (
        ("t_interval_percent", "t interval over epochs (conservative, for comparison)"),
        ("equivalence_interval_percent", "interval of the equivalence test"),
    ):
        ends = details.get(key)
        if ends:
            low_high = {"low_percent": ends[0], "high_percent": ends[1]}
            rows.append((words, interval(low_high)))
    for key, words in (
        ("typical_percent", "reading of the typical slice (a gap means stalls)"),
        ("epoch_sd_percent", "standard deviation from epoch to epoch"),
        ("slot_effect_percent", "difference between the slots"),
        ("smallest_visible_percent", "smallest effect visible in four of five such weighings"),
    ):
        value = finite(details.get(key))
        if value is not None:
            signed = format_percent(value)
            rows.append(
                (
                    words,
                    signed if "_sd_" not in key and "smallest" not in key else signed.lstrip("+"),
                )
            )
    drops = details.get("drops")
    if drops:
        rows.append(("slices dropped", ", ".join(f"{arm} {n}" for arm, n in drops.items())))
    capped = details.get("capped") or {}
    if any(capped.values()):
        words = "clients given up, not back in time after a slice"
        rows.append((words, ", ".join(f"{arm} {n}" for arm, n in capped.items())))
    forecast = forecast_words(contrast.get("forecast_seconds"))
    if forecast:
        rows.append(("forecast", forecast))
    return rows


def forecast_words(forecast: object) -> str:
    """`"if …, 4 min to 11 min more …"` of seconds or a [low, high] range; empty where none."""
    ends = (
        forecast if isinstance(forecast, Sequence) and not isinstance(forecast, str) else [forecast]
    )
    spans = [format_duration(value * 1e9) for end in ends if (value := finite(end)) is not None]
    if not spans or all(finite(end) == 0 for end in ends):
        return ""
    more = f"{' to '.join(dict.fromkeys(spans))} more measuring"
    return f"if the effect is as large as it reads, {more} would settle it"


def plan_rows(plan: Facts) -> list[tuple[str, str]]:
    """The plan as label and text, reasons included."""
    alpha = [f"{level:g}" for level in plan.get("alpha", [])]
    epochs, look = plan.get("epochs"), plan.get("look")
    looks = f"at the end, level {'+'.join(alpha)}"
    if plan.get("open_ended") and len(alpha) == 2:
        looks = f"open-ended: after every epoch at {alpha[0]}, after epoch {epochs} at {alpha[1]}"
    elif look and len(alpha) == 2:
        looks = f"after epoch {look} at level {alpha[0]}, after epoch {epochs} at {alpha[1]}"
    processors = plan.get("processors")
    rows = [
        ("metric that decides", str(plan.get("metric", "throughput")).replace("_", " ")),
        ("margin", f"±{100 * (finite(plan.get('margin')) or 0):.3g} %"),
        ("epochs", f"{epochs}, each about {_span(plan.get('epoch_ns'))}"),
        ("looks", looks),
        ("blocks in an epoch", str(plan.get("blocks_per_epoch", "–"))),
        ("slice", _because(_span(plan.get("slice_ns")), plan.get("slice_why"))),
        ("warm-up", _span(plan.get("warmup_ns"))),
        ("placement", _because(plan.get("placement"), plan.get("placement_why"))),
        ("cost", _COSTS.get(str(plan.get("cost")), str(plan.get("cost", "–")))),
        (
            "load",
            f"{plan.get('clients', '–')} clients on {plan.get('threads', '–')} driver threads",
        ),
        ("processors", ", ".join(map(str, processors)) if processors else "any"),
        ("attempt", _attempt(plan.get("attempt", 1))),
        ("seed", str(plan.get("seed", "–"))),
    ]
    return [(label, text) for label, text in rows if text not in ("", "–")]


_COSTS = {
    "foreground": "foreground: what the transactions themselves pay",
    "whole": "whole: each arm also pays the work it leaves to the background",
}


def _microseconds(value: object) -> str:
    known = finite(value)
    return "–" if known is None else format_duration(known * NS_PER_US)


def _span(value: object) -> str:
    known = finite(value)
    return "–" if known is None else format_duration(known)


def _because(value: object, why: object) -> str:
    return f"{value or '–'}: {why}" if why else str(value or "–")


def _attempt(attempt: object) -> str:
    if attempt in (None, 1):
        return "first"
    return f"{attempt}: weighed before on this machine; false alarms add up over attempts"
