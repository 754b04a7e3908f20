"""Words what the copies show of an upgrade: databases, extensions, contents, refusals, and settings
that are gone, renamed, or have other defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from steelyard.engines.intake import ServerSettings
from steelyard.engines.postgres.intake.configuration import PRELOADING
from steelyard.engines.postgres.upgrade.facts import ClusterFacts
from steelyard.engines.postgres.upgrade.outcome import (
    Attempt,
    RehearsalFinding,
    SettingChange,
    identifier,
    literal,
    psql_command,
    warnings_of,
)
from steelyard.model.identity import BuildDefaults

RENAMED = {
    "force_parallel_mode": "debug_parallel_query",  # 16
    "io_workers": "io_min_workers, io_max_workers",  # 19
    "wal_keep_segments": "wal_keep_size",  # 13, in megabytes
    "ssl_ecdh_curve": "ssl_groups",  # 18; the old name is taken too
    "promote_trigger_file": "pg_promote() or pg_ctl promote",  # 16
    "vacuum_cleanup_index_scale_factor": "vacuum_index_cleanup (storage parameter)",  # 14
}
"""Old name → new one, of the release notes of PostgreSQL 13 to 19."""


def copy_findings(facts: ClusterFacts) -> Iterator[RehearsalFinding]:
    """What pg_upgrade would refuse in the original, and was resolved in the copy."""
    for gid, database in facts.prepared:
        yield RehearsalFinding(
            "blocks",
            f'prepared transaction "{gid}" in database "{database}"',
            "pg_upgrade refuses a cluster with any. In the copy it was rolled back; whether it is "
            "to be committed, its application knows.",
            (
                psql_command(f"COMMIT PREPARED {literal(gid)}", database),
                psql_command(f"ROLLBACK PREPARED {literal(gid)}", database),
            ),
        )
    for name in facts.invalid:
        yield RehearsalFinding(
            "blocks",
            f'database "{name}" is invalid: its DROP DATABASE was interrupted',
            "pg_upgrade refuses a cluster with any, and no server opens it any more. In the copy "
            "it was dropped.",
            (psql_command(f"DROP DATABASE {identifier(name)}"),),
        )
    for name in facts.closed:
        yield RehearsalFinding(
            "blocks",
            f'database "{name}" admits no connections',
            "pg_upgrade needs to open all but template0. In the copy it was opened.",
            (psql_command(f"ALTER DATABASE {identifier(name)} ALLOW_CONNECTIONS true"),),
        )


def extension_findings(old: ClusterFacts, new: ClusterFacts) -> Iterator[RehearsalFinding]:
    """Extensions by name that the new build lacks, or has in another version."""
    for name, version, databases in _installed(old):
        where = ", ".join(databases)
        if name not in new.available:
            yield RehearsalFinding(
                "blocks",
                f'extension "{name}" {version} is not in the new build',
                f"It is created in database {where}. Install its package for the new version "
                "and repeat the rehearsal, or drop it.",
                tuple(
                    psql_command(f"DROP EXTENSION {identifier(name)}", each) for each in databases
                ),
            )
        elif _is_older(new.available[name], version):
            yield RehearsalFinding(
                "do",
                f'extension "{name}" is {version}, the new build has {new.available[name]} only',
                f"No extension goes back: in database {where} it would work with older programs. "
                "Install the same version for the new server, or a later one, and repeat the "
                "rehearsal.",
            )
        elif new.available[name] != version:
            yield RehearsalFinding(
                "do",
                f'extension "{name}" is {version}, the new build has {new.available[name]}',
                f"pg_upgrade leaves it as it is. In database {where}, afterwards:",
                tuple(
                    psql_command(f"ALTER EXTENSION {identifier(name)} UPDATE", each)
                    for each in databases
                ),
            )


def _is_older(version: str, than: str) -> bool:
    """Whether it is, of two versions that are numbers with dots; others are not comparable."""
    if not all(re.fullmatch(r"[0-9]+(\.[0-9]+)*", each) for each in (version, than)):
        return False
    first, second = (list(map(int, each.split("."))) for each in (version, than))
    length = max(len(first), len(second))  # 3.4 is 3.4.0
    return first + [0] * (length - len(first)) < second + [0] * (length - len(second))


def _installed(facts: ClusterFacts) -> list[tuple[str, str, list[str]]]:
    """Name, version, databases of each extension."""
    databases: dict[tuple[str, str], list[str]] = {}
    for database, each in facts.databases.items():
        for name, version in each.extensions.items():
            databases.setdefault((name, version), []).append(database)
    return [(name, version, where) for (name, version), where in sorted(databases.items())]


def content_findings(old: ClusterFacts, new: ClusterFacts) -> Iterator[RehearsalFinding]:
    """Where the upgraded copy does not hold what the old one did: that must not happen."""
    for name in old.slots:
        if name not in new.slots:
            yield RehearsalFinding("blocks", f"replication slot {name} is not in the upgraded copy")
    for database, before in old.databases.items():
        after = new.databases.get(database)
        if after is None:
            yield RehearsalFinding("blocks", f'database "{database}" is not in the upgraded copy')
            continue
        for noun in ("relations", "large_objects"):
            counts = getattr(before, noun), getattr(after, noun)
            if counts[0] != counts[1]:
                yield RehearsalFinding(
                    "note",
                    f'database "{database}" had {counts[0]} {noun.replace("_", " ")}, and has '
                    f"{counts[1]} when upgraded",
                    "Tables of a new version's extensions or TOAST tables may be the difference: "
                    "compare pg_dump --schema-only of both.",
                )


def warned_findings(attempt: Attempt) -> Iterator[RehearsalFinding]:
    """What pg_upgrade warns of and lets pass, in its words: it blocks nothing, and wants a deed."""
    for step, words in warnings_of(attempt.output):
        detail = f"{words}\nThe same with --retain keeps the files that it names.".strip()
        yield RehearsalFinding("do", f'pg_upgrade --check warns at "{step}"', detail)


def refused_finding(attempt: Attempt, what: str) -> RehearsalFinding:
    """pg_upgrade's own refusal, in its words."""
    return RehearsalFinding("blocks", what, attempt.reason)


