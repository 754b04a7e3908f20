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
from collections.abc import Iterator
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any, cast

from steelyard.model.errors import RecordError
from steelyard.model.secrets.redaction import redacted_json

PLAN = "plan.json"

Json = dict[str, Any]
FORMAT = 2
"""Version of the record's layout; raised when an older Steelyard could misread a record. Format 1
is read through upgrade.py."""
STUDY_FILE = "study.toml"
LONGEST_LOOK_BACK = 1 << 16
"""Bytes that are read at a time in the search for the end of the last whole line."""
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
    """One record directory, open for appending."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._streams: dict[str, FileIO] = {}

    @classmethod
    def create(cls, directory: Path | None, study: str) -> Record:
        """A new record; without a directory: records/<study>/<UTC time>/ with a `latest` link."""
        try:
            if directory is None:
                directory = _fresh(Path("records") / study)
                _point_latest(directory)
            else:
                if (directory / PLAN).exists():
                    raise RecordError(
                        f'record directory already holds a weighing: "{directory}"',
                        hint="Use --resume DIR to go on with it, or another --record DIR.",
                    )
                directory.mkdir(parents=True, exist_ok=True)
        except OSError as reason:
            raise RecordError(f"could not create the record: {reason}") from reason
        return cls(directory)

    @classmethod
    def open(cls, directory: Path) -> Record:
        """An existing record, to be read or continued; raises RecordError when it is none."""
        if not (directory / PLAN).is_file():
            raise RecordError(f'not a record: "{directory}"', detail="There is no plan.json in it.")
        record = cls(directory)
        found = record.read(PLAN).get("format", 1)
        if not isinstance(found, int) or found > FORMAT:
            raise RecordError(
                f'record was made by a newer Steelyard: "{directory}"',
                detail=f"Its format is {found}; this Steelyard reads formats up to {FORMAT}.",
            )
        return record

    def write(self, name: str, value: Json | str) -> Path:
        """Write a whole file so that it is there entirely or not at all. JSON is redacted; a text
        is written as it is."""
        file = self.directory / name
        text = value if isinstance(value, str) else _json(value, indent=1)
        draft = file.with_name(f".{name}.draft")
        try:
            with draft.open("w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(file)
        except OSError as reason:
            raise RecordError(f'could not write "{file}": {reason}') from reason
        return file

    def append(self, name: str, value: Json) -> None:
        """Append one line, without secrets, and hand it to the kernel at once."""
        try:
            stream = self._streams.get(name)
            if stream is None:
                _drop_torn_line(self.directory / name)
                # Without a buffer: what a full disk refused would be tried once more at the end.
                stream = (self.directory / name).open("ab", buffering=0)
                self._streams[name] = stream
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
        file = self.directory / name
        try:
            value = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as reason:
            raise RecordError(f'could not read "{file}": {reason}') from reason
        if not isinstance(value, dict):
            raise RecordError(f'could not read "{file}": not a JSON object')
        return cast(Json, redacted_json(value))  # one of an earlier version may hold secrets

    def lines(self, name: str) -> Iterator[Json]:
        """The lines of a .jsonl file in order: none of a missing file, nor a torn last one."""
        file = self.directory / name
        if not file.exists():
            return
        with file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                try:
                    value = _parsed(line)
                except ValueError as reason:
                    if line.endswith(b"\n"):
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
        link = self.directory.parent / "latest"
        if link.is_symlink() and link.readlink().name == self.directory.name:
            link.unlink()
            earlier = sorted(p for p in self.directory.parent.iterdir() if p.is_dir())
            if earlier:
                _point_latest(earlier[-1])
            else:
                self.directory.parent.rmdir()
                with contextlib.suppress(OSError):  # of other studies
                    self.directory.parent.parent.rmdir()

    def close(self) -> None:
        """Close the streams; the record stays."""
        for stream in self._streams.values():
            stream.close()
        self._streams.clear()


def _json(value: Json, indent: int | None = None) -> str:
    separators = (",", ":") if indent is None else None
    return json.dumps(redacted_json(value), indent=indent, separators=separators) + "\n"


def _parsed(line: bytes) -> Json:
    """Half the time of the standard library's parser, which judges what the other refuses."""
    from pydantic_core import from_json

    try:
        return cast(Json, from_json(line))
    except ValueError:
        return cast(Json, json.loads(line))


def stamp() -> str:
    """Now, UTC, as records are named by it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")


def _fresh(parent: Path) -> Path:
    begun = stamp()
    for attempt in range(1, 1000):
        directory = parent / (begun if attempt == 1 else f"{begun}.{attempt}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        return directory
    raise RecordError(f'could not find a free name for a record under "{parent}"')


def _point_latest(directory: Path) -> None:
    link = directory.parent / "latest"
    draft = directory.parent / f".latest.{os.getpid()}"
    draft.unlink(missing_ok=True)
    draft.symlink_to(directory.name)
    draft.replace(link)


def _drop_torn_line(file: Path) -> None:
    """Cut a last line without its newline: the process that wrote it was killed in mid-write."""
    if not file.exists():
        return
    with file.open("rb+") as stream:
        end = stream.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - LONGEST_LOOK_BACK)
            stream.seek(start)
            newline = stream.read(end - start).rfind(b"\n")
            if newline >= 0:
                stream.truncate(start + newline + 1)
                return
            end = start
        stream.truncate(0)
