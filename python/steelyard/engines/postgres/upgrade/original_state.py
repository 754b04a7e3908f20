"""Reads from an original's files what pg_upgrade would refuse, or not carry over, and refuses
databases that have a locale which this machine or a build lacks.
"""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.intake import DataPlace
from steelyard.engines.local.owned_files import names_below, read_below
from steelyard.engines.postgres.life.catalogue_rows import (
    PG_DATABASE,
    DatabaseLocale,
    database_locales,
    shared_catalogue,
)
from steelyard.engines.postgres.life.control import sound_control, unreadable_control
from steelyard.engines.postgres.life.data_directory import TABLESPACES
from steelyard.engines.postgres.upgrade.copies import Programs
from steelyard.engines.postgres.upgrade.outcome import (
    RehearsalFinding,
    literal,
    psql_command,
    server_option,
)
from steelyard.model.errors import EngineError

FIRST_CARRIED = 17
"""The first major version whose logical slots pg_upgrade carries over
(get_old_cluster_logical_slot_infos of src/bin/pg_upgrade/info.c)."""
FIRST_IN_PLACE = 19
"""The first major version whose pg_upgrade takes tablespaces that stand in the data directory."""
_STANDBY = ("standby.signal", "recovery.signal")
_SLOT_HEADER = struct.Struct("=IIII64sII")
"""Of pg_replslot/NAME/state: magic, checksum, version, length, then the slot's name, the OID of its
database, 0 of a physical one, and how long it lasts (ReplicationSlotOnDisk of
src/backend/replication/slot.c, ReplicationSlotPersistency of its header)."""
_LASTS = 0  # RS_PERSISTENT: a server drops any other slot when it starts
_EVERY_CATEGORY = 0x1FBF
"""LC_ALL_MASK of Linux's locale.h."""
_ALWAYS_THERE = ("", "C", "POSIX")
_LIBC, _ICU = "c", "i"


@dataclass(frozen=True)
class OriginalState:
    """The control file and what stands beside the data, of an original that stays as it is."""

    state: str  # "shut down", "in production", ...
    checksums: bool
    block_bytes: int
    segment_blocks: int
    wal_segment_bytes: int
    standby: bool
    slots: tuple[tuple[str, bool], ...]  # name, whether logical
    tablespaces: tuple[tuple[str, str], ...]  # OID, where its link leads, or it stands itself


def read_state(place: DataPlace) -> OriginalState:
    """EngineError: the control file cannot be read, or is of an unknown version."""
    path = place.path
    try:
        control = sound_control(path)
    except OSError as error:
        raise EngineError(f'could not read "{error.filename}": {error.strerror}') from error
    except ValueError as error:
        raise unreadable_control(path, error) from error
    return OriginalState(
        state=control["state"],
        checksums=control["checksum_version"] == 1,
        block_bytes=int(control["block_size"]),
        segment_blocks=int(control["segment_blocks"]),
        wal_segment_bytes=int(control["wal_segment_size"]),
        standby=any(os.path.lexists(path / name) for name in _STANDBY),
        slots=tuple(_slots(path)),
        tablespaces=tuple(_links(path)),
    )


def _slots(path: Path) -> Iterator[tuple[str, bool]]:
    try:
        names = names_below(path, "pg_replslot")
    except OSError:  # a base backup may be without
        return
    for name in names:
        try:
            header = read_below(path, f"pg_replslot/{name}/state")[: _SLOT_HEADER.size]
            *_, database, lasts = _SLOT_HEADER.unpack(header)
        except (OSError, struct.error):
            continue  # a slot that was being made
        if lasts == _LASTS:
            yield name, database != 0


def _links(path: Path) -> Iterator[tuple[str, str]]:
    for oid in names_below(path, TABLESPACES):
        link = path / TABLESPACES / oid
        if link.is_symlink():
            # A server reads a relative one from where it stands.
            yield oid, os.path.normpath(link.parent / os.readlink(link))
        elif oid.isdecimal() and link.is_dir():
            yield oid, str(link)


def state_findings(
    place: DataPlace, state: OriginalState, old: int, new: int, configuration: str = ""
) -> list[RehearsalFinding]:
    """What the files alone show. `old`, `new`: major versions; `configuration`: its server's
    postgresql.conf, where that is not beside the data."""
    findings = []
    directory = shlex.quote(str(place.path))
    whole = place.kind == "data directory"
    if state.standby or "recovery" in state.state:
        findings.append(
            RehearsalFinding(
                "blocks" if whole else "note",
                "it is a standby's data directory",
                "pg_upgrade refuses one that was shut down in recovery. The copy was recovered as "
                "a primary; upgrade the primary, then make its standbys anew.",
            )
        )
    elif state.state != "shut down" and whole:
        findings.append(
            RehearsalFinding(
                "blocks",
                "it was not shut down cleanly",
                f'Its control file says "{state.state}". The copy was recovered.',
                (
                    f"pg_ctl -D {directory}{server_option(configuration)} -w start",
                    f"pg_ctl -D {directory} -m fast -w stop",
                ),
            )
        )
    findings += slot_findings(state.slots, old, rehearsed=whole)
    for oid, where in state.tablespaces:
        in_place = where == str(place.path / TABLESPACES / oid)
        if in_place and whole and new < FIRST_IN_PLACE:
            findings.append(_in_place_finding(oid, new))
        elif not in_place:  # a backup's stand so until it is restored
            findings.append(_tablespace_finding(oid, where, new))
    return findings


