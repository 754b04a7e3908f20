"""Scrubs an InnoDB data directory: finds its tablespaces, reads every page, rereads suspects, and
finds what cannot be read as tablespace files: packed or incremental files of a backup, links to
what is not mounted, and tables of other storage engines.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard._core import lock_holder, scan_innodb, walk_innodb
from steelyard.integrity.innodb.outcome import (
    NOT_VERIFIED,
    InnodbOutcome,
    PageFinding,
    Tablespace,
    carried,
)
from steelyard.integrity.scrub.layout import read_error
from steelyard.integrity.scrub.outcome import GAPS_S, MAX_THREADS, RUNNING_RATE
from steelyard.integrity.scrub.unread import disappearances, first_listed
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard._core import InnodbAsked, InnodbFile, InnodbScanned, InnodbWrong

SYSTEM_TABLESPACE = "ibdata1"
_LOCKED_FILES = (SYSTEM_TABLESPACE, "aria_log_control")
"""Files that a server locks while it runs: MariaDB from MDEV-24393 until MDEV-28495 the second
alone, unless it has --external-locking."""
_ELSEWHERE = (
    "read were the files below the directory, and those that .isl files there name: not what a "
    "server keeps elsewhere by innodb_data_home_dir, innodb_undo_directory or innodb_directories"
)
_MISSING = (
    "not seen: tablespaces that are missing as a whole: which ones belong to it, its dictionary "
    "alone says"
)

Progress = Callable[[int, int, int, int], None]
"""Called with bytes read, bytes in all, wrong pages, and pages that are being reread."""


@dataclass(frozen=True)
class InnodbRequest:
    """What to scrub, and how."""

    path: Path
    threads: int | None = None
    max_rate: float | None = None  # bytes a second; 0: no limit
    gaps_s: Sequence[float] = GAPS_S


def is_innodb_directory(path: Path) -> bool:
    """Whether a directory is a data directory of MySQL or MariaDB, by its system tablespace.
    UsageError: it is a backup of one, which is packed."""
    require_unpacked(path)
    return os.path.isfile(path / SYSTEM_TABLESPACE)  # no: it may not be entered


def scrub_innodb(request: InnodbRequest, progress: Progress) -> InnodbOutcome:
    """Read every page of a data directory. UsageError: it cannot be read, and why."""
    began = time.monotonic()
    running = _is_running(request.path)
    try:
        files, skipped, denied = walk_innodb(request.path)
    except OSError as error:
        raise read_error(request.path, error) from error
    scanned = _scan(request, files, running, progress)
    notes = outside_note(request.path, [(file.label, file.path) for file in files])
    if not running and _was_started(request.path):
        running = True
        scanned = _rescan(request, files, scanned)
        notes.append("a server was started here meanwhile: what was wrong was looked at again")
    tablespaces = [
        Tablespace(
            path=file.label,
            page_bytes=file.page_bytes,
            logical_bytes=file.logical_bytes,
            space=file.space,
            pages=dict(pages),
        )
        for file, pages in zip(files, scanned["carried"], strict=True)
    ]
    return InnodbOutcome(
        path=str(request.path),
        running=running,
        files=scanned["files"],
        blocks=scanned["blocks"],
        bytes=scanned["bytes"],
        seconds=time.monotonic() - began,
        bad=tuple(_finding(files, each) for each in scanned["wrong"]),
        unlisted=scanned["uncounted"],
        transient=scanned["dismissed"],
        tablespaces=tuple(tablespaces),
        vanished=tuple(scanned["vanished"]),
        skipped=tuple(skipped),
        denied=(
            *denied,
            *unread_files(request.path),
            *scanned["denied"],
            *([] if running else _disappearances(request.path, files, scanned)),
        ),
        notes=(*notes, *_notes(request, running, tablespaces, scanned)),
    )


def _is_running(path: Path) -> bool:
    """Whether a server holds a lock (os_file_lock of os0file.cc, lock_control_file of Aria)."""
    return any(_is_locked(path / name) for name in _LOCKED_FILES if os.path.lexists(path / name))


def _is_locked(file: Path) -> bool:
    try:
        return lock_holder(file) is not None
    except OSError as error:
        raise read_error(file, error) from error


def _was_started(path: Path) -> bool:
    """Whether a server runs by now. No: the system tablespace was removed meanwhile."""
    try:
        return _is_running(path)
    except UsageError:
        return False


def _disappearances(
    path: Path, files: Sequence[InnodbFile], scanned: InnodbScanned
) -> list[tuple[str, str]]:
    """What was not read although no server runs that could have removed it."""
    return disappearances(
        path,
        [(file.label, file.bytes) for file in files],
        read_bytes=scanned["bytes"],
        vanished=scanned["vanished"],
        denied=scanned["denied"],
    )


def _scan(
    request: InnodbRequest, files: list[InnodbFile], running: bool, progress: Progress
) -> InnodbScanned:
    total = sum(file.bytes for file in files)
    return scan_innodb(
        files,
        _options(request, running),
        lambda read, wrong, again: progress(read, total, wrong, again),
    )


def _options(request: InnodbRequest, running: bool) -> InnodbAsked:
    processors = len(os.sched_getaffinity(0))
    rate = RUNNING_RATE if running and request.max_rate is None else request.max_rate
    return {
        "threads": request.threads or (1 if running else min(MAX_THREADS, processors)),
        "max_rate": rate or None,
        "idle": running,
        "gaps_s": list(request.gaps_s) if running else [],
    }


def _rescan(
    request: InnodbRequest, files: list[InnodbFile], scanned: InnodbScanned
) -> InnodbScanned:
    """Scan the files with wrong pages once more, now as files that a server may be writing."""
    suspects = sorted({index for index, *_ in scanned["wrong"]})
    again = scan_innodb(
        [files[index] for index in suspects], _options(request, True), lambda *_: None
    )
    return {
        **scanned,
        "wrong": [(suspects[each[0]], *each[1:]) for each in again["wrong"]],
        "dismissed": again["dismissed"],
        "uncounted": again["uncounted"],
        "unchecked": again["unchecked"],
        "vanished": [*scanned["vanished"], *again["vanished"]],
    }


def _finding(files: Sequence[InnodbFile], wrong: InnodbWrong) -> PageFinding:
    index, page, reason, expected, actual, lsn = wrong
    file = files[index]
    return PageFinding(
        path=file.label,
        block=page,
        reason=reason,
        expected=expected,
        actual=actual,
        lsn=lsn,
        offset=(page - file.first_page) * file.page_bytes,
    )


def _notes(
    request: InnodbRequest,
    running: bool,
    tablespaces: Sequence[Tablespace],
    scanned: InnodbScanned,
) -> list[str]:
    notes = [_ELSEWHERE, _MISSING]
    if others := files_of_other_engines(request.path):
        listed = ", ".join(f"{count} of {engine}" for engine, count in others.items())
        notes.append(f"files with tables of other storage engines were not read: {listed}")
    pages = carried(tablespaces)
    if without := pages.get("none"):
        notes.append(
            f"{without} pages have no checksum: only their LSN, number, tablespace and type were "
            "checked; damage in rows is not seen"
        )
    for carries in NOT_VERIFIED:
        if count := pages.get(carries):
            what = carries.removeprefix("not verified: ")
            notes.append(
                f"{count} pages are {what}: their checksum is that of what they were "
                "before, and was not verified"
            )
    if running:
        notes.append(
            "the server runs: pages that it holds in memory are checked as they lie on disk"
        )
        if scanned["wrong"] or scanned["dismissed"]:
            notes.append(
                f"what was wrong at first was looked at again, up to {sum(request.gaps_s):g} s "
                "later"
            )
    elif scanned["wrong"]:
        notes.append(
            "whether it was shut down cleanly is not checked: after a crash, recovery may restore "
            "a torn page from the doublewrite area; start it, stop it, and scrub it again"
        )
    if scanned["unchecked"]:
        notes.append(
            f"{scanned['unchecked']} wrong pages were too many to be looked at again: they count "
            "as damaged"
        )
    return notes


def refuse_postgres_options(options: dict[str, object]) -> None:
    """UsageError when an option is given that says something about PostgreSQL's clusters only."""
    for option, value in options.items():
        if value:
            raise UsageError(
                f"{option} is for PostgreSQL",
                detail=f'The directory holds "{SYSTEM_TABLESPACE}": InnoDB of MySQL or MariaDB.',
            )


