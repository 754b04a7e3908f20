"""Keeps everything about one weighing on disk, append-only, and reads it back.

`records/<study>/<UTC time>/`: study.toml, plan.json, environment.json (written once, at once),
slices.jsonl, telemetry.jsonl (a line at a time, flushed), verdict.json, report.html. A line is
flushed to the kernel as soon as it is measured, so a killed process loses at most the line it was
writing; a torn last line is dropped when a record is read.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from steelyard.model.errors import RecordError
from steelyard.model.files.bounded_json import JsonError, open_regular, parse_json, read_json
from steelyard.model.files.own_directory import OWN_MODE, OwnDirectory
from steelyard.model.secrets.redaction import redacted_json
from steelyard.model.units import counted
from steelyard.record.sweep import SWEEP_FILE

PLAN = "plan.json"

Json = dict[str, Any]
FORMAT = 2
"""Version of the record's layout; raised when an older Steelyard could misread a record. Format 1
is read through upgrade.py."""
STUDY_FILE = "study.toml"
LATEST = "latest"
"""A link to the newest planned weighing of a study, beside it."""
LONGEST_LOOK_BACK = 1 << 16
"""Bytes that are read at a time in the search for the end of the last whole line."""
LONGEST_LINE = 16 << 20
"""Bytes of a line that is read."""
ODD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What values of the wrong kind or sign, or parts that do not fit together, end in."""


@contextlib.contextmanager
def damage_named() -> Iterator[None]:
    """RecordError in place of what a record that was changed or torn makes of reading or judging
    it, where no check of ours foresaw it."""
    try:
        yield
    except ODD as odd:
        raise RecordError(
            f"record does not hold together: {type(odd).__name__}: {odd}",
            hint="It was changed or damaged after it was written; a sound one is a defect of "
            "Steelyard's.",
        ) from odd


class Record:
    """One record directory, open for appending. Only one of this account alone is written into;
    UntrustedPathError says why another is not."""

    def __init__(self, directory: Path, *, is_latest: bool = False) -> None:
        self.directory = directory
        self._is_latest = is_latest
        self._streams: dict[str, FileIO] = {}
        self._lock: OwnDirectory | None = None

    @classmethod
    def create(cls, directory: Path | None, study: str) -> Record:
        """A new record in a new or an empty directory; without one: records/<study>/<UTC time>/."""
        usual = directory is None
        try:
            if directory is None:
                directory = _fresh(Path("records"), study)
            else:
                require_unused(directory)
                OwnDirectory.make(directory)
            OwnDirectory.open(directory).close()
        except OSError as reason:
            place = reason.filename or directory
            raise RecordError(
                f'could not create the record at "{place}": {reason.strerror or reason}',
                hint="Name a place that can be written: --record DIR",
            ) from reason
        return cls(directory, is_latest=usual)

    @classmethod
    def open(cls, directory: Path) -> Record:
        """An existing record, to be read or continued; raises RecordError when it is none."""
        directory = _behind_latest(directory)
        if not (directory / PLAN).is_file():
            raise _not_a_record(directory)
        record = cls(directory)
        record_format = record.read(PLAN).get("format", 1)
        if not isinstance(record_format, int) or record_format > FORMAT:
            raise RecordError(
                f'record was made by a newer Steelyard: "{directory}"',
                detail=f"Its format is {record_format}; this Steelyard reads formats up to "
                f"{FORMAT}.",
                hint="Read it with the version that made it, or a later one: "
                "uvx steelyard@latest report DIR",
            )
        return record

    def hold(self) -> None:
        """Let no other process write into it until it is closed, or this process has ended.
        RecordError: another one does: slices of both would be taken for those of one epoch."""
        directory = OwnDirectory.open(self.directory)
        if not directory.hold():
            directory.close()
            raise in_use("record", self.directory)
        self._lock = directory

    def write(self, name: str, value: Json | str) -> Path:
        """Write a whole file so that it is there entirely or not at all. JSON is redacted; a text
        is written as it is."""
        file = self.directory / name
        text = value if isinstance(value, str) else _json(value, indent=1)
        try:
            with OwnDirectory.open(self.directory) as directory:
                directory.write(name, text)
        except OSError as reason:
            raise RecordError(f'could not write "{file}": {reason}') from reason
        return file

    def append(self, name: str, value: Json) -> None:
        """Append one line, without secrets, and hand it to the kernel at once."""
        try:
            stream = self._streams.get(name)
            if stream is None:
                with OwnDirectory.open(self.directory) as directory:
                    # Without a buffer: what a full disk refused would be tried once more at the
                    # end.
                    stream = directory.appending(name)
                self._streams[name] = stream
                _end_last_line(stream)
            left = _json(value).encode()
            while left:
                left = left[stream.write(left) :]
        except OSError as reason:
            raise RecordError(
                f'could not append to "{self.directory / name}": {reason}',
                hint="What was written before is kept; free space and use --resume.",
            ) from reason

    def read(self, name: str) -> Json:
        """A whole JSON file; raises RecordError when it is missing or damaged."""
        # One of an earlier version may hold secrets.
        return cast(Json, redacted_json(read_object(self.directory / name)))

    def lines(self, name: str) -> Iterator[Json]:
        """The lines of a .jsonl file in order: none of a missing file, nor a torn last one."""
        file = self.directory / name
        if not file.exists():
            return
        with _opened(file) as stream:
            for number, line in enumerate(iter(partial(stream.readline, LONGEST_LINE), b""), 1):
                try:
                    value = parse_json(line)
                except JsonError as reason:
                    if line.endswith(b"\n") or len(line) == LONGEST_LINE:
                        raise RecordError(
                            f'damaged line {number} in "{file}": {reason}'
                        ) from reason
                    return
                yield value

    def discard_if_bare(self) -> None:
        """Remove the record if it holds no more than its question: nothing was measured or seen."""
        if {file.name for file in self.directory.iterdir()} != {STUDY_FILE}:
            return
        (self.directory / STUDY_FILE).unlink()
        self.directory.rmdir()
        if self._is_latest:
            with contextlib.suppress(OSError):  # they hold other records
                self.directory.parent.rmdir()
                self.directory.parent.parent.rmdir()

    def point_latest(self) -> None:
        """Have the `latest` link of the study lead here, where the place was not named."""
        if self._is_latest:
            draft = self.directory.parent / f".{LATEST}.{secrets.token_hex(8)}"
            draft.symlink_to(self.directory.name)
            draft.replace(self.directory.parent / LATEST)

    def close(self) -> None:
        """Close the streams, and hold it no longer; the record stays."""
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def plans_below(directory: Path) -> list[Path]:
    """Those of the records of a sweep, a search or a repetition, which has none itself."""
    return sorted(plan for depth in ("*", "*/*") for plan in directory.glob(f"{depth}/{PLAN}"))


