"""Words what the copies show of an upgrade: databases, extensions, contents, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.engines.postgres.upgrade.facts import ClusterFacts
from steelyard.engines.postgres.upgrade.outcome import (
    Attempt,
    RehearsalFinding,
    identifier,
    literal,
    psql_command,
    warnings_of,
)


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
