"""Takes records from other folders in: copied, each file held to its SHA-256, judged again.

A record comes from anywhere: an array of Slurm, jobs of Kubernetes, a matrix of CI, a stick. It is
accepted when its files arrived as they were and its verdict follows from what it measured.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.history.index import read_history
from steelyard.history.verify import verified
from steelyard.model.errors import RecordError
from steelyard.record.record import PLAN, stamp
from steelyard.record.sweep import SWEEP_FILE

MANIFEST = "collected.json"
INCOMING = ".incoming"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Collected:
    """What became of the records of some folders; paths as they were found, and where they are."""

    taken: tuple[tuple[str, str], ...] = ()
    known: tuple[tuple[str, str], ...] = ()
    """They were here already, file by file."""
    refused: tuple[tuple[str, str], ...] = ()
    """(record, why)."""


def collect(sources: Sequence[Path], records: Path) -> Collected:
    """Copy every record of `sources` to `records/fleet/HOST/`. Sources are only read.

    RecordError: one of the sources is no folder, or none of them holds a record.
    """
    for source in sources:
        if not source.is_dir():
            raise RecordError(f'no folder of records: "{source}"')
    fleet = records / "fleet"
    incoming = fleet / INCOMING / stamp()
    taken, known, refused = [], [], []
    try:
        for number, (source, unit) in enumerate(_units(sources)):
            name = str(unit)
            place = incoming / str(number) / unit.relative_to(source)
            manifest = _copy(unit, place)
            host, why = _host_of(incoming / str(number))
            if why:
                refused.append((name, why))
                continue
            end = fleet / host / _below(unit, source)
            if end.exists():
                if _manifest_of(end) == manifest:
                    known.append((name, str(end)))
                else:
                    refused.append((name, f"another record stands at {end}"))
                continue
            told = {"from": name, "at": stamp(), "files": manifest}
            (place / MANIFEST).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
            end.parent.mkdir(parents=True, exist_ok=True)
            place.rename(end)
            taken.append((name, str(end)))
    finally:
        shutil.rmtree(fleet / INCOMING, ignore_errors=True)
    if not (taken or known or refused):
        raise RecordError(f"no record below {', '.join(map(str, sources))}")
    return Collected(tuple(taken), tuple(known), tuple(refused))


def _units(sources: Sequence[Path]) -> Iterator[tuple[Path, Path]]:
    """Every record and every sweep, with the folder that it was found in."""
    for source in sources:
        found: list[Path] = []
        for file in sorted([*source.rglob(PLAN), *source.rglob(SWEEP_FILE)]):
            if file.parent.is_symlink() or any(one.is_symlink() for one in _above(file, source)):
                continue  # "latest" leads to a record that is found by itself
            found.append(file.parent)
        for unit in found:
            if not any(other != unit and unit.is_relative_to(other) for other in found):
                yield source, unit


def _above(file: Path, source: Path) -> Iterator[Path]:
    for one in file.parents:
        if one == source:
            return
        yield one


def _below(unit: Path, source: Path) -> Path:
    return unit.relative_to(source) if unit != source else Path(unit.name)


def _copy(unit: Path, place: Path) -> Mapping[str, str]:
    """File → its SHA-256, as it was read and as it was written."""
    manifest: dict[str, str] = {}
    for file in sorted(one for one in unit.rglob("*") if one.is_file() and not one.is_symlink()):
        name = file.relative_to(unit).as_posix()
        if name == MANIFEST:
            continue
        copy = place / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        manifest[name] = _sha256(copy)
        if _sha256(file) != manifest[name]:
            raise RecordError(f'"{file}" changed while it was copied')
    return manifest


def _host_of(copied: Path) -> tuple[str, str]:
    """The folder of the host that a record was made on; or why it is not taken."""
    history = verified(read_history(copied, rebuild=True))
    (copied / "history.jsonl").unlink(missing_ok=True)
    if history.unread:
        return "", history.unread[0].reason
    hosts = {_slug(one.machine_words) for one in history.entries}
    if len(hosts) != 1:
        return "", "it tells of no machine" if not hosts else "it is of several machines"
    return hosts.pop(), ""


def _manifest_of(place: Path) -> Mapping[str, str] | None:
    try:
        told = json.loads((place / MANIFEST).read_text(encoding="utf-8"))
        files: Mapping[str, str] = told["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return files


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "unknown"


def _sha256(file: Path) -> str:
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while chunk := opened.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
