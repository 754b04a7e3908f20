"""Formats what is found on this host: what would spoil a weighing, the engines, and the cache."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from steelyard.cli.views.text_layout import wrapped
from steelyard.engines.builds.added import is_version
from steelyard.engines.cache import Cache, entries, free_bytes, tree_bytes
from steelyard.engines.local.runs import leftovers, live_runs
from steelyard.engines.mysql.builds import find as mysql
from steelyard.engines.postgres.builds.added import added_engines
from steelyard.engines.postgres.builds.contrib import contrib_source, has_contrib
from steelyard.engines.postgres.builds.find import DiscoveredBuild
from steelyard.model.identity import Identity
from steelyard.model.units import format_bytes
from steelyard.telemetry.doctor.finding import HostFinding, Level

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
