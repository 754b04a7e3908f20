"""Finds every record below a folder and keeps an index of them, which can be made anew at any time.

The folders are the truth. `history.jsonl` beside them holds a line a record with the SHA-256 of the
files it was made of: a record whose files are the same is not read again, and one whose files
changed, though they are written once, is named as altered and left out until the index is rebuilt.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.history.entry import Entry, Unread
from steelyard.history.reading import hashes_of, measured_bytes, read_entry
from steelyard.model.errors import RecordError, SteelyardError, UntrustedPathError
from steelyard.model.files.bounded_json import JsonError, parse_json, read_bounded, read_json
from steelyard.model.files.own_directory import write_whole
from steelyard.model.files.printable import printable_line
from steelyard.record.reader import VERDICT
from steelyard.record.record import ODD, PLAN, STUDY_FILE, plans_below
from steelyard.record.sweep import SWEEP_FILE, SWEPT_FILE, SweepPlan, Swept

INDEX = "history.jsonl"
UNPLANNED = "a study without a plan: it was stopped before it was planned"
UNPRINTABLE = "a folder's name is not UTF-8, or holds control characters: rename it"
FORMAT = 6
OUTDATED = (2, 3, 4, 5)
"""Formats whose entries lack a key of today's, or contrasts of two arms, or tell questions apart by
how an address is written. They still say which files must not have changed; the record is read
anew."""
MOST_INDEX_BYTES = 64 << 20
MATRIX, HOME = "matrix.json", "home"
"""The state file of a matrix of weighings, and the folder beside it that records are fetched to.
That folder is not listed: `collect` copies its records to `fleet/`, where they are found."""


@dataclass(frozen=True)
class _Line:
    """A line of the index."""

    entry: Entry
    format: int = FORMAT


@dataclass(frozen=True)
class History:
    """What stands below a folder: entries by time, the oldest first."""

    root: Path
    entries: tuple[Entry, ...]
    unread: tuple[Unread, ...]
    """Damaged and altered records, and what was stopped before it was planned; by path."""

    @property
    def unread_summary(self) -> tuple[Unread, ...]:
        """As `unread`, with all that was stopped before it was planned in one entry: each by itself
        would be repeated for as long as its folder is there."""
        stopped = [record for record in self.unread if record.reason == UNPLANNED]
        if len(stopped) < 2:
            return self.unread
        others = tuple(record for record in self.unread if record.reason != UNPLANNED)
        return (*others, Unread(path=f"{len(stopped)} folders", reason=UNPLANNED))

    def directory(self, entry: Entry) -> Path:
        """Where a record stands."""
        return self.root / entry.path


def read_history(root: Path, *, rebuild: bool = False) -> History:
    """Every record below `root`. The index is brought up to date; where the folder cannot be
    written, the history is read all the same. `rebuild`: the index is discarded first.

    RecordError: there is no such folder.
    """
    if not root.is_dir():
        raise RecordError(
            f'no folder of records: "{root}"',
            hint="Name it: --records DIR. `steelyard weigh` makes it.",
        )
    indexed = {} if rebuild else _indexed(root / INDEX)
    entries: list[Entry] = []
    lines: list[_Line] = []
    unread: list[Unread] = []
    closed: list[OSError] = []
    for directory, names in _folders(root, closed.append):
        path = directory.relative_to(root).as_posix()
        if (PLAN in names or STUDY_FILE in names) and printable_line(path) != path:
            unread.append(Unread(path=printable_line(path), reason=UNPRINTABLE))
            continue
        if PLAN not in names:
            unread += _unfinished(directory, path, names)
            continue
        try:
            entry = _entry(directory, path, indexed.get(path))
        except SteelyardError as reason:
            unread.append(Unread(path=path, reason=_in_words(reason)))
            lines += [indexed[path]] if path in indexed else []
            continue
        entries.append(entry)
        lines.append(_Line(entry))
    for folder, why in filter(None, map(closed_folder, closed)):
        path = Path(folder).relative_to(root).as_posix()
        unread.append(Unread(path=printable_line(path), reason=why))
        lines += [line for below, line in indexed.items() if _is_below(below, path)]
    if lines != [*indexed.values()]:
        _write(root / INDEX, lines)
    entries.sort(key=lambda entry: (entry.at, entry.path))
    return History(root, tuple(entries), tuple(sorted(unread, key=lambda record: record.path)))


def _entry(directory: Path, path: str, line: _Line | None) -> Entry:
    """The entry that is known where nothing changed; RecordError names what must not have."""
    hashes = hashes_of(directory)
    if line is None:
        return _read(directory, path, hashes)
    entry, size = line.entry, measured_bytes(directory)
    if hashes == entry.hashes and size == entry.measured_bytes and line.format == FORMAT:
        return entry
    once = [PLAN, STUDY_FILE, *([VERDICT] if size == entry.measured_bytes else [])]
    for name in once:
        then, now = entry.hashes.get(name, ""), hashes.get(name, "")
        if then not in ("", now):
            change = f"SHA-256 {then[:12]}… then, {now[:12] + '… now' if now else 'gone now'}"
            raise RecordError(f"altered: {name} is not the file that was read before ({change})")
    if size < entry.measured_bytes:
        raise RecordError(
            f"altered: slices.jsonl had {entry.measured_bytes} bytes and has {size}, but only grows"
        )
    return _read(directory, path, hashes)


def _read(directory: Path, path: str, hashes: dict[str, str]) -> Entry:
    """RecordError also where JSON has another shape than the upgrade of old formats knows."""
    try:
        return read_entry(directory, path, hashes)
    except ODD as reason:
        raise RecordError(f'could not read "{directory}": {reason}') from reason


def _folders(root: Path, closed: Callable[[OSError], None]) -> Iterator[tuple[Path, list[str]]]:
    """Every folder with the names of its files, in order; links (`latest`) are not followed. What
    begins with a dot is on its way, and what a matrix brought home stands elsewhere too. `closed`
    gets the errors of folders that cannot be listed."""
    for folder, below, names in os.walk(root, onerror=closed):
        twice = HOME if MATRIX in names else ""
        below[:] = sorted(name for name in below if name != twice and not name.startswith("."))
        yield Path(folder), names


def closed_folder(error: OSError) -> tuple[str, str] | None:
    """(folder, why) of one that could not be listed, as another account's weighings may stand in;
    None: it has gone meanwhile, or is a file system's own."""
    folder = str(error.filename)
    if isinstance(error, FileNotFoundError) or Path(folder).name == "lost+found":
        return None
    return folder, f"could not read this folder: {(error.strerror or 'unknown error').lower()}"


