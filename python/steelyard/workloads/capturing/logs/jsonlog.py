"""Reads logs of JSON objects: jsonlog, and the envelopes in which operators and clouds put entries.

CloudNativePG has csvlog's columns under "record", Azure fields under "properties", with a line of
text in one of them; Cloud SQL, Docker and shippers have a line of text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

from steelyard.model.errors import UsageError
from steelyard.model.files.bounded_json import require_shallow
from steelyard.workloads.capturing.logs.azure import entry_of_azure
from steelyard.workloads.capturing.logs.clock import oldest_first
from steelyard.workloads.capturing.logs.csvlog import NAMES
from steelyard.workloads.capturing.logs.entry import (
    LogEntry,
    Names,
    entry_of,
    is_exact,
    seconds_of,
)
from steelyard.workloads.capturing.logs.opening import codec_of, undecoded
from steelyard.workloads.capturing.logs.other_lines import (
    OtherLines,
    message_of,
    statement_place,
)
from steelyard.workloads.capturing.logs.servers import LogServer, Source, source_of
from steelyard.workloads.capturing.logs.stderr_log import LogLine

_JSONLOG = Names(
    ("session_id", "pid"), "timestamp", "error_severity", "user", "dbname", "statement"
)
_JOURNAL, _JOURNAL_TIME = "MESSAGE", "__REALTIME_TIMESTAMP"
_TEXTS = ("textPayload", "log", "message", "@message", _JOURNAL)
"""Where an envelope has a line of a stderr log."""
_TIMES = ("timestamp", "time", "@timestamp")
_LISTS = ("records", "events", "entries", "logEvents")
_MOST_OF_A_LIST = 1 << 30
"""Characters; an object a line is read one by one."""

_PART_BYTES, _MOST_TRIED = 16_384, 1000
"""Docker cuts longer lines. Behind an object that is cut off so many places are tried."""
_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\r\n]*")
_NEXT, _OBJECT = re.compile(r"^(?=\{)", re.MULTILINE), re.compile(r'\{"')

Record = LogEntry | LogLine
"""An entry, or a line of a stderr log."""


def read_jsonlog(
    path: Path, file: Iterable[str], others: OtherLines, encoding: str | None = None
) -> Iterator[Record]:
    """The entries of a file, the oldest first. What is cut off is an entry that is not whole;
    lines that are no objects are lines of a stderr log, or of others. `others`: counts objects with
    a statement where none is looked for. `encoding`: of lines that are lists of bytes.

    UsageError: there is no object in it, there are statements of several servers, or a line of
    the server is not there.
    """
    lines = iter(file)
    first = next((line for line in lines if line.strip()), "")
    if _is_laid_out(first):
        values = _of_text(path, _whole(path, chain([first], lines)))
    else:
        values = _of_lines(path, chain([first], lines))
    head = next(values, None)
    if head is None:
        return
    codec = None if encoding is None else codec_of(encoding)
    records = _Records(path, LogServer(path, _selection), others, codec or "utf-8")
    # Exports of clouds may begin with the newest.
    if first.lstrip().startswith("[") or (isinstance(head, Mapping) and "textPayload" in head):
        values = oldest_first(path, chain([head], values))
    else:
        values = chain([head], values)
    for value in values:
        yield from records.of(value)
    yield from records.end()


def _is_laid_out(first: str) -> bool:
    """Whether objects go over several lines."""
    text = first.strip()
    if text.startswith("["):
        return True
    return text.startswith("{") and text.endswith(("{", "[", ",")) and _value(text) is None


def _value(text: str, at: int = 0) -> Any:
    """That of a text from a place on; None: it is none, or nested too deep."""
    blanks = _BLANKS.match(text, at)
    assert blanks is not None  # there may be none
    try:
        value, end = _DECODER.raw_decode(text, blanks.end())
        require_shallow(value)
    except (ValueError, RecursionError):
        return None
    return value if _BLANKS.fullmatch(text, end) else None


def _of_text(path: Path, text: str) -> Iterator[Any]:
    """The values of a list, or of a text in which they stand behind each other; what cannot be
    read is an entry that is not whole.

    UsageError: what is cut off has many entries.
    """
    at, in_list = 0, text.lstrip().startswith("[")
    while True:
        while at < len(text) and text[at] in " \t\r\n,[]":
            at += 1
        if at >= len(text):
            return
        try:
            value, value_end = _DECODER.raw_decode(text, at)
            require_shallow(value)
        except (ValueError, RecursionError):
            after = _NEXT.search(text, at + 1)
        else:
            yield value
            at = value_end
            continue
        end = len(text) if after is None or in_list else after.start()
        _require_one(path, text.count("\n", 0, at) + 1, text[at:end])
        yield _cut(text[at:end])
        at = end


def _whole(path: Path, lines: Iterable[str]) -> str:
    """A text whose values go over several lines. UsageError: it is too long to be held."""
    parts, length = list[str](), 0
    for line in lines:
        parts.append(line)
        length += len(line)
        if length > _MOST_OF_A_LIST:
            raise UsageError(
                f'could not read log "{path}": it is one list, or its objects go over several '
                f"lines, and it is longer than {_MOST_OF_A_LIST >> 20} MiB",
                hint="An object a line is read whatever their number: jq -c '.[]?' LOG > NEW of a "
                "list, jq -c . LOG > NEW of objects.",
            )
    return "".join(parts)


def _of_lines(path: Path, lines: Iterable[str]) -> Iterator[Any]:
    """Of each line its value, or the line itself; of one that is cut off, an entry that is not
    whole."""
    first, is_log = 0, False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        first = first or number
        value = _value(line)
        if isinstance(value, Mapping):
            is_log = True
            yield value
        elif line.startswith("{"):
            for inner in _behind_each_other(path, number, line):
                is_log = is_log or isinstance(inner, Mapping)
                yield inner
        elif not is_log and line.rstrip().endswith("}"):
            yield _cut(line)  # of an entry that began before the file
        else:
            yield LogLine(line.removesuffix("\n"), whole=line.endswith("\n"))
    if first and not is_log:
        raise UsageError(
            f'could not read log "{path}": line {first} is no entry',
            hint="It begins as an object of JSON does: what stands there before each line must go.",
        )


def _behind_each_other(path: Path, number: int, line: str) -> Iterator[Any]:
    """The objects of a line of several, as Firehose writes them; of what is cut off, which has the
    next one behind it, an entry that is not whole.

    UsageError: what is cut off has many entries.
    """
    at = 0
    while at < len(line):
        objects, at = _objects(line, at)
        yield from objects
        if at < len(line):
            begins = next(_ends_of_cut(line, at), len(line))
            _require_one(path, number, line[at:begins])
            yield _cut(line[at:begins])
            at = begins


def _objects(text: str, at: int) -> tuple[list[Any], int]:
    """Those that stand behind each other from a place on, and where what is none begins."""
    objects, length = list[Any](), len(text)
    while at < length and text[at] == "{":
        try:
            value, end = _DECODER.raw_decode(text, at)
            require_shallow(value)
        except (ValueError, RecursionError):
            break
        objects.append(value)
        while end < length and text[end] in " \t\r\n,":
            end += 1
        at = end
    return objects, at


def _ends_of_cut(line: str, at: int) -> Iterator[int]:
    """Where whole objects begin behind one that is cut off, those within it aside: they go on to
    the line's end."""
    tried = 0
    while (tried := tried + 1) <= _MOST_TRIED and (begins := _OBJECT.search(line, at + 1)):
        objects, at = _objects(line, begins.start())
        if objects and at >= len(line):
            yield begins.start()
        at = max(at - 1, begins.start())


