"""Opens the places that a study names for arms' files, and says whether they are alike.

Alike are places of one file system that is mounted alike: their arms' files are drawn over them
with the slots (the place of slot n is that of the n-th arm), and no arm owns a place. Otherwise
each arm's files are in its own place for the whole weighing, whatever its slot.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from steelyard.engines.cache import require_room, tree_bytes
from steelyard.engines.capabilities.life import MovableLog
from steelyard.engines.engine import Instance
from steelyard.model.errors import EngineError, StudyError, UsageError
from steelyard.record.machine import ArmPlace, FilesPlace
from steelyard.record.reader import read_plan
from steelyard.record.record import Record
from steelyard.running.laboratory import Laboratory
from steelyard.study.address import LOG_APART
from steelyard.study.arm import Arm
from steelyard.study.study import Study
from steelyard.telemetry.capacity import existing_ancestor, filesystem, space
from steelyard.telemetry.devices import devices_beneath, handed_on

LOG_BYTES = 1 << 30
"""Room for the log of an arm, at least."""
_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


@dataclass(frozen=True)
class FilePlaces:
    """The places of a weighing's arms; empty: all files are in the slots."""

    arms: tuple[str, ...] = ()
    """In the order of the study."""
    directories: Mapping[str, Path] = field(default_factory=dict)
    """Arm → a private directory for its data, where that is not its slot."""
    logs: Mapping[str, Path] = field(default_factory=dict)
    """Arm → one for its write-ahead log, where that is not in its data directory."""
    drawn: bool = True
    """Whether the places are alike, so that any arm may have any of them."""
    _numbers: count[int] = field(default_factory=count)

    def number(self, arm: str, slot: int) -> int:
        """Which place an arm's files have that was drawn a slot."""
        return slot if self.drawn else self.arms.index(arm)

    def data(self, number: int) -> Path | None:
        """The directory of a place; None: the slot of that number."""
        return self.directories.get(self.arms[number]) if self.arms else None

    def move_log(self, copy: Instance, number: int) -> None:
        """Put the log of a stopped copy into the log's directory of a place, where it has one."""
        directory = self.logs.get(self.arms[number]) if self.arms else None
        if directory is None:
            return
        if not isinstance(copy, MovableLog):
            raise EngineError(f"engine cannot keep its log elsewhere: {copy.identity.kind}")
        if copy.log_directory is None:
            copy.move_log(directory / f"log{next(self._numbers)}")
        else:
            copy.move_log(copy.log_directory)


def log_directory(copy: Instance) -> Path | None:
    """Where the log of a copy is, apart from its data; None: it is there."""
    return copy.log_directory if isinstance(copy, MovableLog) else None


@dataclass(frozen=True)
class OpenPlaces:
    """Private directories of a weighing, and what each is on."""

    files: FilePlaces
    plan: Mapping[str, ArmPlace]
    standbys: str = ""
    """Where the files of standbys are; empty: no arm has one."""

    @property
    def note(self) -> str:
        """What is said before the weighing; empty: the study names no place."""
        if not self.files.directories and not self.files.logs:
            return ""
        descriptions = [f"{arm}: {place.words}" for arm, place in self.plan.items()]
        cache = f"; standbys' files stay in the cache: {self.standbys}" if self.standbys else ""
        if self.files.drawn:
            words = f"places are alike, and arms' files are drawn over them: {descriptions[0]}"
        else:
            words = f"each arm's files stay in its own place: {' | '.join(descriptions)}"
        return f"{words}{cache}"

    def require_room(self, templates: Mapping[str, Sequence[Path]]) -> None:
        """EngineError where a place does not hold the copies that will stand in it."""
        needed: dict[Path, int] = {}
        every = {template for paths in templates.values() for template in paths}
        sizes = {template: tree_bytes(template) for template in every}
        for arm, directory in self.files.directories.items():
            copied = every if self.files.drawn else {*templates[arm]}
            size = sum(sizes[template] for template in copied)
            log = 0 if arm in self.files.logs else LOG_BYTES
            needed[directory] = needed.get(directory, 0) + size + log
        for directory in self.files.logs.values():
            needed[directory] = needed.get(directory, 0) + LOG_BYTES
        by_file_system: dict[int, int] = {}
        for directory, size in needed.items():
            number = os.stat(directory).st_dev
            by_file_system[number] = by_file_system.get(number, 0) + size
        for directory in needed:
            required, free = by_file_system[os.stat(directory).st_dev], space(directory).free_bytes
            require_room(
                f'too little room in "{directory.parent}"',
                required,
                free,
                detail="Needed for the arms' data there, and 1 GB for the log of each.",
                hint="Free some room, or choose a smaller scale: --set workload.scale=...",
            )