def _is_below(path: str, folder: str) -> bool:
    return folder in (".", path) or path.startswith(f"{folder}/")


def _unfinished(directory: Path, path: str, names: list[str]) -> Iterator[Unread]:
    """What is no record but says that one was to be: a study without a plan, which that of
    a search needs none of, a damaged sweep."""
    if STUDY_FILE in names and not plans_below(directory):
        yield Unread(path=path, reason=UNPLANNED)
    for name, kind in ((SWEEP_FILE, SweepPlan), (SWEPT_FILE, Swept)):
        if name in names:
            try:
                kind.of_json(_json(directory / name), f'"{directory / name}"')
            except SteelyardError as reason:
                yield Unread(path=f"{path}/{name}", reason=_in_words(reason))


def _json(file: Path) -> object:
    try:
        return read_json(file)
    except (OSError, JsonError) as reason:
        raise RecordError(f'could not read "{file}": {reason}') from reason


def _indexed(index: Path) -> Mapping[str, _Line]:
    """Path → line of the index; one that cannot be read is one that is not there."""
    lines = {}
    with contextlib.suppress(OSError, JsonError):
        for line in read_bounded(index, MOST_INDEX_BYTES).splitlines():
            with contextlib.suppress(JsonError, RecordError):
                value = parse_json(line)
                form = value.pop("format", None) if isinstance(value, dict) else None
                if form in (FORMAT, *OUTDATED):
                    entry = Entry.of_json(value, f'"{index}"')
                    lines[entry.path] = _Line(entry, form)
    return lines


def _write(index: Path, lines: list[_Line]) -> None:
    """All of it or nothing; a folder that cannot be written has no index."""
    text = [json.dumps({"format": line.format, **line.entry.to_json()}) + "\n" for line in lines]
    with contextlib.suppress(OSError, UntrustedPathError):
        write_whole(index, "".join(text))


def _in_words(reason: SteelyardError) -> str:
    """The primary line; of a JSON error the first line alone."""
    return reason.primary.splitlines()[0]