def _require_one(path: Path, number: int, text: str) -> None:
    """UsageError: what is cut off has many entries."""
    if max(text.count(f'"{name}"') for name in _TEXTS) > 1:
        raise UsageError(
            f'could not read log "{path}": the object in line {number} is cut off, or damaged',
            hint="Export it anew; or an editor takes out that object, and leaves the others.",
        )


def _cut(text: str) -> LogEntry:
    """An entry that is not whole, with its message, or that of the line which an envelope has."""
    name = next((name for name in _TEXTS if f'"{name}"' in text), _TEXTS[0])
    written = text.partition(f'"{name}"')[2].lstrip(' :"')
    if '"error_severity"' not in text:
        written = message_of(written)
    return LogEntry("", 0.0, "LOG", written, "", whole=False)


@dataclass
class _Records:
    """Takes entries and lines out of their envelopes."""

    path: Path
    server: LogServer
    others: OtherLines
    codec: str
    feeds: bool = False
    """Whether lines end in line feeds there: what has none is a part of one."""
    parts: dict[tuple[Source, str], str] = field(default_factory=dict)
    """By where they are from, and by stream."""
    objects: int = 0
    missing: dict[Source, UsageError] = field(default_factory=dict)
    """By where it is from, the first line that journald has not written as text."""

    def of(self, value: Any, around: Source = ()) -> Iterator[Record]:
        """What a value holds. `around`: where the list that it is in is from.

        UsageError: it is no envelope, or of another server.
        """
        if isinstance(value, LogEntry | LogLine):
            yield value
            return
        if not isinstance(value, Mapping):
            what = "texts" if isinstance(value, str) else "values"
            raise UsageError(
                f'could not read log "{self.path}": it is a list of {what}, and not of objects',
                hint="jq -r '.[]' LOG > NEW writes what is in it, a text in a line."
                if what == "texts"
                else "A list of entries, or of lines of a log in objects, is read.",
            )
        for name in _LISTS:
            if isinstance(value.get(name), list):
                for inner in value[name]:
                    yield from self.of(inner, source_of(value) or around)
                return
        self.objects += 1
        source = source_of(value) or around
        content = self._content(value, source)
        if isinstance(content, LogEntry):
            if self.server.takes(source, f"{content.severity}:  {content.message}"):
                yield content
        elif content is None:
            yield from self._elsewhere(value)
        elif self.server.takes(source, content):
            yield from _lines(content, *_time_of(value))

    def _elsewhere(self, value: Mapping[str, Any]) -> Iterator[LogEntry]:
        """What counts an object that has a statement, and no text or entry that is read."""
        if any(isinstance(value.get(name), str | list) for name in _TEXTS):
            return
        place = statement_place(value)
        if place is not None:
            yield self.others.note_object(self.objects, place)
        else:
            self.others.note_foreign(self.objects, value)

    def _content(self, value: Mapping[str, Any], source: Source) -> LogEntry | str | None:
        """The entry or the text of an envelope; None: it has neither, or a part of a text."""
        record, properties = value.get("record"), value.get("properties")
        if "error_severity" in value:
            return entry_of(value, _JSONLOG if "timestamp" in value else NAMES)
        if isinstance(record, Mapping):
            return _marked(entry_of(record, NAMES))
        if isinstance(properties, Mapping) and "message" in properties:
            return _marked(entry_of_azure(value, properties))
        # Envelopes hold lines of others too: an operator's own, for one.
        for name in _TEXTS:
            text = self._text(value[name], source, name) if name in value else None
            if text is not None:
                return self._joined(value, name, text, source)
        return None

    def _text(self, text: Any, source: Source, name: str) -> str | None:
        """A text, or what journald wrote as a list of bytes; None: it is neither."""
        if isinstance(text, str):
            return undecoded(text)
        error = f'could not read log "{self.path}": {name} of object {self.objects} is'
        if _is_bytes(text):
            try:
                return bytes(text).decode(self.codec)
            except UnicodeDecodeError:
                hint = "--encoding NAME reads it: the server's (SHOW server_encoding), e.g. LATIN1."
                refusal = UsageError(f"{error} not {self.codec.upper()}", hint=hint)
        elif text is None:
            hint = "journalctl --all -o json writes it: without --all what is long is left out."
            refusal = UsageError(f"{error} null", hint=hint)
        else:
            refusal = UsageError(f"{error} no text")
        if name == _JOURNAL:
            self.missing.setdefault(source, refusal)
        return None

    def _joined(self, value: Mapping[str, Any], name: str, text: str, source: Source) -> str | None:
        """A text behind the parts of it that came before; None: it is a part too."""
        key = source, str(value.get("stream", ""))
        if name == "log":
            self.feeds = self.feeds or text.endswith("\n")
        if self._is_part(value, name, text):
            self.parts[key] = self.parts.get(key, "") + text
            return None
        return self.parts.pop(key, "") + text

    def _is_part(self, value: Mapping[str, Any], name: str, text: str) -> bool:
        if value.get("logtag") in ("P", "F"):  # CRI's, as Fluent Bit writes it
            return bool(value["logtag"] == "P")
        if "partial_message" in value:
            return str(value.get("partial_last", "")).lower() != "true"
        if name != "log" or text.endswith("\n"):
            return False
        return self.feeds or len(text.encode(errors="replace")) == _PART_BYTES

    def end(self) -> Iterator[Record]:
        """Lines whose last part is not there. UsageError: a line of the server is not."""
        for source, refusal in self.missing.items():
            if self.server.is_from(source):
                raise refusal
        for (source, _), text in self.parts.items():
            if self.server.takes(source, text):
                yield from _lines(text, whole=False)