def _not_a_record(directory: Path) -> RecordError:
    """What is said of a folder without a plan: that of a sweep, a search or a study has records
    below it."""
    plans = plans_below(directory)
    detail, hint = "There is no plan.json in it.", None
    if plans:
        first = shlex.quote(str(plans[0].parent))
        hint = f"Name a record below it, of {counted(len(plans), 'records')}: {first}"
        if (directory / SWEEP_FILE).is_file() and (directory / "report.html").is_file():
            detail += " It is the folder of a sweep: its page is report.html in it."
    elif (directory / STUDY_FILE).is_file():
        detail += " The weighing was stopped before it was planned."
        hint = f"Weigh anew: steelyard weigh {shlex.quote(str(directory / STUDY_FILE))}"
    return RecordError(f'not a record: "{directory}"', detail=detail, hint=hint)


def in_use(noun: str, directory: Path) -> RecordError:
    """What is said of a folder that another process writes into."""
    return RecordError(
        f'{noun} is in use: "{directory}"',
        detail="Another process of Steelyard weighs into it.",
        hint="Wait until that has ended, or end it by Ctrl-C, and type the command again.",
    )


def _json(value: Json, indent: int | None = None) -> str:
    separators = (",", ":") if indent is None else None
    return json.dumps(redacted_json(value), indent=indent, separators=separators) + "\n"


def read_object(file: Path) -> Json:
    """The JSON object that a file of a record holds; RecordError: it is missing or damaged."""
    try:
        value = read_json(file)
    except (OSError, JsonError) as reason:
        raise RecordError(f'could not read "{file}": {reason}') from reason
    if not isinstance(value, dict):
        raise RecordError(f'could not read "{file}": not a JSON object')
    return value


def stamp() -> str:
    """Now, UTC, as records are named by it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")


def folder_name(study: str) -> str:
    """What the folder of a study below `records/` is called: its name, with `_` for what leads to
    another folder, or is in no list of records."""
    name = "".join("_" if letter == "/" or not letter.isprintable() else letter for letter in study)
    return f"_{name}" if not name.strip() or name.startswith(".") else name


def _fresh(root: Path, study: str) -> Path:
    begun, parent = stamp(), root / folder_name(study)
    for above in (root, parent):
        OwnDirectory.make(above)
        OwnDirectory.open(above).close()
    for attempt in range(1, 1000):
        directory = parent / (begun if attempt == 1 else f"{begun}.{attempt}")
        try:
            directory.mkdir(mode=OWN_MODE)
        except FileExistsError:
            continue
        return directory
    raise RecordError(f'could not find a free name for a record under "{parent}"')


def _opened(file: Path) -> BinaryIO:
    try:
        return open_regular(file)
    except (OSError, JsonError) as reason:
        raise RecordError(f'could not read "{file}": {reason}') from reason


def require_unused(directory: Path) -> None:
    """RecordError where a directory that is named for a record holds something."""
    if (directory / PLAN).exists():
        raise RecordError(
            f'record directory already holds a weighing: "{directory}"',
            hint="Use --resume DIR to go on with it, or another --record DIR.",
        )
    if directory.is_dir() and any(directory.iterdir()):
        raise RecordError(
            f'directory "{directory}" holds something else than a record',
            hint="Name a new or an empty one: --record DIR.",
        )


def _behind_latest(directory: Path) -> Path:
    """What a `latest` link beside its record leads to; every other directory is itself."""
    if directory.name == LATEST and directory.is_symlink():
        target = directory.readlink()
        if len(target.parts) == 1 and target.name:
            return directory.with_name(target.name)
    return directory


def _end_last_line(stream: FileIO) -> None:
    """Of a last line without its newline: end it where it is whole, since it is read, and an editor
    or a full disk took the newline alone; else cut it, since its writer was killed in mid-write."""
    size = end = stream.seek(0, os.SEEK_END)
    begin = 0
    while end and not begin:
        start = max(0, end - LONGEST_LOOK_BACK)
        stream.seek(start)
        newline = stream.read(end - start).rfind(b"\n")
        begin = start + newline + 1 if newline >= 0 else 0
        end = start
    if begin == size:
        return
    stream.seek(begin)
    try:
        parse_json(stream.read(min(size - begin, LONGEST_LINE)))
    except JsonError:
        stream.truncate(begin)
    else:
        stream.write(b"\n")
