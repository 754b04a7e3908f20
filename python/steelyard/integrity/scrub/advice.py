"""Says how to look at a damaged block in SQL, and what to do about it."""

from __future__ import annotations

from steelyard.integrity.scrub.finding import Finding

_INDEXES = frozenset("iI")
_MOST_ROWS = 1169
"""Line pointers in a page of 32 kB at most (MaxHeapTuplesPerPage of access/htup_details.h)."""
_LET_PASS = "SET ignore_checksum_failure = on; "
"""Else the statement ends in the error that it is to look behind; a superuser may."""
_REBUILT = {
    "fsm": "The free space map only guides inserts: VACUUM the table, or stop the server and "
    "remove the file; it is made anew.",
    "vm": "A wrong visibility map makes index-only scans answer wrongly: "
    "SELECT pg_truncate_visibility_map('{name}') (extension pg_visibility), then VACUUM.",
    "init": "The init fork is what the unlogged relation is reset to after a crash: "
    "make the relation anew (CREATE UNLOGGED TABLE ... AS, or REINDEX).",
}


def look_sql(finding: Finding) -> str:
    """What shows what the server sees of the block."""
    fork, block = finding.fork, finding.block
    if finding.owner is None:
        # pg_relation_filenode counts the database's own tablespace as 0.
        tablespace = 0 if finding.tablespace == 1663 else finding.tablespace
        return f"SELECT pg_filenode_relation({tablespace}, {finding.filenode})"
    name, kind = finding.owner.relation, finding.owner.kind
    first = _LET_PASS if finding.reason == "checksum" else ""
    if fork == "main" and kind in ("r", "m", "t"):
        # A range of ctid reads all of the table before 14; a list of them does not.
        return (
            f"{first}SELECT ctid, * FROM {name} WHERE ctid = ANY (ARRAY(SELECT "
            f"format('({block},%s)', i)::tid FROM generate_series(1, {_MOST_ROWS}) i))"
        )
    return f"{first}SELECT * FROM page_header(get_raw_page('{_quoted(name)}', '{fork}', {block}))"


def advice(finding: Finding) -> str:
    """What to do, the harmless first."""
    if finding.waits:
        return "Nothing yet: recovery makes it right. Let it recover, stop it, and scrub again."
    return _cure(finding)


def _cure(finding: Finding) -> str:
    name = finding.owner.relation if finding.owner is not None else "the relation"
    if finding.reason == "unreadable":
        return (
            "The device could not read it: look at its health and at the kernel's log, and copy "
            "what can be read to another one before anything else."
        )
    if finding.reason == "backwards":
        return (
            "A write was lost or an old copy came back: no checksum sees it. Look at the storage, "
            f"and compare {name} with a standby or a backup; REINDEX what is an index."
        )
    if finding.fork in _REBUILT:
        return _REBUILT[finding.fork].format(name=_quoted(name))
    if finding.owner is not None and finding.owner.kind in _INDEXES:
        return f"An index holds nothing of its own: REINDEX INDEX {name}."
    if finding.reason in ("missing segment", "short"):
        return (
            "What is missing is gone from this copy: restore the file from a backup, or fail over "
            "to a standby."
        )
    return (
        "Keep a copy of the file. Fail over to a standby or restore from a backup that has the "
        f"block; else save what can be read of {name} (dump it without the block's rows, or with "
        "ignore_checksum_failure on a copy of the cluster)."
    )


def _quoted(name: str) -> str:
    return name.replace("'", "''")
