"""Formats what is found on hosts: what would spoil a weighing on this one, its engines and cache;
of load machines what `steelyard fleet check` measured.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from steelyard.cli.views.text_layout import wrapped
from steelyard.engines.builds.added import is_version
from steelyard.engines.cache import Cache, entries, free_bytes, tree_bytes
from steelyard.engines.local.runs import leftovers, live_runs
from steelyard.engines.mysql.builds import find as mysql
from steelyard.engines.postgres.builds.added import added_engines
from steelyard.engines.postgres.builds.find import DiscoveredBuild, contrib_source, has_contrib
from steelyard.model.identity import Identity
from steelyard.model.readings import LATE_SHARE
from steelyard.model.units import (
    NS_PER_US,
    format_bytes,
    format_duration,
    format_reading,
    percent_of_log,
)
from steelyard.telemetry.doctor.finding import HostFinding, Level

if TYPE_CHECKING:
    from steelyard.fleet.load_check import ClusterCheck, LinkCheck, LoadCheck

_MARKS: dict[Level, str] = {"warning": "!", "note": "·", "good": "✓", "unseen": "?"}
_TITLES: dict[Level, str] = {
    "warning": "would spoil a weighing",
    "note": "worth knowing",
    "good": "as it should be",
    "unseen": "could not be seen",
}
_HEADER = ("name", "version", "origin", "flags", "contrib", "builder", "path")
_MYSQL_HEADER = (
    *("name", "version", "origin", "publisher", "released", "licence", "end of life"),
    *("builder", "path"),
)


def doctor_lines(findings: Sequence[HostFinding], width: int) -> list[str]:
    """Every finding, by level; advice where there is something to do."""
    lines = [_summary(findings)]
    for level, title in _TITLES.items():
        of_level = [finding for finding in findings if finding.level == level]
        if of_level:
            lines += ["", f"{title}:"]
        for finding in of_level:
            lines += wrapped(f"- {_MARKS[level]} {finding.name}: {finding.seen}", width, "  ")
            if level in ("warning", "note"):
                lines += wrapped(f"  matters for {finding.matters_for}", width, "    ")
                lines += wrapped(f"  advice: {finding.advice} ({finding.source})", width, "    ")
    return lines


def _summary(findings: Sequence[HostFinding]) -> str:
    counts = {level: sum(finding.level == level for finding in findings) for level in _TITLES}
    warnings = counts["warning"]
    warning_text = f"{warnings or 'no'} warning{'' if warnings == 1 else 's'}"
    notes, unseen = counts["note"], counts["unseen"]
    return (
        f"{warning_text}, {notes} note{'' if notes == 1 else 's'}, "
        f"{counts['good']} as it should be, {unseen} could not be seen"
    )


def engine_facts(build: DiscoveredBuild, cache: Cache) -> dict[str, Any]:
    """One engine for --json."""
    return {"name": build.name, **_facts(build.identity), "contrib": _contrib(build, cache)}


def mysql_facts(build: mysql.DiscoveredBuild) -> dict[str, Any]:
    """One build of MySQL or MariaDB for --json; what is PostgreSQL's alone is empty."""
    provenance = {"package": build.identity.package, **asdict(build.provenance)}
    return {"name": build.name, **_facts(build.identity), "contrib": "", **provenance}


def _facts(identity: Identity) -> dict[str, Any]:
    names = ("kind", "version", "version_number", "origin", "builder", "configure", "cflags")
    return {name: getattr(identity, name) for name in (*names, "assertions", "bindir")}


def engine_lines(builds: Sequence[DiscoveredBuild], cache: Cache) -> list[str]:
    """One line an engine below a header, in columns."""
    return _columns([_HEADER, *(_row(each, cache) for each in builds)])


def mysql_lines(builds: Sequence[mysql.DiscoveredBuild]) -> list[str]:
    """One line a build of MySQL or MariaDB below a header, in columns; none without any."""
    return _columns([_MYSQL_HEADER, *map(_mysql_row, builds)]) if builds else []


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]


def _row(build: DiscoveredBuild, cache: Cache) -> tuple[str, ...]:
    identity = build.identity
    version = (build.name, identity.version, identity.origin, _flags(identity))
    return (*version, _contrib(build, cache), identity.builder, identity.bindir)


def _mysql_row(build: mysql.DiscoveredBuild) -> tuple[str, ...]:
    identity, provenance = build.identity, build.provenance
    debug = " debug" if identity.assertions else ""
    origins = (
        provenance.publisher,
        provenance.released,
        provenance.licence,
        provenance.end_of_life,
        identity.builder,
    )
    return (
        *(build.name, f"{identity.version}{debug}", identity.origin),
        *(each or "unknown" for each in origins),
        identity.bindir,
    )


def _flags(identity: Identity) -> str:
    # Optimisation, debugging and code generation tell builds apart; warnings do not.
    telling = re.findall(r"(?<!\S)-(?:O\S*|g\S*|m(?:arch|cpu|tune)\S*|flto\S*)", identity.cflags)
    flags = " ".join(dict.fromkeys(telling)) or "unknown"
    return f"{flags} assertions" if identity.assertions else flags


def _contrib(build: DiscoveredBuild, cache: Cache) -> str:
    """ "own", the name of the added engine it would come from, "addable" from npm, or "none"."""
    if has_contrib(build.build):
        return "own"
    source = contrib_source(build.identity, added_engines(cache))
    if source is not None:
        return source.name
    released = is_version(build.identity.version) and shutil.which("npm") is not None
    return "addable" if released else "none"


