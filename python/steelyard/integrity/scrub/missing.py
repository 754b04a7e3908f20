"""Compares what the maps, catalogues and manifest of a cluster name with what is there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from steelyard.engines.postgres.life.catalogue_rows import (
    HEAP,
    NAMES,
    PG_CLASS,
    PG_DATABASE,
    PG_TABLESPACE,
    Database,
    StoredRelation,
)
from steelyard.engines.postgres.life.control import read_pid_file
from steelyard.engines.postgres.life.data_directory import other_storage
from steelyard.engines.postgres.sql.relation_files import (
    DEFAULT_TABLESPACE,
    GLOBAL_TABLESPACE,
    ServerFiles,
    ServerRelation,
    local_conninfo,
    read_expected,
)
from steelyard.integrity.scrub.backup.archive_paths import DATA_DIRECTORIES, manifest_files
from steelyard.integrity.scrub.cluster_files import MAP, ClusterFiles, RelationKey
from steelyard.integrity.scrub.cluster_state import ClusterState, RunState
from steelyard.integrity.scrub.finding import Damage
from steelyard.model.errors import ServerError

BETWEEN_LOOKS_S = 1.0
MOST_MISSING = 10_000
"""Of one kind: a catalogue that names more files that are not there is not this directory's."""
_MAYBE_RUNNING = (RunState.RUNNING, RunState.POSSIBLY)
_NOT_SEEN = "not seen: relation files that are missing"


@dataclass
class MissingReport:
    """What is missing, what cannot be decided, and what else was learned of the catalogues."""

    findings: list[Damage] = field(default_factory=list)
    undecided: list[tuple[str, str]] = field(default_factory=list)
    """(label, reason) of what is missing from a copy and may have been dropped meanwhile."""
    notes: list[str] = field(default_factory=list)
    databases: dict[int, str] = field(default_factory=dict)
    """Names by OID."""
    mapped: dict[RelationKey, int] = field(default_factory=dict)
    """OIDs of the system catalogues that a map names, by their files."""


def find_missing(files: ClusterFiles, server: str | None) -> MissingReport:
    """What a directory should hold and does not. `server`: a connection string, else that of
    postmaster.pid. On a cluster that may be running, what a second look confirms."""
    missing = _find_missing(files, server)
    if missing.findings and files.state.run_state in _MAYBE_RUNNING:
        time.sleep(BETWEEN_LOOKS_S)
        again = {(f.path, f.reason) for f in _find_missing(files, server).findings}
        missing.findings = [f for f in missing.findings if (f.path, f.reason) in again]
    return missing


def _find_missing(files: ClusterFiles, server: str | None) -> MissingReport:
    missing = MissingReport()
    manifest = _manifest(files.state)
    if manifest:
        missing.findings += islice(_by_manifest(files, manifest), MOST_MISSING)
    shared = _map_of(files, "global", missing)
    try:
        databases = files.databases(shared)
    except (OSError, KeyError):
        databases = []
        missing.notes.append(
            f"not seen: databases that are missing: {NAMES[PG_DATABASE]} cannot be read"
        )
    expected = _ask_server(files, server, missing)
    if expected is not None:
        databases = [Database(d.oid, d.name, d.tablespace, True) for d in expected.databases]
    missing.databases = {database.oid: database.name for database in databases}
    lasting = expected is not None or not is_replica(files.state)
    maps = _maps_of(files, databases or _homes(files), shared, missing, lasting=lasting)
    if expected is not None:
        missing.findings += islice(_by_server(files, expected, missing), MOST_MISSING)
    elif files.state.run_state is RunState.STOPPED and not is_replica(files.state):
        for database in databases:
            if mapping := maps.get(database.oid):
                findings = _by_pg_class(files, database, mapping, missing)
                missing.findings += islice(findings, MOST_MISSING)
    elif not manifest:
        missing.undecided += _unlinked_tablespaces(files, shared)
        if files.state.run_state is not RunState.RUNNING:
            missing.notes.append(unknown_files_note(files.state))
    if manifest:  # says it of every file
        by_path = {f.path: f for f in missing.findings if f.path in manifest}
        missing.findings = list(by_path.values())
    elif files.state.run_state is RunState.BACKUP:
        why = "it is not there: lost, or dropped while the backup was taken; restore it to see"
        missing.undecided += [(f.path, why) for f in missing.findings if f.reason != "relation map"]
        missing.findings = [f for f in missing.findings if f.reason == "relation map"]
    return missing