_TABLESPACE = r"(?:.+\.ib[du]|ibdata[0-9]+|undo_?[0-9]+)"
_FILE = re.compile(_TABLESPACE)
_PACKED = re.compile(rf"({_TABLESPACE})((?:\.(?:qp|zst|lz4|gz|bz2|xz|xbcrypt|delta))+)")
"""As xtrabackup and mariabackup call what they compress, encrypt, or copy in part."""
_PART = ".delta"
_UNPACK = "`xtrabackup --decompress` unpacks it (or `mariabackup`; --decrypt where it is encrypted)"
_PREPARE = "`xtrabackup --prepare` (or `mariabackup`) makes it whole with the backup it builds on"
_SYSTEM = "ibdata1"
_ENGINES = {
    ".MYD": "MyISAM", ".MAD": "Aria", ".ARZ": "Archive", ".CSV": "CSV", ".tokudb": "TokuDB"
}  # fmt: skip
"""By how the name of a file with a table's rows ends."""
_ROCKSDB = (".rocksdb", "#rocksdb")
"""The directory with all its tables: Percona's and Meta's, MariaDB's (rocksdb_datadir)."""
_OF_ROCKSDB = {".sst": "RocksDB", ".log": "RocksDB"}


def require_unpacked(directory: Path) -> None:
    """UsageError: the system tablespace is there, but as a backup packs it."""
    for name in _names(directory):
        packed = _PACKED.fullmatch(name)
        if packed is not None and packed[1] == _SYSTEM and not os.path.exists(directory / _SYSTEM):
            raise UsageError(
                f'a packed backup of InnoDB cannot be scrubbed: "{directory / name}"',
                hint=_advice(packed[2]),
            )


