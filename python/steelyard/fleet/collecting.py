"""Takes records from other folders in: copied, each file held to its SHA-256, judged again.

A record comes from anywhere: an array of Slurm, jobs of Kubernetes, a matrix of CI, a stick. It is
accepted when its files arrived as they were and its verdict follows from what it measured, or that
of a sweep from its points. Its page is made here from these: that of others could hold anything.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from steelyard.history.entry import Entry
from steelyard.history.index import INDEX, closed_folder, read_history
from steelyard.history.reading import COLLECTED, HASHED, kind_of
from steelyard.history.verify import swept_again, verified
from steelyard.model.errors import RecordError, SteelyardError
from steelyard.model.files.bounded_json import read_json
from steelyard.model.files.own_directory import OwnDirectory, write_whole
from steelyard.record.reader import VERDICT
from steelyard.record.record import ODD, PLAN, stamp
from steelyard.record.sweep import SWEEP_FILE, SWEPT_FILE
from steelyard.report.page import write_report
from steelyard.report.sweep_page import write_sweep_page

_FLEET = "fleet"
"""In the folder of records: what was made elsewhere."""
_INCOMING = ".incoming-"
_NOT_COPIED = (COLLECTED, "report.html")
_CHUNK = 1 << 20
_DIGITS = 8
_MOST_LETTERS = 160
"""Of a folder's name: a file system takes 255 bytes."""
_ODD = (SteelyardError, OSError, RecursionError, *ODD)
"""Raised by a record that changes or vanishes while it is read, or holds what none should."""
Outcome = Literal["taken", "known", "refused", "skipped"]
_Told = tuple[Outcome, str]
"""And where the record stands here, or why it does not."""


@dataclass(frozen=True)
class Collected:
    """What became of the records of some folders; paths as they were found, and where they are."""

    taken: tuple[tuple[str, str], ...] = ()
    known: tuple[tuple[str, str], ...] = ()
    """They were here already, file by file."""
    refused: tuple[tuple[str, str], ...] = ()
    """(record, why)."""
    skipped: tuple[tuple[str, str], ...] = ()
    """(record, why): they are not finished; or (folder, why): it cannot be listed."""

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        here = {"taken": self.taken, "known": self.known}
        not_here = {"refused": self.refused, "skipped": self.skipped}
        return {
            **{name: [{"from": a, "to": b} for a, b in some] for name, some in here.items()},
            **{name: [{"from": a, "why": b} for a, b in some] for name, some in not_here.items()},
        }


def collect(
    sources: Sequence[Path], records: Path, kinds: Mapping[Path, str] | None = None
) -> Collected:
    """Copy every record of `sources` to `records/fleet/HOST/STUDY/`. Sources are only read.

    `kinds`: source → the kind of host that its records were made on, where it is known; else each
    keeps that of its own collected.json.
    RecordError: one of the sources is no folder, or none of them holds a record.
    """
    for source in sources:
        if not source.is_dir():
            raise RecordError(f'no folder of records: "{source}"')
    fleet = records / _FLEET
    if not fleet.is_symlink():
        OwnDirectory.make(fleet)
    OwnDirectory.open(fleet).close()
    incoming = Path(tempfile.mkdtemp(prefix=_INCOMING, dir=fleet))
    closed: list[OSError] = []
    by_outcome: dict[Outcome, list[tuple[str, str]]]
    by_outcome = {"taken": [], "known": [], "refused": [], "skipped": []}
    try:
        weighed_here = {
            entry.hashes[PLAN]: entry
            for entry in read_history(records).entries
            if not entry.path.startswith(f"{_FLEET}/")
        }
        for number, (source, unit) in enumerate(_units(sources, closed.append)):
            kind = (kinds or {}).get(source, "")
            outcome, detail = _take(unit, fleet, incoming / str(number), kind, weighed_here)
            by_outcome[outcome].append((str(unit), detail))
    finally:
        shutil.rmtree(incoming, ignore_errors=True)
        with suppress(OSError):  # it holds something
            fleet.rmdir()
    unlisted = [each for each in map(closed_folder, closed) if each is not None]
    if not any(by_outcome.values()):
        raise RecordError(
            f"no record below {', '.join(map(str, sources))}",
            detail="; ".join(f'"{folder}": {why}' for folder, why in unlisted) or None,
        )
    by_outcome["skipped"] += unlisted
    return Collected(**{name: tuple(some) for name, some in by_outcome.items()})


def _take(
    unit: Path, fleet: Path, folder: Path, kind: str, weighed_here: Mapping[str, Entry]
) -> _Told:
    """Copy a record or a sweep into a folder of its own, judge it, and move it to its place.
    `weighed_here`: SHA-256 of a plan → what was weighed here by it."""
    # The names of all folders above are kept, for one of them may say when it was weighed; those
    # that begin with a dot would not be read.
    directory = folder.joinpath(*(part.lstrip(".") for part in unit.resolve().parts[1:]))
    try:
        why = _unfinished(unit)
        if why:
            return "skipped", why
        manifest, kind = _copy(unit, directory), kind or kind_of(unit)
        here = _own_weighing(manifest, weighed_here, fleet.parent)
        if here is not None:
            return here
        entries = _judged(folder)
        digest = _digest_of(directory)
        room = fleet / _slug(entries[0].machine_words) / _slug(entries[0].study)
        end = (
            next(room.glob(f"*-{digest}"), None) or room / f"{min(e.at for e in entries)}-{digest}"
        )
        if end.exists():
            return _known(end, manifest, kind)
        _write_pages(directory, folder, entries)
    except _ODD as reason:
        return "refused", _in_words(reason)
    origin = {"from": str(unit), "at": stamp(), **({"kind": kind} if kind else {})}
    note = json.dumps({**origin, "files": manifest}, indent=1) + "\n"
    write_whole(directory / COLLECTED, note)
    OwnDirectory.make(room)
    try:
        directory.rename(end)
    except OSError:
        if end.is_dir():  # another one that collects was faster
            return _known(end, manifest, kind)
        raise
    return "taken", str(end)