def _unlinked_tablespaces(
    files: ClusterFiles, shared: Mapping[int, int]
) -> Iterator[tuple[str, str]]:
    """(label, reason) of tablespaces without a link: a copy that follows no links, or leaves them
    out, has nothing of what they lead to."""
    try:
        tablespaces = files.tablespaces(shared)
    except (OSError, KeyError):
        return  # its file, or the map that names that, is a finding
    for oid, name in sorted(tablespaces.items()):
        label = f"pg_tblspc/{oid}"
        if oid not in (DEFAULT_TABLESPACE, GLOBAL_TABLESPACE) and not files.is_there(label):
            yield (
                label,
                f'{NAMES[PG_TABLESPACE]} names it, "{name}", and its link is not there: lost when '
                "this was copied, or dropped since the latest checkpoint",
            )


def is_replica(state: ClusterState) -> bool:
    """Whether its catalogues on disk may be older than its files: replay removes files at once,
    and writes pages at the next restartpoint."""
    return bool(state.layout.min_recovery_point) or "recovery" in state.layout.state


def unknown_files_note(state: ClusterState) -> str:
    """Why nothing says which relation files should be there."""
    if state.run_state is RunState.POSSIBLY:
        return f"{_NOT_SEEN}: only the server that runs there knows which belong to it"
    if state.run_state is RunState.BACKUP:
        return f"{_NOT_SEEN}: there is no backup_manifest that lists them"
    when = "it runs" if state.run_state is RunState.STOPPED else "it has recovered and runs"
    return f"{_NOT_SEEN}: its catalogues on disk may name what was dropped; scrub it while {when}"


def _manifest(state: ClusterState) -> Mapping[str, int]:
    """Sizes by label of a base backup's data files; {}: there is no manifest of this backup."""
    if state.run_state is not RunState.BACKUP or state.replay_from is None:
        return {}
    sizes = manifest_files(state.directory / "backup_manifest", state.replay_from)
    return {label: size for label, size in sizes.items() if label.startswith(DATA_DIRECTORIES)}


def _by_manifest(files: ClusterFiles, manifest: Mapping[str, int]) -> Iterator[Damage]:
    for label, size in sorted(manifest.items()):
        detail = f"backup_manifest lists it, with {size} bytes"
        if not files.has_file(label):
            yield Damage(label, 0, "main", "missing file", guess_detail=detail)
        elif lacking := files.missing_bytes(label, size):
            detail += f", of which {lacking} are missing"
            yield Damage(label, 0, "main", "cut off", guess_detail=detail)


def _map_of(files: ClusterFiles, home: str, missing: MissingReport) -> Mapping[int, int]:
    """A map; {}: the server would refuse it, which is a finding, or nothing is known of it."""
    label = f"{home}/{MAP}"
    if files.is_unread(label) or not files.is_there(home):
        return {}
    try:
        return files.read_map(home)
    except PermissionError:
        return {}  # relation files beside it are reported as not read
    except FileNotFoundError:
        detail = "it is missing"
    except OSError as error:
        detail = f"it cannot be read: {error.strerror or error}"
    except ValueError as error:
        detail = str(error)
    database = 0 if home == "global" else int(home.rpartition("/")[2])
    missing.findings.append(
        Damage(label, 0, "main", "relation map", guess_detail=detail, database=database)
    )
    return {}


def _homes(files: ClusterFiles) -> list[Database]:
    """Databases by their directories, where their catalogue cannot be read."""
    homes = sorted(files.path("base").glob("[0-9]*/PG_VERSION"))
    return [Database(int(home.parent.name), "", DEFAULT_TABLESPACE, True) for home in homes]


