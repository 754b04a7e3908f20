"""Describes what the block devices beneath the data did, and did while each arm was driven, beside
what a probe found that they can do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from steelyard.evaluation.transaction.bottleneck import ceiling
from steelyard.model.readings import SLICES_NS, device_names, device_reading, known_values
from steelyard.model.units import (
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    format_bytes,
    format_digits,
    format_duration,
)
from steelyard.record.environment import Environment
from steelyard.record.epoch import EpochLine
from steelyard.record.machine import LOG_PATH, NOT_DIRECT, PEAK_READ, PEAK_WRITE, RANDOM_READ, Probe
from steelyard.record.verdict import DeviceFigure, DeviceSummary, Verdict
from steelyard.report.tables import amount, counted_reading
from steelyard.wording.bottleneck import ceiling_text

_COUNTED = (
    *("reads", "read_bytes", "read_ms", "writes", "written_bytes", "write_ms"),
    *("discards", "discarded_bytes", "discard_ms", "flushes", "flush_ms", "busy_ms"),
)
_ELAPSED = "elapsed"
FOOTNOTE = (
    "one device serves all arms, and writes what an arm left in slices of others too; busy: the "
    "kernel counts every jiffy in which a request was under way or ended, so it says "
    '"not idle" and never "full"; a volume (LVM, LUKS, md) and the drives beneath it count the '
    "same requests"
)

IN_USE = 0.01
"""Requests under way on average, of reads or of writes, below which a device has no part in what is
weighed, and they are not shown."""
_LABELS = {
    "read_iops": "reads (r/s)",
    "write_iops": "writes (w/s)",
    "read_latency_ms": "read time (r_await)",
    "write_latency_ms": "write time (w_await)",
    "queue_length": "queue (aqu-sz)",
    "read_iops_cv": "CV of reads/s",
    "write_iops_cv": "CV of writes/s",
}
"""Metric → its name, with that of iostat(1), short enough for a narrow terminal."""
_VARIATION = "_cv"
_FIGURES = (RANDOM_READ, PEAK_READ, PEAK_WRITE)


def devices_text(summary: DeviceSummary) -> str:
    """`"device vda"`, `"devices sda and sdb"`."""
    return f"device{'' if len(summary.names) == 1 else 's'} {' and '.join(summary.names)}"


def not_available(summary: DeviceSummary) -> str:
    """Why there are no figures of the devices; empty where there are."""
    return f"what the devices did is not available: {summary.missing}" if summary.missing else ""


def used_figures(summary: DeviceSummary, arm: str) -> list[DeviceFigure]:
    """The figures of an arm against the control, of reads and writes that it or the control keeps a
    device at; none where neither does."""
    figures = {figure.metric: figure for figure in summary.figures if figure.arm == arm}
    idle = [side for side in ("read", "write") if _under_way(figures, side) < IN_USE]
    if len(idle) == 2:
        return []
    return [figure for figure in figures.values() if not figure.metric.startswith(tuple(idle))]


def _under_way(figures: Mapping[str, DeviceFigure], side: str) -> float:
    """Requests of one side that are under way on average (Little's law), in the busier arm. Where
    their time is not known, since an arm asked for none in some epoch: as if it were 1 ms, and no
    more than all requests that are under way."""
    rate, each = figures.get(f"{side}_iops"), figures.get(f"{side}_latency_ms")
    if rate is None:
        return 0.0
    seconds = NS_PER_MS / NS_PER_S
    if each is None:
        every = figures.get("queue_length")
        most = 0.0 if every is None else max(every.control_value, every.arm_value)
        return min(seconds * max(rate.control_value, rate.arm_value), most)
    return seconds * max(rate.control_value * each.control_value, rate.arm_value * each.arm_value)


def by_second(figure: DeviceFigure) -> bool:
    """Whether it is a CV: of a pair, since its shorter turn limits both."""
    return figure.metric.endswith(_VARIATION)


def figure_name(metric: str) -> str:
    """`"CV of writes/s"`, `"reads a new order"`."""
    return _LABELS.get(metric, metric.replace("_per_", " a ").replace("_", " "))


def figure_rows(figures: Iterable[DeviceFigure]) -> list[dict[str, str]]:
    """Each figure with both arms' values and its contrast."""
    return [
        {
            "metric": figure_name(figure.metric),
            "control": _value(figure, figure.control_value),
            "arm": _value(figure, figure.arm_value),
            "reading": counted_reading(figure),
            "note": figure.note,
        }
        for figure in figures
    ]


def _value(figure: DeviceFigure, value: float) -> str:
    if by_second(figure):
        return f"{format_digits(100 * value, 3)} %"
    return amount(value, "ms" if figure.unit == "ms" else "")


def device_rows(epochs: Iterable[EpochLine]) -> list[tuple[str, str]]:
    """A row a device, and one a device and arm, and what their last figure means; empty where none
    was seen."""
    sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for label, counts in _spans(epochs):
        for device in device_names(counts):
            total = sums[f"device {device}{label}"]
            total[_ELAPSED] += counts.get("elapsed_ns", counts.get(SLICES_NS, 0.0))
            for counted in _COUNTED:
                total[counted] += counts.get(device_reading(device, counted), 0.0)
    rows = [(name, _figures(counts)) for name, counts in sums.items() if counts[_ELAPSED]]
    return [*rows, ("devices", FOOTNOTE)] if rows else []


def _spans(epochs: Iterable[EpochLine]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """What was read of the whole epochs, and of the slices of each arm, with a label."""
    for epoch in epochs:
        yield "", known_values(epoch.machine)
        for arm, line in epoch.arms.items():
            yield f", while {arm} was driven", known_values(line.readings)


def _figures(counts: Mapping[str, float]) -> str:
    elapsed_ns = counts[_ELAPSED]
    seconds = elapsed_ns / NS_PER_S
    parts = []
    for plural, size, spent in (
        ("reads", "read_bytes", "read_ms"),
        ("writes", "written_bytes", "write_ms"),
        ("discards", "discarded_bytes", "discard_ms"),
        ("flushes", "", "flush_ms"),
    ):
        count = counts[plural]
        if not count:
            continue
        each = format_duration(counts[spent] / count * NS_PER_MS)
        of = f" of {format_bytes(counts[size] / count)}" if size else ""
        parts.append(f"{format_digits(count / seconds, 3)} {plural}/s{of} in {each}")
    spent_ms = sum(counts[name] for name in ("read_ms", "write_ms", "discard_ms", "flush_ms"))
    queue = spent_ms * NS_PER_MS / elapsed_ns
    busy = min(1.0, counts["busy_ms"] * NS_PER_MS / elapsed_ns)
    under_way = (
        f"{format_digits(queue, 2)} requests under way on average, busy {busy:.0%} of the time"
    )
    return "; ".join([", ".join(parts) or "nothing", under_way])


def probed_rows(
    environment: Environment, epochs: Sequence[EpochLine], verdict: Verdict | None
) -> list[tuple[str, str]]:
    """What the probe found and when, then what each arm used of it; empty without a probe."""
    probe = environment.probe
    if probe is None:
        return []
    age = environment.probe_age_seconds or 0.0
    rows = [
        (f"probe of {probe.device}", f"{format_duration(age * NS_PER_S)} before: {_all(probe)}")
    ]
    if not probe.direct:
        why = f"not told: {NOT_DIRECT}, so that these figures are memory's"
        rows.append(("share of what the device can do", why))
    for arm in environment.arms:
        lines = [epoch.arms[arm].readings for epoch in epochs if arm in epoch.arms]
        readings = [known_values(line) for line in lines]
        used = ceiling(readings, probe)
        if used is not None:
            rows.append(
                (
                    f"while {arm} was driven",
                    f"{used.reads:.0f} of {used.most_reads:.0f} reads/s and {used.writes:.0f} of "
                    f"{used.most_writes:.0f} writes/s: {ceiling_text(used)}",
                )
            )
    return [*rows, *_log_row(probe, verdict)]


def _all(probe: Probe) -> str:
    figures = [figure for name in _FIGURES if (figure := probe.figure(name)) is not None]
    return "; ".join(
        f"{figure.name} {figure.iops:.0f}/s in {format_duration(round(figure.mean_ns))}"
        f"{' (the limit was the processors)' if figure.processor_bound else ''}"
        for figure in figures
    )


def _log_row(probe: Probe, verdict: Verdict | None) -> list[tuple[str, str]]:
    """The sync path beside what a transaction waits for the log."""
    log = probe.figure(LOG_PATH)
    if log is None or verdict is None:
        return []
    waited: dict[str, float] = {}
    for breakdown in verdict.time:
        for part in breakdown.parts:
            if part.part == "wal":
                waited |= {breakdown.control: part.control_us, breakdown.arm: part.arm_us}
    if not waited:
        return []
    waits = ", ".join(
        f"{format_duration(round(us * NS_PER_US))} in {arm}" for arm, us in waited.items()
    )
    return [
        (
            "write and sync of the log",
            f"{format_duration(round(log.mean_ns))} for a lone client in the probe; a transaction "
            f"waited {waits}",
        )
    ]