def _known(end: Path, manifest: Mapping[str, str], kind: str) -> _Told:
    if _manifest_of(end) != manifest:
        return "refused", f"another record of this weighing stands at {end}"
    stored_kind = kind_of(end)
    if kind in ("", stored_kind):
        return "known", str(end)
    label = f'of kind "{stored_kind}"' if stored_kind else "without a kind"
    return "refused", f'it stands at {end} {label}, not "{kind}": remove it there to take it anew'


def _own_weighing(
    manifest: Mapping[str, str], weighed_here: Mapping[str, Entry], records: Path
) -> _Told | None:
    """What becomes of a copy of what was weighed here; None: it was weighed elsewhere."""
    names = map(PurePosixPath, manifest)
    plans = {path.parent: manifest[str(path)] for path in names if path.name == PLAN}
    entries = [weighed_here[digest] for digest in plans.values() if digest in weighed_here]
    if not entries:
        return None
    end = records / (entries[0].sweep or entries[0].path)
    for folder, digest in plans.items():
        hashes = weighed_here[digest].hashes if digest in weighed_here else {}
        if any(manifest.get(str(folder / n)) != hashes.get(n) for n in HASHED if n != COLLECTED):
            return "refused", f"another record of this weighing stands at {end}"
    return "known", str(end)


def _units(
    sources: Sequence[Path], closed: Callable[[OSError], None]
) -> Sequence[tuple[Path, Path]]:
    """Every record and every sweep, with the folder that it was found in. No link is followed:
    "latest" leads to a record that is found by itself; what begins with a dot is on its way.
    `closed` gets the errors of folders that cannot be listed."""
    units = []
    for source in sources:
        for folder, below, names in os.walk(source, onerror=closed):
            below[:] = sorted(name for name in below if not name.startswith("."))
            if PLAN in names or SWEEP_FILE in names:
                below.clear()  # what is below is its own
                units.append((source, Path(folder)))
    return units


def _unfinished(unit: Path) -> str:
    """Why a record or sweep is not taken yet: it would be another one when it is finished."""
    if (unit / SWEEP_FILE).is_file():
        # With swept.json there, what has no verdict is what a value that failed has left.
        done = (unit / SWEPT_FILE).is_file()
        return "" if done else "the sweep has points that are not weighed yet"
    if any(not plan.with_name(VERDICT).is_file() for plan in unit.rglob(PLAN)):
        return "it has no verdict: it is being weighed, or was stopped"
    return ""


def _copy(unit: Path, directory: Path) -> Mapping[str, str]:
    """File → its SHA-256, as it was read and as it was written; times are kept."""
    manifest: dict[str, str] = {}
    for file in sorted(
        path for path in unit.rglob("*") if path.is_file() and not path.is_symlink()
    ):
        name = file.relative_to(unit).as_posix()
        if file.name in _NOT_COPIED:
            continue
        copy = directory / name
        OwnDirectory.make(copy.parent)
        status = file.stat()
        shutil.copyfile(file, copy)
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
        manifest[name] = _sha256(copy)
        if _sha256(file) != manifest[name]:
            raise RecordError(f'"{file}" changed while it was copied')
    if not manifest:
        raise RecordError("it was removed meanwhile")
    return manifest


def _judged(copied: Path) -> tuple[Entry, ...]:
    """What was read; RecordError: it is not of one host, or a verdict does not follow."""
    history = verified(read_history(copied, rebuild=True))
    (copied / INDEX).unlink(missing_ok=True)
    if history.unread:
        raise RecordError(history.unread[0].reason)
    hosts = {_slug(entry.machine_words) for entry in history.entries}
    if len(hosts) != 1:
        raise RecordError("it tells of no machine" if not hosts else "it is of several machines")
    return history.entries


def _write_pages(directory: Path, copied: Path, entries: Sequence[Entry]) -> None:
    """Make the pages of what was copied; RecordError: a sweep does not follow from its points."""
    if (directory / SWEEP_FILE).is_file():
        points = {
            (copied / entry.path).relative_to(directory).as_posix(): entry for entry in entries
        }
        write_sweep_page(swept_again(directory, points), directory)
    for entry in entries:
        write_report(copied / entry.path)


def _in_words(reason: Exception) -> str:
    """In one line, without a full stop."""
    if isinstance(reason, SteelyardError):
        return reason.primary.splitlines()[0]
    return f"could not read it: {type(reason).__name__}: {reason}".splitlines()[0]


def _digest_of(directory: Path) -> str:
    """Identifies a weighing by the digest of its plans, which does not change when it is resumed:
    `_DIGITS` hexadecimal digits."""
    digest = hashlib.sha256()
    for plan in [directory / SWEEP_FILE, *sorted(directory.rglob(PLAN))]:
        if plan.is_file():
            digest.update(plan.read_bytes())
    return digest.hexdigest()[:_DIGITS]


def _manifest_of(directory: Path) -> Mapping[str, str] | None:
    try:
        document = read_json(directory / COLLECTED)
        files: Mapping[str, str] = document["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return files


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower())[:_MOST_LETTERS].strip("-") or "unknown"


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