def open_places(study: Study, laboratory: Laboratory) -> OpenPlaces:
    """The places of all arms, a private directory made in each that the study names. UsageError,
    StudyError, EngineError: one cannot be used."""
    for arm in study.every_arm:
        if arm.wal_directory and study.engine not in LOG_APART:
            raise StudyError(
                f'arm "{arm.name}" has "wal_directory", which engine "{study.engine}" cannot have',
                hint="Name a place for all of its files: directory.",
            )
    directories = {arm.name: _opened(arm.directory, laboratory) for arm in study.every_arm}
    logs = {arm.name: _opened(arm.wal_directory, laboratory) for arm in study.every_arm}
    slots = laboratory.engines.slot(0).path
    plan = {
        arm.name: _plan(arm, directories[arm.name] or slots, logs[arm.name])
        for arm in study.every_arm
    }
    marks = {
        tuple(map(_mark, (directories[arm.name] or slots, logs[arm.name])))
        for arm in study.every_arm
    }
    files = FilePlaces(
        arms=tuple(arm.name for arm in study.every_arm),
        directories={arm: path for arm, path in directories.items() if path is not None},
        logs={arm: path for arm, path in logs.items() if path is not None},
        drawn=len(marks) == 1,
    )
    replicated = any(arm.replication is not None for arm in study.every_arm)
    return OpenPlaces(files, plan, _facts(None, slots).words if replicated else "")


def changes_of_places(record: Record, places: Mapping[str, ArmPlace]) -> Iterator[str]:
    """Places of the user's that are on another file system than when a weighing was planned: one
    that is not mounted any more is a directory of the file system above it."""
    for arm, before in read_plan(record).places.items():
        now = places.get(arm, before)
        for what, ours, theirs in (("files", before.data, now.data), ("log", before.log, now.log)):
            if ours is None or theirs is None or not ours.directory:
                continue
            if (ours.mount, ours.type, ours.source) != (theirs.mount, theirs.type, theirs.source):
                yield f"the {what} of {arm} were on {ours.words}, are on {theirs.words}"


def _opened(name: str | None, laboratory: Laboratory) -> Path | None:
    if name is None:
        return None
    _require_disk(name)
    return laboratory.engines.place(name)


def _require_disk(name: str) -> None:
    """UsageError where nothing can be written, or nothing that is written reaches a disk."""
    if not os.path.isdir(name):
        return  # what it is instead is said where it is opened
    mounted = filesystem(Path(name))
    kind, mount = mounted.get("type", ""), mounted.get("mount", "/")
    if kind in _IN_MEMORY:
        raise UsageError(
            f'cannot use "{name}" for an arm\'s files: it is on {kind}, in memory',
            detail="No write would wait for a disk, and a cap on memory would count the files.",
            hint="Name a directory on a file system of a disk; findmnt lists them.",
        )
    if "ro" in mounted.get("options", "").split(","):
        raise UsageError(
            f'cannot use "{name}" for an arm\'s files: "{mount}" is mounted read-only',
            hint=f"As root: mount -o remount,rw {shlex.quote(mount)}",
        )


def _plan(arm: Arm, data: Path, log: Path | None) -> ArmPlace:
    return ArmPlace(
        data=_facts(arm.directory, data),
        log=None if log is None else _facts(arm.wal_directory, log),
    )


def _facts(name: str | None, directory: Path) -> FilesPlace:
    mounted = filesystem(directory)
    return FilesPlace(
        directory=name or "",
        mount=mounted.get("mount", ""),
        type=mounted.get("type", ""),
        source=mounted.get("device", ""),
        options=_options(directory, mounted),
        devices=devices_beneath(directory).leaves,
    )


def _options(directory: Path, mounted: Mapping[str, str]) -> str:
    """Options of the mount and of its file system, and what the directory hands on to its files,
    each once."""
    options = mounted.get("options", "").split(",")
    return ",".join(dict.fromkeys([*options, *handed_on(directory)]))


def _mark(directory: Path | None) -> tuple[int, str, str] | None:
    """What is the same for directories of one file system, mounted alike, whose files are stored
    alike; None: no directory."""
    if directory is None:
        return None
    existing = existing_ancestor(directory)
    mounted = filesystem(existing)
    options = _options(existing, mounted)
    return os.stat(existing).st_dev, mounted.get("type", ""), options
