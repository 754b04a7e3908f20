"""Says where to look at a damaged block and what to do about it, by what kind of file it is in."""

from __future__ import annotations

from typing import Any

from steelyard.engines.postgres.sql.relation_files import NAME_OF_DATABASE
from steelyard.integrity.scrub.finding import Damage
from steelyard.model.units import format_lsn

_INDEX_KINDS = frozenset("iI")
_MAX_LINE_POINTERS = 1169
"""In a page of 32 kB (MaxHeapTuplesPerPage of access/htup_details.h)."""
_IGNORE_CHECKSUMS = "SET ignore_checksum_failure = on; "
"""Without it the query fails with the checksum error; only a superuser may set it."""
_FORK_REPAIRS = {
    "fsm": "The free space map only guides inserts: VACUUM the table, or stop the server and "
    "remove the file; it is made anew.",
    "vm": "A wrong visibility map makes index-only scans answer wrongly: "
    "SELECT pg_truncate_visibility_map('{name}') (extension pg_visibility), then VACUUM.",
    "init": "The init fork is what the unlogged relation is reset to after a crash: "
    "make the relation anew (CREATE UNLOGGED TABLE ... AS, or REINDEX).",
}
_TEMPORARY = (
    "Nothing lasting: it is a temporary table's, of a session at work or one that crashed. It "
    "vanishes when that session ends, or else at the next start of the server; no backup has it."
)
_UNREADABLE = (
    "The device could not read it: look at its health and at the kernel's log, and copy what can "
    "be read to another one before anything else."
)
_CATALOGUE = (
    "It is a file of a system catalogue, without which the database may not open: keep a copy of "
    "the file, and fail over to a standby or restore a backup. An index of it: REINDEX SYSTEM in "
    "that database, on a server that was started with ignore_system_indexes = on."
)
_GONE = "What is missing is gone from this copy: "


def finding_facts(finding: Damage) -> dict[str, Any]:
    """A finding with its advice, as `scrub --json` gives it."""
    facts: dict[str, Any] = {
        "path": finding.path,
        "block": finding.block,
        "fork": finding.fork,
        "reason": finding.reason,
        "expected": finding.expected,
        "found": finding.actual,
        "lsn": format_lsn(finding.lsn),
        "offset": finding.offset,
        "guess": finding.guess,
        "guess_detail": finding.guess_detail,
        "sql": inspection_sql(finding),
        "advice": repair_advice(finding),
        "database": finding.database_name,
        "database_oid": finding.database,
    }
    if finding.relation is not None:
        relation = finding.relation
        facts |= {"database": relation.database, "relation": relation.name}
        facts |= {"kind": relation.kind, "table": relation.table}
    return facts


def inspection_sql(finding: Damage) -> str:
    """A query that shows how the server sees the block; "": there is none."""
    fork, block = finding.fork, finding.block
    if finding.temporary or finding.of_file:
        return ""
    if finding.relation is None:
        return f"SELECT pg_filenode_relation({finding.tablespace}, {finding.filenode})"
    name, kind = finding.relation.name, finding.relation.kind
    first = _IGNORE_CHECKSUMS if finding.reason == "checksum" else ""
    if fork == "main" and kind in ("r", "m", "t"):
        # Before 14 a range of ctid scans the whole table; a list does not.
        return (
            f"{first}SELECT ctid, * FROM {name} WHERE ctid = ANY (ARRAY(SELECT "
            f"format('({block},%s)', i)::tid FROM generate_series(1, {_MAX_LINE_POINTERS}) i))"
        )
    return f"{first}SELECT * FROM page_header(get_raw_page('{_quoted(name)}', '{fork}', {block}))"


def inspection(finding: Damage) -> str:
    """The query with the database to connect to; "": there is none."""
    sql = inspection_sql(finding)
    if not sql:
        return ""
    name = finding.relation.database if finding.relation is not None else finding.database_name
    if not finding.database:
        return f"in any database: {sql}"
    if name:
        return f"in database {name}: {sql}"
    oid = finding.database
    return f"in the database with OID {oid} ({NAME_OF_DATABASE.format(oid=oid)}): {sql}"


def repair_advice(finding: Damage) -> str:
    """What to do, harmless steps first."""
    if finding.needs_replay:
        return "Nothing yet: recovery makes it right. Let it recover, stop it, and scrub again."
    if finding.reason == "unreadable":
        return _UNREADABLE
    if finding.temporary:
        return _TEMPORARY
    if finding.of_file:
        return _file_repair(finding)
    return _repair(finding)


def _file_repair(finding: Damage) -> str:
    if finding.reason == "missing database":
        return (
            "Every table of that database is gone from this copy: see whether the directory was "
            "moved or a file system is not mounted; else restore a backup, or fail over to a "
            "standby. Other databases are not touched by it."
        )
    if finding.reason == "relation map":
        what = "the server cannot start" if not finding.database else "the database cannot open"
        return (
            f"Without it {what}. Copy the file from a standby of this cluster, or from a backup "
            "since which no VACUUM FULL, CLUSTER or REINDEX of a catalogue was executed; else "
            "restore a backup."
        )
    if finding.catalogue:
        return _CATALOGUE
    if finding.kind in _INDEX_KINDS:
        return "An index holds nothing of its own: REINDEX INDEX makes its file anew."
    if finding.unlogged:
        return "An unlogged table lost its rows: TRUNCATE makes the file anew; load it again."
    return f"{_GONE}restore the file from a backup, or fail over to a standby."


def _repair(finding: Damage) -> str:
    relation = finding.relation
    name = relation.name if relation is not None else "the relation"
    if finding.reason == "backwards":
        return (
            "A write was lost or an old copy came back: no checksum sees it. Look at the storage, "
            f"and compare {name} with a standby or a backup; REINDEX what is an index."
        )
    if finding.fork in _FORK_REPAIRS:
        quoted = _quoted(name) if relation is not None else "NAME"
        return _FORK_REPAIRS[finding.fork].format(name=quoted)
    if relation is not None and relation.kind in _INDEX_KINDS:
        return f"An index holds nothing of its own: REINDEX INDEX {name}."
    if finding.unlogged:
        return (
            "It is unlogged: a standby has nothing of it, and a crash or a restored backup empties "
            f"it. Save what can be read of {name}, TRUNCATE it and load it again; if it is an "
            "index, REINDEX it."
        )
    return _CATALOGUE if finding.catalogue else _save(finding, name)


def _save(finding: Damage, name: str) -> str:
    """What to do about the only copy of rows."""
    if finding.reason == "too long":
        return "No server writes it: find out what did, and restore the file from a backup."
    if finding.reason in ("missing segment", "short"):
        return f"{_GONE}restore the file from a backup, or fail over to a standby."
    unknown = "See above what it is: an index is made anew by REINDEX. "
    return (
        f"{'' if finding.relation is not None else unknown}"
        "Keep a copy of the file. Fail over to a standby or restore from a backup that has "
        f"the block; else save what can be read of {name} (dump it without the block's rows, or "
        "with ignore_checksum_failure on a copy of the cluster)."
    )


def _quoted(name: str) -> str:
    return name.replace("'", "''")
