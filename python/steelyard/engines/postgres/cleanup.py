"""Removes the processes and the shared memory that a killed server leaves behind.

A server that stops cleanly removes its System V segment (the guard of its data directory) and its
POSIX segments (/dev/shm/PostgreSQL.NUMBER). After SIGKILL both stay, until the next start on the
same data directory; a throw-away data directory has no next start. They are found as a restarting
server finds them: postmaster.pid names the System V segment, its header (PGShmemHeader,
src/include/storage/pg_shmem.h) the control segment of dynamic shared memory, and that one
(dsm_control_header, src/backend/storage/ipc/dsm.c) all the others. The numbers are random 32-bit
words and name existing files, so that they are recognised without the layout of each version.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

from steelyard.engines.account import Account
from steelyard.engines.local.processes import (
    EVERY_PROGRAM,
    adopting_orphans,
    kill_inside,
    wait_for_orphans,
)
from steelyard.engines.postgres.life.control import own_pid_file

PROGRAMS = ("postgres", "initdb", "pg_", "psql", "vacuumdb", "pgbouncer", "pgpool")
_IPC_RMID = 0  # bits/ipc.h
_SHM_RDONLY = 0o10000  # bits/shm.h
_HEADER_BYTES = 56  # sizeof(PGShmemHeader); the whole segment is this small as a rule
_CONTROL_MAGIC = 0x9A503D32  # PG_DYNSHMEM_CONTROL_MAGIC


def remove_servers(directory: Path, account: Account) -> list[int]:
    """Kill every server below `directory` and its shared memory; the process ids killed.

    Those that we started ourselves, and were interrupted in stopping, are waited for too. Of
    another account than ours every program is killed that works there: what data of others brought
    may have started any.
    """
    with adopting_orphans():
        killed = kill_inside(directory, account, programs_of(account))
        wait_for_orphans(killed)
    for data in _data_directories(directory):
        remove_segments(data, account)
    return killed


def programs_of(account: Account) -> tuple[str, ...]:
    """How the names begin of the programs that end with a server of the account."""
    return EVERY_PROGRAM if account.switched else PROGRAMS


def _data_directories(directory: Path) -> Iterator[Path]:
    """Those below a directory of ours that have a lock file; none is looked for inside of them."""
    for parent, names, files in os.walk(directory):
        path = Path(parent)
        if "postmaster.pid" in files:
            yield path
        ours = [name for name in names if _is_ours(path / name)]
        yield from (
            path / name
            for name in names
            if name not in ours and os.path.lexists(path / name / "postmaster.pid")
        )
        names[:] = ours


def _is_ours(path: Path) -> bool:
    try:
        return path.lstat().st_uid == os.geteuid()
    except FileNotFoundError:
        return False


def segments_of(directory: Path, account: Account) -> list[str]:
    """POSIX segments of the server of a data directory, living or dead, as paths."""
    lock = own_pid_file(directory)
    if lock is None or lock.shared_memory_id is None:
        return []
    segment = lock.shared_memory_id
    paths: list[str] = account.call(lambda: list(_posix_segments(segment, account.uid)))
    return paths


def remove_segments(directory: Path, account: Account) -> None:
    """Remove the segments of the dead server of a data directory; nothing of a living one."""
    lock = own_pid_file(directory)
    if lock is None or lock.shared_memory_id is None:
        return
    segment = lock.shared_memory_id

    def remove() -> None:
        if not _abandoned(segment, account.uid):
            return
        for path in _posix_segments(segment, account.uid):
            Path(path).unlink(missing_ok=True)
        ctypes.CDLL(None).shmctl(segment, _IPC_RMID, None)

    # By the account: root in a container may lack CAP_IPC_OWNER.
    account.call(remove)


def _posix_segments(segment: int, uid: int) -> Iterator[str]:
    for control in _named_by(_system_v_header(segment), uid):
        words = Path(control).read_bytes()
        if words[:4] == struct.pack("=I", _CONTROL_MAGIC):
            yield from _named_by(words, uid)
            yield control


def _named_by(words: bytes, uid: int) -> Iterator[str]:
    """The account's segments whose numbers stand among these words."""
    whole = len(words) // 4 * 4
    for number in sorted(set(struct.unpack(f"={whole // 4}I", words[:whole]))):
        path = Path(f"/dev/shm/PostgreSQL.{number}")
        if number and path.exists() and path.stat().st_uid == uid:
            yield str(path)


def _system_v_header(segment: int) -> bytes:
    """The first bytes of a System V segment; empty when it cannot be attached."""
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    libc.shmat.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_int]
    libc.shmdt.argtypes = [ctypes.c_void_p]
    address = libc.shmat(segment, None, _SHM_RDONLY)
    if address in (None, ctypes.c_void_p(-1).value):
        return b""
    try:
        return ctypes.string_at(address, _HEADER_BYTES)
    finally:
        libc.shmdt(address)


def _abandoned(segment: int, uid: int) -> bool:
    """Whether a System V segment exists, belongs to the account, and no process is attached."""
    try:
        lines = Path("/proc/sysvipc/shm").read_text().splitlines()
    except FileNotFoundError:
        return False
    names = lines[0].split()
    for line in lines[1:]:
        values = dict(zip(names, line.split(), strict=False))
        if values["shmid"] == str(segment):
            return values["nattch"] == "0" and values["uid"] == str(uid)
    return False