def _in_place_finding(oid: str, new: int) -> RehearsalFinding:
    return RehearsalFinding(
        "blocks",
        f"tablespace {oid} stands in the data directory itself (allow_in_place_tablespaces)",
        f"pg_upgrade of {new} looks for it in another place, and refuses. In the copy it was put "
        "beside the data. Make one elsewhere, move what is in it there, and drop it.",
        (psql_command(f"SELECT spcname FROM pg_tablespace WHERE oid = {oid}"),),
    )


def slot_findings(
    slots: tuple[tuple[str, bool], ...], old: int, *, rehearsed: bool = False
) -> list[RehearsalFinding]:
    """Slots are carried over from 17 on, the logical ones alone. `rehearsed`: the copy has them."""
    physical = tuple(name for name, logical in slots if not logical)
    logical = tuple(name for name, logical in slots if logical)
    findings = []
    if physical:
        findings.append(
            RehearsalFinding(
                "do",
                f"replication slot {', '.join(physical)} (physical) is not carried over",
                "Its standbys are made anew; make it again after the upgrade.",
                tuple(
                    psql_command(f"SELECT pg_create_physical_replication_slot({literal(name)})")
                    for name in physical
                ),
            )
        )
    if logical and old >= FIRST_CARRIED and rehearsed:
        findings.append(
            RehearsalFinding(
                "do",
                f"replication slot {', '.join(logical)} (logical) is carried over by pg_upgrade",
                "So it was in the copy, but for what blocks. Disable its subscription before the "
                "old server stops, once it has caught up; let it connect to the new server, and "
                "enable it. The new cluster needs wal_level = logical before pg_upgrade is called.",
            )
        )
    elif logical and old >= FIRST_CARRIED:
        findings.append(
            RehearsalFinding(
                "do",
                f"replication slot {', '.join(logical)} (logical) is carried over, on conditions",
                "Its consumer must have confirmed everything before the last shutdown, and the new "
                "cluster needs wal_level = logical and enough max_replication_slots. The copy had "
                "no slots: this part was not rehearsed.",
            )
        )
    elif logical:
        findings.append(
            RehearsalFinding(
                "do",
                f"replication slot {', '.join(logical)} (logical) is not carried over from {old}",
                "Its consumer needs a new slot and a new initial copy, or an upgrade by logical "
                "replication.",
                tuple(
                    psql_command(f"SELECT pg_drop_replication_slot({literal(name)})")
                    for name in logical
                ),
            )
        )
    return findings


def _tablespace_finding(oid: str, where: str, new: int) -> RehearsalFinding:
    remains = [name for name in _names(where) if name.startswith(f"PG_{new}_")]
    if remains:
        return RehearsalFinding(
            "blocks",
            f'tablespace {oid} holds "{remains[0]}" already',
            "It is of an earlier upgrade or another cluster of the new version; pg_upgrade refuses "
            "it. Make sure that no cluster uses it.",
            ("ls " + shlex.quote(f"{where}/{remains[0]}"),),
        )
    return RehearsalFinding(
        "note",
        f"tablespace {oid} at {where} stays there",
        f"pg_upgrade makes a directory PG_{new}_... beside the old one in it. On the copy it was "
        "mapped into the copy.",
    )


def _names(where: str) -> list[str]:
    try:
        return os.listdir(where)
    except OSError:
        return []


def locales_of(directory: Path, page_bytes: int, major: int) -> list[DatabaseLocale]:
    """Of every database of a stopped cluster. OSError, ValueError: a file cannot be read."""
    content = shared_catalogue(directory, PG_DATABASE, major)
    return database_locales(content, directory, page_bytes, major)


def require_locales(locales: Sequence[DatabaseLocale], builds: Sequence[Programs]) -> None:
    """EngineError names the databases, and what they need: the servers of both versions open every
    database in its locale."""
    needed: dict[str, list[str]] = {}
    for each in locales:
        for name in dict.fromkeys((each.collate, each.ctype)):
            if not has_locale(name):
                needed.setdefault(name, []).append(each.name)
    if needed:
        listed = [f'"{name}" (database {", ".join(where)})' for name, where in needed.items()]
        raise EngineError(
            f"cannot rehearse the upgrade: this machine lacks locale {'; '.join(listed)}",
            detail="A database is opened in its locale alone, by the old version and by the new.",
            hint="Install it, and repeat: on Debian package locales-all, or `locale-gen` with the "
            "line in /etc/locale.gen; `locale -a` lists what there is.",
        )
    of_icu = [each.name for each in locales if each.provider == _ICU]
    for programs in builds if of_icu else ():
        identity = programs.identity
        if identity.configure and not has_icu(identity.configure, identity.version_number):
            raise EngineError(
                f"cannot rehearse the upgrade: database {', '.join(of_icu)} has a locale of ICU, "
                f"and this build of PostgreSQL {identity.version} was made without ICU",
                detail=f'It is the one in "{identity.bindir}".',
                hint="Name a build with ICU, as Debian's are: --old-bindir DIR, --new-bindir DIR; "
                f"`steelyard engines add debian-{identity.version_number // 10000}` brings one.",
            )


def has_locale(name: str) -> bool:
    """Whether this machine's C library has a locale."""
    if name in _ALWAYS_THERE:
        return True
    library = ctypes.CDLL(None, use_errno=True)
    library.newlocale.restype = ctypes.c_void_p
    library.newlocale.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p]
    library.freelocale.argtypes = [ctypes.c_void_p]
    handle = library.newlocale(_EVERY_CATEGORY, name.encode(), None)
    if handle:
        library.freelocale(handle)
    return bool(handle)


def has_icu(configure: str, version_number: int) -> bool:
    """By the options of configure: asked for before 16, and from then on unless it is refused."""
    if version_number >= 160000:
        return not re.search(r"--without-icu\b|-Dicu=disabled", configure)
    return bool(re.search(r"--with-icu\b|-Dicu=enabled", configure))
