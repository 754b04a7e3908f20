"""Formats what a probe of storage found: a table, latencies drawn, and what they mean."""

from __future__ import annotations

import json
import math

from steelyard.cli.views.text_layout import wrapped
from steelyard.evaluation.drive_health_rows import drive_rows
from steelyard.model.units import NS_PER_S, format_bytes, format_duration
from steelyard.record.machine.probe import LOG_PATH, NOT_DIRECT, Probe, ProbeFigure

_NAME, _FIGURE = 32, 9
_LEAST_CHART = 20


def probe_lines(found: Probe, width: int, age_s: float | None = None) -> list[str]:
    """The table, a line a job with its latencies on one scale, and notes; with its age where it was
    not taken just now."""
    where = f"{found.directory} ({found.file_system} on {found.device or 'no device to be seen'})"
    way = "past the page cache" if found.direct else "through the page cache"
    measured = f"measured {found.taken[:16].replace('T', ' ')} UTC"
    if age_s is not None:
        measured += f", {format_duration(age_s * NS_PER_S)} ago"
    size = format_bytes(found.size_bytes)
    lines = wrapped(f"{where}: {found.fio}, {found.engine}, {way}, {size}, {measured}", width, "")
    heads = ("a second", "", "mean", "median", "99 %", "99.9 %")
    lines += ["", " " * _NAME + "".join(head.rjust(_FIGURE) for head in heads)]
    lines += [_row(one) for one in found.figures]
    lines += ["", *_chart(found, width), ""]
    for note in notes(found):
        lines += wrapped(f"- {note}", width, "")
    return lines


def probe_json(found: Probe) -> str:
    """One object: what is known of the place and the device, then each job. Latencies in ns."""
    known = {name: value for name, value in found.to_json().items() if name != "figures"}
    jobs = [
        {
            "name": one.name,
            "block_bytes": one.block_bytes,
            "workers": one.workers,
            "depth": one.depth,
            "engine": one.engine,
            "iops": one.iops,
            "bytes_per_second": one.bytes_per_s,
            "latency_ns": {
                "mean": one.mean_ns,
                "p50": one.p50_ns,
                "p99": one.p99_ns,
                "p999": one.p999_ns,
            },
            "processor_share": one.processor_share,
        }
        for one in found.figures
    ]
    return json.dumps({**known, "random_page_cost": found.random_page_cost, "jobs": jobs})


def _row(one: ProbeFigure) -> str:
    rate = f"{one.iops:,.0f}".replace(",", " ")
    bound = " *" if one.processor_bound else ""
    cells = (
        rate,
        f"{format_bytes(one.bytes_per_s)}",
        *(format_duration(round(ns)) for ns in (one.mean_ns, one.p50_ns, one.p99_ns, one.p999_ns)),
    )
    return one.name.ljust(_NAME) + "".join(cell.rjust(_FIGURE) for cell in cells) + bound


def _chart(found: Probe, width: int) -> list[str]:
    """Median to 99 % to 99.9 % of every job on one logarithmic scale: `●━━━━┅┅┅`."""
    known = [one for one in found.figures if one.p50_ns > 0]
    room = width - _NAME - 2
    if not known or room < _LEAST_CHART:
        return []
    low = math.log(min(one.p50_ns for one in known))
    span = (math.log(max(one.p999_ns for one in known)) - low) or 1.0

    def place(ns: float) -> int:
        return round((math.log(max(ns, 1.0)) - low) / span * (room - 1))

    lines = []
    for one in known:
        cells = [" "] * room
        for cell in range(place(one.p99_ns), place(one.p999_ns) + 1):
            cells[cell] = "┅"
        for cell in range(place(one.p50_ns), place(one.p99_ns) + 1):
            cells[cell] = "━"
        cells[place(one.p50_ns)] = "●"
        lines.append(one.name.ljust(_NAME) + "".join(cells).rstrip())
    ends = [format_duration(round(math.exp(edge))) for edge in (low, low + span)]
    return [*lines, " " * _NAME + ends[0] + ends[1].rjust(room - len(ends[0]))]


def notes(found: Probe) -> list[str]:
    """What the figures mean, and what they cannot show."""
    told = ["● median, ━ to 99 %, ┅ to 99.9 %; a second: requests, and bytes"]
    if any(one.processor_bound for one in found.figures):
        told.append("* the processors were measured, not the device: fio used all that it could")
    cost = found.random_page_cost
    if cost is not None:
        told.append(
            f"a random page of 8 kB takes {cost:.1f} times as long as a sequential one: that is "
            f"random_page_cost where seq_page_cost is 1 and nothing is cached"
        )
    log = found.figure(LOG_PATH)
    if log is not None:
        told.append(
            f"the log's path takes {format_duration(round(log.mean_ns))} to write 8 kB and sync "
            "them: a lone client commits no faster; percentiles are of the sync alone"
        )
    if not found.direct:
        told.append(
            f"{NOT_DIRECT}: reads and writes tell of memory, not of the device. No "
            "random_page_cost follows, `tune` leaves alone what depends on the device, and "
            "weighings show no share of it; the log's path is measured all the same"
        )
    if not found.device:
        told.append(
            "no device is to be seen beneath the file system, by which this probe could be kept: "
            "`tune` and the records of later weighings cannot use it"
        )
    if found.size_bytes < found.memory_bytes:
        told.append(
            f"{format_bytes(found.size_bytes)} are less than this machine's memory: a cache of the "
            "drive, or beneath a virtual machine, may have answered"
        )
    if found.engine == "psync":
        told.append("psync has one request under way a worker: depth is the number of workers")
    rows = drive_rows(found.drives_before, found.drives_after, "probe", found.seconds)
    return told + [f"{name}: {words}" for name, words in rows]