def unread_files(directory: Path) -> Iterator[tuple[str, str]]:
    """(label, reason) of tablespaces, and directories of databases, that are not there as such."""
    for name in _names(directory):
        path = directory / name
        if _leads_nowhere(path) and (_FILE.fullmatch(name) or "." not in name):
            yield name, "the link leads to what is not there: it is not mounted, or was moved"
        elif packed := _PACKED.fullmatch(name):
            yield name, _advice(packed[2])
        elif not name.startswith("#") and os.path.isdir(path):
            yield from _of_database(path, name)


def files_of_other_engines(directory: Path) -> Mapping[str, int]:
    """Storage engine → how many files hold rows of its tables, which are not read. An empty file,
    such as that of a log table, holds none."""
    counts: Counter[str] = Counter()
    for name in _names(directory):
        path = directory / name
        if not os.path.isdir(path):
            continue
        engines = _OF_ROCKSDB if name in _ROCKSDB else _ENGINES
        for file in _names(path):
            engine = engines.get(os.path.splitext(file)[1])
            if engine is not None and _has_bytes(path / file):
                counts[engine] += 1
    return dict(sorted(counts.items()))


def outside_note(directory: Path, files: Iterable[tuple[str, Path]]) -> list[str]:
    """At most one note: which files, (label, path), do not stand below the directory, but where a
    link or an .isl file leads. A copy of a directory keeps those of the original."""
    home = os.path.realpath(directory)
    places = [(label, os.path.realpath(path)) for label, path in files]
    outside = [f"{label} at {place}" for label, place in places if not _is_below(place, home)]
    if not outside:
        return []
    return [
        f"read outside of the directory: {first_listed(outside)}; of a copy, those may be the "
        "original's"
    ]


def _is_below(path: str, directory: str) -> bool:
    return path.startswith(directory.rstrip(os.sep) + os.sep)


def _has_bytes(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size > 0
    except OSError:
        return False  # dropped meanwhile


def _of_database(path: Path, directory: str) -> Iterator[tuple[str, str]]:
    """Of a directory below, and of those in it; `directory`: its label. Below a link, of one."""
    names = _names(path)
    if _SYSTEM in names:
        return  # another data directory: the walk says so
    for name in names:
        label, inside = f"{directory}/{name}", path / name
        if _FILE.fullmatch(name) and _leads_nowhere(inside):
            yield label, "the link leads to what is not there: it is not mounted, or was moved"
        elif packed := _PACKED.fullmatch(name):
            yield label, _advice(packed[2])
        elif not path.is_symlink() and not inside.is_symlink() and os.path.isdir(inside):
            yield from _of_database(inside, label)


def _names(directory: Path) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:
        return []  # said by the walk


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not os.path.exists(path)


def _advice(endings: str) -> str:
    return _PREPARE if endings.endswith(_PART) else _UNPACK