def _maps_of(
    files: ClusterFiles,
    databases: list[Database],
    shared: Mapping[int, int],
    missing: MissingReport,
    *,
    lasting: bool,
) -> dict[int, Mapping[int, int]]:
    """The maps of databases whose directories are there, by OID, and what is missing of them.

    `lasting`: a database's row on disk does not outlive its directory.
    """
    maps: dict[int, Mapping[int, int]] = {}
    _expect_mapped(files, (GLOBAL_TABLESPACE, 0), shared, missing)
    for database in databases:
        home = files.home(database.oid, database.tablespace)
        if files.is_there(home) and database.valid:
            mapping = maps[database.oid] = _map_of(files, home, missing)
            _expect_mapped(files, (database.tablespace, database.oid), mapping, missing)
        elif database.valid and lasting:
            detail = f'{NAMES[PG_DATABASE]} names it, for database "{database.name}"'
            gone = Damage(home, 0, "main", "missing database", guess_detail=detail)
            key = (database.oid, database.tablespace)
            missing.findings.append(replace(gone, database=key[0], tablespace=key[1]))
    return maps


def _expect_mapped(
    files: ClusterFiles, prefix: tuple[int, int], mapping: Mapping[int, int], missing: MissingReport
) -> None:
    for oid, filenode in mapping.items():
        key = (*prefix, filenode)
        missing.mapped[key] = oid
        if not files.has_relation(key):
            detail = f"{MAP} names it, for the catalogue with OID {oid}"
            missing.findings.append(_missing_file(files, key, detail))


def _by_pg_class(
    files: ClusterFiles, database: Database, mapping: Mapping[int, int], missing: MissingReport
) -> Iterator[Damage]:
    try:
        relations = files.relations(database.oid, database.tablespace, mapping)
    except (OSError, KeyError):
        missing.notes.append(
            f"{_NOT_SEEN}, of database {database.name}: {NAMES[PG_CLASS]} cannot be read"
        )
        return
    for relation in relations:
        tablespace = relation.tablespace or database.tablespace
        key = (tablespace, database.oid, relation.filenode)
        if (
            tablespace == GLOBAL_TABLESPACE
            or relation.persistence == "t"
            or files.has_relation(key)
        ):
            continue
        yield from _decided(files, key, database.name, relation, missing)


def _by_server(
    files: ClusterFiles, expected: ServerFiles, missing: MissingReport
) -> Iterator[Damage]:
    names = {database.oid: database.name for database in expected.databases}
    homes = {d.oid: files.home(d.oid, d.tablespace) for d in expected.databases}
    for relation in expected.relations:
        key = (relation.tablespace, relation.database, relation.filenode)
        if files.is_there(homes[relation.database]) and not files.has_relation(key):
            yield from _decided(files, key, names[relation.database], relation, missing)


def _decided(
    files: ClusterFiles,
    key: RelationKey,
    database: str,
    relation: StoredRelation | ServerRelation,
    missing: MissingReport,
) -> Iterator[Damage]:
    """A file that is not there, where it should be: another access method than heap may keep a
    table elsewhere, and an extension that keeps tables in other files their indexes, too."""
    detail = f'{NAMES[PG_CLASS]} of database "{database}" names it, for "{relation.name}"'
    gone = _missing_file(files, key, detail, relation.kind)
    of_other_method = relation.kind in "rmt" and relation.method != HEAP
    if of_other_method or (relation.kind in "it" and other_storage(files.state.directory)):
        why = "another access method than heap may keep that elsewhere, where it is not read"
        missing.undecided.append((gone.path, f"{detail}; {why}"))
        return
    yield gone


def _missing_file(files: ClusterFiles, key: RelationKey, detail: str, kind: str = "") -> Damage:
    tablespace, database, filenode = key
    return Damage(
        path=f"{files.home(database, tablespace)}/{filenode}",
        block=0,
        fork="main",
        reason="missing file",
        guess_detail=detail,
        database=database,
        tablespace=tablespace,
        filenode=filenode,
        kind=kind,
    )


def _ask_server(
    files: ClusterFiles, server: str | None, missing: MissingReport
) -> ServerFiles | None:
    """What the server that runs here expects; None: there is none, or it cannot be queried."""
    state = files.state
    if state.run_state is not RunState.RUNNING:
        return None
    lock = read_pid_file(state.directory)
    try:
        expected = read_expected(
            server or local_conninfo(state.directory),
            state.layout.system_identifier,
            lock.started if lock is not None else None,
        )
    except ServerError as error:
        first = (error.detail or error.primary).splitlines()[0]
        missing.notes.append(f"{_NOT_SEEN}: {first} (--server CONNINFO names the server)")
        return None
    unread = [name for name in expected.unread if name != "template0"]
    if unread:
        missing.notes.append(f"{_NOT_SEEN}, of databases without connections: {', '.join(unread)}")
    return expected
