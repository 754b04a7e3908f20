"""Reads a server's configuration files with their includes, as the server reads them.

The syntax is that of guc-file.l: `name = value`, `name value`, quotes doubled or escaped, comments,
and three includes, whose paths are relative to the file they stand in. A file is never quoted in an
error: its owner may have named any file of this machine.
"""

from __future__ import annotations

import codecs
import errno
import os
import pwd
import re
import shlex
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.engines.postgres.configuration_forms import advice
from steelyard.model.errors import EngineError

_ID = r"[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff]*"
_WORD = re.compile(r"[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff\-._:/]*")
"""UNQUOTED_STRING: an ID or QUALIFIED_ID is a shorter match of the same, or all of it."""
_NAME = re.compile(rf"{_ID}(?:\.{_ID})?")
_QUALIFIED = re.compile(rf"{_ID}\.{_ID}")
_STRING = re.compile(r"'(?:[^'\\\n\0]|\\[^\n\0]|'')*'")
_INTEGER = re.compile(r"[-+]?(?:0x[0-9a-fA-F]+|[0-9]+)[a-zA-Z]*")
_REAL = re.compile(r"[-+]?[0-9]*\.[0-9]*(?:[Ee][-+]?[0-9]+)?")
_BLANK = re.compile(r"[ \t\r]*")
_END = re.compile(r"[ \t\r]*(?:#[^\0]*)?\Z")
_ESCAPE = re.compile(r"''|\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_INCLUDES = ("include", "include_if_exists", "include_dir")
_DEEPEST = 10  # CONF_FILE_MAX_DEPTH
MOST_BYTES = 16 << 20
"""Of one configuration, all files together."""
MOST_FILES = 1000


@dataclass
class ConfigurationReader:
    """Reads the files of one configuration, within bounds.

    `owner`: the user id by whose right files are read, for the names of includes are theirs; files
    of others must be readable by everyone, or by a group of theirs. None: whatever we may read.
    """

    owner: int | None = None
    files: list[Path] = field(default_factory=list, init=False)
    """Those that were read."""
    absent: list[Path] = field(default_factory=list, init=False)
    """Those that are included where they exist, and do not exist here."""
    _left_bytes: int = field(default=MOST_BYTES, init=False)
    _left_files: int = field(default=MOST_FILES, init=False)

    def settings(self, file: Path) -> dict[str, str]:
        """The settings of a file with its includes by name, in lower case: of several lines about
        one the last counts, and stands where it was said. EngineError names file and line."""
        read: dict[str, str] = {}
        for name, value in self._lines(file, 0):
            read.pop(name, None)
            read[name] = value
        return read

    def _lines(self, file: Path, depth: int) -> Iterator[tuple[str, str]]:
        if depth > _DEEPEST:
            raise EngineError(f'could not read "{file}": its includes go in a circle')
        text = self._text(file)
        for number, line in enumerate(text.split("\n"), 1):
            if _END.match(line):
                continue
            setting = parse_line(line)
            if setting is None:
                raise EngineError(
                    f'could not read configuration file "{file}": line {number} is no setting',
                    hint=advice(file, line, text),
                )
            name, value = setting
            if name in _INCLUDES:
                for inner in self._included(file, name, value, number):
                    yield from self._lines(inner, depth + 1)
            else:
                yield name, value

    def _included(self, file: Path, how: str, value: str, number: int) -> list[Path]:
        path = file.parent / value
        if not value.strip():
            raise EngineError(
                f'could not read configuration file "{file}": line {number} includes nothing'
            )
        if _status(path) is None:
            if how == "include_if_exists":
                self.absent.append(path)
                return []
            raise EngineError(
                f'could not read configuration file "{file}": line {number} includes "{path}", '
                "which is not there",
                hint="Bring it from its server, or name a copy of the file without that line.",
            )
        if how == "include_dir":
            try:
                with os.scandir(path) as entries:
                    names = [entry.name for entry in entries if not entry.is_dir()]
            except OSError as error:
                raise _unopened(path, error) from error
            included = [
                name for name in names if name.endswith(".conf") and not name.startswith(".")
            ]
            return [path / name for name in sorted(included, key=os.fsencode)]
        return [path]

    def _text(self, file: Path) -> str:
        self._left_files -= 1
        if self._left_files < 0:
            raise _unread(file, f"its includes are more than {MOST_FILES} files")
        try:
            # Without O_NONBLOCK opening a pipe waits for a writer.
            opened = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except ValueError as error:
            raise _unread(file, "it has no such name") from error
        except OSError as error:
            raise _unopened(file, error) from error
        try:
            self._require_permitted(file, os.fstat(opened))
            content = b""
            while len(content) <= self._left_bytes:
                if not (more := os.read(opened, self._left_bytes + 1 - len(content))):
                    break
                content += more
        finally:
            os.close(opened)
        self._left_bytes -= len(content)
        if self._left_bytes < 0:
            raise _unread(file, f"it is longer than {MOST_BYTES >> 20} MB")
        if content.startswith(codecs.BOM_UTF8):
            raise _unread(
                file,
                "it begins with a byte order mark",
                "A server takes it for letters of the first name: "
                f"sed '1s/^\\xef\\xbb\\xbf//' {shlex.quote(str(file))} > FILE",
            )
        self.files.append(file)
        return content.decode("utf-8", errors="surrogateescape")

    def _require_permitted(self, file: Path, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            raise _unread(file, "it is not a regular file", not_regular_hint(file))
        if self.owner and not _may_read(self.owner, status):  # root may read any
            raise _unread(
                file,
                "the owner of the data may not read it",
                hint="Name the server's configuration as it is to be weighed: --config FILE",
            )


def _may_read(account: int, status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IROTH or status.st_uid == account:
        return True
    return bool(status.st_mode & stat.S_IRGRP) and status.st_gid in _groups(account)


def _groups(account: int) -> list[int]:
    """Those of an account by the system's lists, as its server has them; none of a number that has
    no name."""
    try:
        entry = pwd.getpwuid(account)
    except KeyError:
        return []
    return os.getgrouplist(entry.pw_name, entry.pw_gid)


def is_file(path: Path) -> bool:
    """Whether a regular file is there. EngineError: that cannot be seen, as in a directory that
    may not be entered, where pathlib raises, or since Python 3.14 says no."""
    status = _status(path)
    return status is not None and stat.S_ISREG(status.st_mode)


def not_regular_hint(path: Path) -> str:
    """What to type where a directory or a pipe was named."""
    main = path / "postgresql.conf"
    if path.is_dir():
        there = is_file(main)
        return f"Name a file in it: {shlex.quote(str(main)) if there else f'{path}/FILE'}"
    return "It is read more than once: write it into a file, and name that, in place of <(...)"


def _status(path: Path) -> os.stat_result | None:
    """Of what is at a path; None: there is nothing."""
    try:
        return path.stat()
    except ValueError:  # it can be no name
        return None
    except OSError as error:
        if error.errno in _NOTHING:
            return None
        raise _unopened(path, error) from error


_NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_DENIED = "Run as an account that may read it, or name a copy that you may read: --config FILE"


def _unopened(path: Path, error: OSError) -> EngineError:
    denied = error.errno in (errno.EACCES, errno.EPERM)
    return _unread(path, error.strerror or "", _DENIED if denied else None)


def _unread(file: Path, why: str, hint: str | None = None) -> EngineError:
    return EngineError(f'could not read configuration file "{file}": {why}', hint=hint)


def parse_line(line: str) -> tuple[str, str] | None:
    """Name, in lower case, and value of a line that holds a setting; None: it is not one."""
    word = _WORD.match(line, _BLANK.match(line).end())  # type: ignore[union-attr]
    if word is None or _NAME.fullmatch(word[0]) is None:
        return None
    at = _BLANK.match(line, word.end()).end()  # type: ignore[union-attr]
    if line[at : at + 1] == "=":
        at = _BLANK.match(line, at + 1).end()  # type: ignore[union-attr]
    value = _value(line, at)
    if value is None or _END.match(line, at + len(value)) is None:
        return None
    read = unescaped(value[1:-1]) if value.startswith("'") else value
    # Values are C strings: what follows a zero is lost.
    return _lower(word[0]), read.partition("\0")[0]


def _value(line: str, at: int) -> str | None:
    """The token that is a value, the longest that matches as in a scanner of flex."""
    texts = [
        m[0] for pattern in (_STRING, _WORD, _INTEGER, _REAL) if (m := pattern.match(line, at))
    ]
    longest = max(texts, key=len, default="")
    # QUALIFIED_ID is a token of its own, and no value.
    return longest if longest and _QUALIFIED.fullmatch(longest) is None else None


def _lower(name: str) -> str:
    """guc_name_compare folds ASCII alone."""
    return "".join(character.lower() if character.isascii() else character for character in name)


def unescaped(text: str) -> str:
    """What stands between quotes as the server reads it (DeescapeQuotedString)."""

    def letter(match: re.Match[str]) -> str:
        if match[1] is None:
            return "'"
        if match[1][0] in "01234567":
            return bytes([int(match[1], 8) & 0xFF]).decode("utf-8", errors="surrogateescape")
        return _LETTERS.get(match[1], match[1])

    read = _ESCAPE.sub(letter, text)
    # Octal digits may have spelt the bytes of one letter.
    return os.fsencode(read).decode("utf-8", errors="surrogateescape")