def cache_facts(cache: Cache) -> dict[str, Any]:
    """The cache for --json: its place, what it holds, leftovers and weighings under way."""
    facts: dict[str, Any] = {"root": str(cache.root), "free_bytes": free_bytes(cache.root)}
    for room in (cache.templates, cache.binaries, cache.engines):
        facts[room.name] = [
            {"name": entry.name, "bytes": tree_bytes(entry)} for entry in entries(room)
        ]
    dead = leftovers(cache) if cache.runs.is_dir() else []
    facts["leftovers"] = [
        {
            "path": str(each.directory),
            "owner_pid": each.owner_pid,
            "started": each.started,
            "bytes": tree_bytes(each.directory),
        }
        for each in dead
    ]
    facts["running"] = [str(each) for each in live_runs(cache)] if cache.runs.is_dir() else []
    return facts


def cache_lines(facts: dict[str, Any]) -> list[str]:
    """The same as lines."""
    lines = [f"cache {facts['root']}, {format_bytes(facts['free_bytes'])} free on its disk"]
    for room in ("templates", "binaries", "engines"):
        total = sum(entry["bytes"] for entry in facts[room])
        lines.append(f"  {room}: {len(facts[room])}, {format_bytes(total)}")
        lines += [f"    {e['name']}  {format_bytes(e['bytes'])}" for e in facts[room]]
    lines.append(f"  weighings under way: {len(facts['running'])}")
    for each in facts["leftovers"]:
        lines.append(f"  left by a killed weighing of {each['started']}: {each['path']}")
    if facts["leftovers"]:
        lines.append("  the next weighing removes it, or `steelyard engines clear` now")
    return lines


def check_lines(check: ClusterCheck) -> Iterator[str]:
    """A table of the load machines, line by line."""
    for link in check.links:
        yield f"{link.name}: {link.facts.processors} processors, steelyard {link.facts.version}"
        trips = " / ".join(format_duration(link.round_trip_ns(share)) for share in (0.5, 0.99, 1.0))
        yield f"  round trip   {trips} (median, 99th percentile, longest)"
        drift = link.drift
        yield (
            f"  clock        known within ±{format_duration(link.offset.bound_ns)}; drifts "
            f"{drift.ns_per_s / 1000:+.1f} ± {drift.bound_ns_per_s / 1000:.1f} ppm"
        )
        yield from _network(link)
    if check.load is not None:
        yield from _load(check.load)
    yield f"took {check.seconds:.0f} s"


def _network(link: LinkCheck) -> Iterator[str]:
    for name, (counted, bytes_per_s) in link.sent.items():
        speed = "" if bytes_per_s is None else f" of a link of {bytes_per_s / 125e6:g} Gbit/s"
        yield (
            f"  {name:<12} {counted.rx_bytes / 1e6:.1f} MB in, {counted.tx_bytes / 1e6:.1f} MB "
            f"out{speed}; {counted.faults} damaged or dropped"
        )


def _load(load: LoadCheck) -> Iterator[str]:
    yield f"equal arms, {load.slices} slices of 200 ms, {load.clients} clients"
    for name, rate in load.transactions_per_s.items():
        share = load.processor_share[name]
        yield f"  {name}: {rate:.0f} transactions/s, {share:.0%} of its processors"
    verdict = "within" if load.apart_share <= LATE_SHARE else "MORE THAN"
    yield (
        f"  began apart  {format_duration(load.apart_share * 200e6)} at most in 19 of 20 slices: "
        f"{verdict} {LATE_SHARE:.0%} of a slice"
    )
    yield f"  arm to arm   {_arm_to_arm(load)}"


def _arm_to_arm(load: LoadCheck) -> str:
    low, high = load.ratio.low, load.ratio.high
    if not math.isfinite(high - low):
        return "not known: both arms worked in fewer than two blocks"
    middle, *ends = (percent_of_log(log_ratio) for log_ratio in ((low + high) / 2, low, high))
    return f"{format_reading(middle, *ends)} over blocks of one epoch"


def check_json(check: ClusterCheck) -> str:
    """The object of `fleet check --json`."""
    facts = {
        "seconds": check.seconds,
        "machines": [_link_json(link) for link in check.links],
        "load": None if check.load is None else _load_json(check.load),
    }
    return json.dumps(facts)


def _load_json(load: LoadCheck) -> dict[str, Any]:
    low, high = (
        percent_of_log(end) if math.isfinite(end) else None
        for end in (load.ratio.low, load.ratio.high)
    )
    return {
        "slices": load.slices,
        "clients": load.clients,
        "apart_us_p95": load.apart_share * 200_000,
        "apart_share_p95": load.apart_share,
        "low_percent": low,
        "high_percent": high,
        "transactions_per_second": load.transactions_per_s,
        "processor_share": load.processor_share,
    }


def _link_json(link: LinkCheck) -> dict[str, Any]:
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {
        "name": link.name,
        "host": link.facts.host,
        "processors": link.facts.processors,
        "version": link.facts.version,
        "round_trip_us": {
            name: link.round_trip_ns(share) / NS_PER_US for name, share in shares.items()
        },
        "offset_ns": round(link.offset.value_ns),
        "offset_bound_ns": round(link.offset.bound_ns),
        "drift_ppm": link.drift.ns_per_s / 1000,
        "drift_bound_ppm": link.drift.bound_ns_per_s / 1000,
        "network": {
            name: {
                "rx_bytes": counted.rx_bytes,
                "tx_bytes": counted.tx_bytes,
                "faults": counted.faults,
                "link_bytes_per_s": bytes_per_s,
            }
            for name, (counted, bytes_per_s) in link.sent.items()
        },
    }