def _marked(content: LogEntry | str) -> LogEntry | str:
    """What an envelope holds, with marks where its writer could not read a letter."""
    if isinstance(content, str):
        return undecoded(content)
    message, detail = undecoded(content.message), undecoded(content.detail)
    return replace(content, message=message, detail=detail)


def _selection(key: str, text: str) -> str:
    selected = f".. | objects | select(.{key}? == {json.dumps(text)})"
    return f"jq -c '{selected}' LOG > NEW writes those of one."


def _is_bytes(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value)
    )


def _time_of(value: Mapping[str, Any]) -> tuple[float, bool]:
    """An envelope's time in seconds, 0 where it has none, and whether it has fractions of one: it
    counts where the line's prefix has no time."""
    if (microseconds := str(value.get(_JOURNAL_TIME, ""))).isdecimal():
        return int(microseconds) / 1e6, True
    stamp = next((value[name] for name in _TIMES if isinstance(value.get(name), str)), "")
    return seconds_of(stamp), is_exact(stamp)


def _lines(
    text: str, seconds: float = 0.0, exact: bool = False, *, whole: bool = True
) -> Iterator[LogLine]:
    """A text's lines; what stands at their ends may be part of a value."""
    for line in text.removesuffix("\n").split("\n"):
        yield LogLine(line, seconds=seconds, exact=exact, whole=whole)
