"""Formats what a probe of storage found, and the profile of settings that follows from it.

A table of jobs, their latencies drawn, and what they mean; each setting with its reason, its
source, and where sources disagree.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from steelyard.cli.views.text_layout import wrapped
from steelyard.evaluation.drive_health_rows import drive_rows
from steelyard.model.units import NS_PER_S, format_bytes, format_duration
from steelyard.record.machine import LOG_PATH, NOT_DIRECT, Probe, ProbeFigure
from steelyard.tuning.profile.advice import GROUPS, Advice, TuningProfile

_NAME, _GAP = 32, 2
_LEAST_CHART = 20
_SETTING, _VALUE = 34, 20
_TEXT = "    "


def probe_lines(probe: Probe, width: int, age_s: float | None = None) -> list[str]:
    """The table, a line a job with its latencies on one scale, and notes; with its age where it was
    not taken just now."""
    where = f"{probe.directory} ({probe.file_system} on {probe.device or 'no device to be seen'})"
    way = "past the page cache" if probe.direct else "through the page cache"
    measured = f"measured {probe.taken[:16].replace('T', ' ')} UTC"
    if age_s is not None:
        measured += f", {format_duration(age_s * NS_PER_S)} ago"
    size = format_bytes(probe.size_bytes)
    lines = wrapped(f"{where}: {probe.fio}, {probe.engine}, {way}, {size}, {measured}", width, "")
    lines += ["", *_table(probe.figures, width), "", *_chart(probe, width), ""]
    for note in notes(probe):
        lines += wrapped(f"- {note}", width, "")
    return lines


def probe_json(probe: Probe) -> str:
    """One object: what is known of the place and the device, then each job. Latencies in ns."""
    facts = {name: value for name, value in probe.to_json().items() if name != "figures"}
    jobs = [
        {
            "name": figure.name,
            "block_bytes": figure.block_bytes,
            "workers": figure.workers,
            "depth": figure.depth,
            "engine": figure.engine,
            "iops": figure.iops,
            "bytes_per_second": figure.bytes_per_s,
            "latency_ns": {
                "mean": figure.mean_ns,
                "p50": figure.p50_ns,
                "p99": figure.p99_ns,
                "p999": figure.p999_ns,
            },
            "processor_share": figure.processor_share,
        }
        for figure in probe.figures
    ]
    return json.dumps({**facts, "random_page_cost": probe.random_page_cost, "jobs": jobs})


def _table(figures: Sequence[ProbeFigure], width: int) -> list[str]:
    """A row a job; columns that do not fit are left out from the right."""
    rows = [("", "a second", "", "mean", "median", "99 %", "99.9 %"), *map(_cells, figures)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    count = len(wide)
    while count > 2 and sum(wide[:count]) + _GAP * (count - 1) > width:
        count -= 1
    return [
        (" " * _GAP).join([row[0].ljust(wide[0]), *map(str.rjust, row[1:count], wide[1:count])])
        for row in rows
    ]


def _cells(figure: ProbeFigure) -> tuple[str, ...]:
    times = (figure.mean_ns, figure.p50_ns, figure.p99_ns, figure.p999_ns)
    return (
        f"{figure.name}{' *' if figure.processor_bound else ''}",
        f"{figure.iops:,.0f}".replace(",", " "),
        format_bytes(figure.bytes_per_s),
        *(format_duration(round(ns)) for ns in times),
    )


def _chart(probe: Probe, width: int) -> list[str]:
    """Median to 99 % to 99.9 % of every job on one logarithmic scale: `●━━━━┅┅┅`."""
    figures = [figure for figure in probe.figures if figure.p50_ns > 0]
    room = width - _NAME - 2
    if not figures or room < _LEAST_CHART:
        return []
    low = math.log(min(figure.p50_ns for figure in figures))
    span = (math.log(max(figure.p999_ns for figure in figures)) - low) or 1.0

    def place(ns: float) -> int:
        return round((math.log(max(ns, 1.0)) - low) / span * (room - 1))

    lines = []
    for figure in figures:
        cells = [" "] * room
        for cell in range(place(figure.p99_ns), place(figure.p999_ns) + 1):
            cells[cell] = "┅"
        for cell in range(place(figure.p50_ns), place(figure.p99_ns) + 1):
            cells[cell] = "━"
        cells[place(figure.p50_ns)] = "●"
        lines.append(figure.name.ljust(_NAME) + "".join(cells).rstrip())
    ends = [format_duration(round(math.exp(edge))) for edge in (low, low + span)]
    return [*lines, " " * _NAME + ends[0] + ends[1].rjust(room - len(ends[0]))]


def notes(probe: Probe) -> list[str]:
    """What the figures mean, and what they cannot show."""
    lines = ["● median, ━ to 99 %, ┅ to 99.9 %; a second: requests, and bytes"]
    if any(figure.processor_bound for figure in probe.figures):
        lines.append("* the processors were measured, not the device: fio used all that it could")
    cost = probe.random_page_cost
    if cost is not None:
        lines.append(
            f"a random page of 8 kB takes {cost:.1f} times as long as a sequential one: that is "
            f"random_page_cost where seq_page_cost is 1 and nothing is cached"
        )
    log = probe.figure(LOG_PATH)
    if log is not None:
        lines.append(
            f"the log's path takes {format_duration(round(log.mean_ns))} to write 8 kB and sync "
            "them: a lone client commits no faster; percentiles are of the sync alone"
        )
    if not probe.direct:
        lines.append(
            f"{NOT_DIRECT}: reads and writes tell of memory, not of the device. No "
            "random_page_cost follows, `tune` leaves alone what depends on the device, and "
            "weighings show no share of it; the log's path is measured all the same"
        )
    if not probe.device:
        lines.append(
            "no device is to be seen beneath the file system, by which this probe could be kept: "
            "`tune` and the records of later weighings cannot use it"
        )
    if probe.size_bytes < probe.memory_bytes:
        lines.append(
            f"{format_bytes(probe.size_bytes)} are less than this machine's memory: a cache of the "
            "drive, or beneath a virtual machine, may have answered"
        )
    if probe.engine == "psync":
        lines.append("psync has one request under way a worker: depth is the number of workers")
    rows = drive_rows(probe.drives_before, probe.drives_after, "probe", probe.seconds)
    return lines + [f"{name}: {text}" for name, text in rows]


def profile_lines(profile: TuningProfile, build: str, width: int) -> list[str]:
    """What it is made from, the settings by groups, what is left alone, and the memory it takes."""
    basis = profile.basis
    lines = wrapped(
        f"profile {profile.name} for {build}: {format_bytes(basis.memory_bytes)} "
        f"({basis.memory_from}), {basis.processors} processors, {basis.clients} clients "
        f"({basis.clients_from}), {basis.kind}{_probed(profile)}",
        width,
        "",
    )
    for group, meaning in GROUPS.items():
        of_group = [advice for advice in profile.advice if advice.group == group]
        if of_group:
            lines += ["", f"{group}: {meaning}"]
        for advice in of_group:
            lines += _setting(advice, profile, width)
    if profile.left_alone:
        lines += ["", "left alone"]
        for left in profile.left_alone:
            lines += wrapped(f"- {left.name}: {left.why}", width, "  ")
    need = profile.need
    lines.append("")
    lines += wrapped(
        f"memory at most: {format_bytes(need.shared_bytes)} shared, "
        f"{format_bytes(need.sessions_bytes)} for sessions, {format_bytes(need.upkeep_bytes)} for "
        f"upkeep: {format_bytes(need.total_bytes)} of {format_bytes(basis.memory_bytes)}; the rest "
        "is the page cache",
        width,
        "",
    )
    if profile.restart:
        lines.append("* takes effect at the next start")
    lines += wrapped(
        "advice, not a measurement: `steelyard weigh tuning` weighs it against the defaults here",
        width,
        "",
    )
    return lines


def _probed(profile: TuningProfile) -> str:
    storage = profile.basis.storage
    if storage is None or storage.why_not:
        return ""
    return f", {storage.device} as probed {storage.probed_at[:10]}"


def _setting(advice: Advice, profile: TuningProfile, width: int) -> list[str]:
    mark = " *" if advice.name in profile.restart else ""
    was = profile.defaults.get(advice.name, "")
    head = f"  {advice.name}".ljust(_SETTING) + f"{was:>10} → {advice.value}".ljust(_VALUE) + mark
    lines = [head.rstrip(), *wrapped(f"{advice.reason}. Source: {advice.source}", width, _TEXT)]
    if advice.others:
        lines += wrapped(f"others: {'; '.join(advice.others)}", width, _TEXT)
    return lines