def unavailable_way(attempt: Attempt) -> RehearsalFinding:
    """A way that this file system does not offer."""
    return RehearsalFinding("note", f"--{attempt.way} does not work here", attempt.reason)


def setting_changes(
    offered: ServerSettings,
    old_refused: frozenset[str],
    new_known: ServerSettings,
    old: BuildDefaults,
    new: BuildDefaults,
) -> tuple[SettingChange, ...]:
    """`offered`: the original's, with the names of what a copy is not given of them. `old_refused`:
    of them, what its own version refuses here too. `new_known`: what the new version left."""
    lacking = frozenset(_names(old) - _names(new))
    return (
        *_configured(offered, old_refused - lacking, new_known, new),
        *(_lost_setting(each.what, new) for each in offered.neutralised if each.what in lacking),
        *_defaults(offered.settings, old, new),
    )


def _names(build: BuildDefaults) -> set[str]:
    """As files have them once they are read: in lower case."""
    return {name.lower() for name in build.settings}


def _configured(
    offered: ServerSettings,
    old_refused: frozenset[str],
    new_known: ServerSettings,
    new: BuildDefaults,
) -> Iterator[SettingChange]:
    for name in offered.settings:
        if name in PRELOADING:  # the build of the old version may lack them here, too
            if offered.settings[name] != new_known.settings.get(name):
                lost = _lost(offered.settings[name], new_known.settings.get(name, ""))
                yield SettingChange(name, "library", lost, "", True)
        elif name not in new_known.settings and name not in old_refused:
            yield _lost_setting(name, new)


def _lost_setting(name: str, new: BuildDefaults) -> SettingChange:
    if name in _names(new):
        return SettingChange(name, "value", "", "", True)
    if name in RENAMED:
        return SettingChange(name, "renamed", "", RENAMED[name], True)
    return SettingChange(name, "removed", "", "", True)


def _lost(before: str, after: str) -> str:
    left = {part.strip() for part in after.split(",")}
    return ", ".join(part.strip() for part in before.split(",") if part.strip() not in left)


def _defaults(
    configured: Mapping[str, str], old: BuildDefaults, new: BuildDefaults
) -> Iterator[SettingChange]:
    """Defaults that change under a server which does not set them, and those that it sets."""
    for name, before in sorted(old.settings.items()):
        after = new.settings.get(name)
        if after is None or before.context == "internal":
            continue
        if (before.value, before.unit) != (after.value, after.unit):
            yield SettingChange(
                name,
                "default",
                _with_unit(before.value, before.unit),
                _with_unit(after.value, after.unit),
                name.lower() in configured,
            )


def _with_unit(value: str | None, unit: str) -> str:
    text = "" if value is None else value
    return f"{text} {unit}".strip() if unit and text not in ("", "-1") else text or "(empty)"


def offered_findings(offered: ServerSettings) -> list[RehearsalFinding]:
    """What of the server's settings was not rehearsed, or not as a named file has them."""
    lacking = [RehearsalFinding("note", offered.missing)] if offered.missing else []
    by_place: dict[str, list[str]] = {}
    for each in offered.overridden:
        by_place.setdefault(each.by, []).append(each.name)
    return lacking + [
        RehearsalFinding(
            "note",
            f"{place} says otherwise than --config, and counts more, as at a server's start",
            detail=f"Rehearsed as it says: {', '.join(names)}.",
        )
        for place, names in by_place.items()
    ]
