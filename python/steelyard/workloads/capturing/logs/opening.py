"""Opens a log as text: unpacks it, and decodes it by the encoding that it has or that is named."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import shlex
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.model.errors import UsageError

_HEAD_BYTES = 4096
_CHUNK = 1 << 16
_ZSTD = b"\x28\xb5\x2f\xfd"
_NOT_UNPACKED = {b"\x04\x22\x4d\x18": "lz4 -dc", b"PK\x03\x04": "unzip -p"}
"""What begins so, and what unpacks it."""
_TAR_AT, _TAR = 257, b"ustar"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# PostgreSQL's names ("Character Set Support") that Python has under another one.
_PYTHON_NAMES = (
    (re.compile(r"^win-?(\d+)$"), r"cp\1"),
    (re.compile(r"^koi8-?([ru])$"), r"koi8-\1"),
    (re.compile(r"^(?:unicode|utf-?8)$"), "utf-8"),
)
_NULS = re.compile("\0+")
_MANY_NULS = re.compile(b"\0{8,}")
_MOST_RUNS = 4
_CONTROL = re.compile(b"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_UNDECODED = re.compile("[\ud800-\udfff]")
"""In place of bytes that are no text, as Python's surrogateescape writes them; alone they are none
in any text."""
_MARK = "\udcfd"
_CHANCE = 8
"""So many letters of several bytes are UTF-8 in no other encoding."""
Lines = Iterator[str]
_HINT = "--encoding NAME reads it: the server's (SHOW server_encoding), e.g. LATIN1 or WIN1252."


@contextmanager
def opened(path: Path, encoding: str | None = None, name: Path | None = None) -> Iterator[Lines]:
    """The log's text, line by line; a line ends at a line feed alone, or is cut off where a crash
    of the machine left NULs. `name`: what it is called in errors.

    UsageError: it cannot be unpacked or decoded, then or while it is read, or is no text.
    """
    name = name or path
    try:
        with _unpacked(path, name) as file:
            head = file.peek(_HEAD_BYTES)
        _require_single(name, head)
        codec = _encoding(name, head, encoding)
        errors = "strict" if codec.startswith("utf-16") else "surrogateescape"
        with (
            _unpacked(path, name) as file,
            io.TextIOWrapper(file, codec, errors, newline="\n") as text,
        ):
            yield _decoded(name, _without_nuls(text), encoding)
    except UnicodeError as error:
        raise UsageError(
            f'could not read log "{name}": it is not {_encoding_name(encoding)}',
            detail=str(error.reason if isinstance(error, UnicodeDecodeError) else error),
            hint=_HINT,
        ) from error
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise UsageError(
            f'could not unpack log "{name}": {error}',
            hint="What is whole of it is read by: "
            f"{_unpacker(path)} {shlex.quote(str(name))} | steelyard workloads capture -",
        ) from error
    except IsADirectoryError as error:
        raise UsageError(
            f'could not read log "{name}": it is a directory',
            hint=f"Name the logs in it, of one format: {shlex.quote(str(name))}/*.log",
        ) from error
    except OSError as error:
        raise UsageError(f'could not read log "{name}": {error.strerror or error}') from error


def _require_single(name: Path, head: bytes) -> None:
    """UsageError: it is an archive, which may hold several logs."""
    if head[_TAR_AT:].startswith(_TAR):
        raise UsageError(
            f'could not read log "{name}": it is an archive',
            hint=f"Unpack it, and name the logs in it: tar -xf {shlex.quote(str(name))}",
        )


def _without_nuls(text: Iterable[str]) -> Iterator[str]:
    for line in text:
        if "\0" not in line:
            yield line
            continue
        *cut, last = _NULS.split(line)
        yield from (part for part in cut if part)
        if last.strip():
            yield last


def _decoded(name: Path, lines: Lines, encoding: str | None) -> Lines:
    """The lines, with marks in place of bytes that are no text. UsageError: most of those beyond
    ASCII have such: it is the encoding that is wrong."""
    whole = broken = 0
    for line in lines:
        if not line.isascii():
            marks = len(_UNDECODED.findall(line))
            is_broken = (
                2 * marks >= sum(not letter.isascii() for letter in line) if marks else False
            )
            whole, broken = whole + (not is_broken), broken + is_broken
        yield line
    if broken > whole:
        raise UsageError(
            f'could not read log "{name}": it is not {_encoding_name(encoding)}',
            detail=f"{broken} of {broken + whole} lines beyond ASCII are not.",
            hint=_HINT,
        )


def rejoined(text: str) -> str:
    """A text of several parts, with letters whose bytes are in two of them."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def undecoded(text: str) -> str:
    """A text with marks where what wrote it could not read a letter."""
    return text.replace("\ufffd", _MARK)


def is_decoded(text: str) -> bool:
    """Whether all of it was read: no mark is in it."""
    return text.isascii() or _UNDECODED.search(text) is None


def require_encoding(path: Path, encoding: str | None, name: Path) -> None:
    """UsageError: most lines beyond ASCII are UTF-8, and another encoding is named: every letter of
    them would be wrong.

    Texts of several bytes a letter may look like UTF-8 by chance, but not at length.
    """
    if encoding is None or (codec := _codec(encoding)) == "utf-8":
        return
    fewest = 1 if len("\u00e4\u4e2d".encode(codec, "replace")) == 2 else _CHANCE
    letters = whole = broken = 0
    try:
        with _unpacked(path, name) as file:
            for line in file:
                if line.isascii():
                    continue
                try:
                    text = line.decode()
                except UnicodeDecodeError:
                    broken += 1
                else:
                    whole += 1
                    letters += sum(not letter.isascii() for letter in text)
    except (EOFError, lzma.LZMAError, zlib.error, OSError):
        return  # what is wrong with the file is told when it is read
    if letters >= fewest and whole > broken:
        raise UsageError(
            f'could not read log "{name}" as {encoding}: it is UTF-8', hint="Leave out --encoding."
        )


def _unpacked(path: Path, name: Path) -> io.BufferedReader:
    with path.open("rb") as file:
        head = file.read(8)
    program = next((word for mark, word in _NOT_UNPACKED.items() if head.startswith(mark)), None)
    if program is not None:
        raise UsageError(
            f'could not unpack log "{name}"',
            hint=f"Unpack it first: {program} {shlex.quote(str(name))} > NEW",
        )
    unpack = next((unpack for mark, unpack in _PACKED if head.startswith(mark)), None)
    if unpack is None:
        return path.open("rb")
    return io.BufferedReader(_zstd(path, name) if unpack is _zstd else unpack(path))


def _zstd(path: Path, name: Path) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise UsageError(
            f'could not unpack log "{name}": zstandard is not installed',
            hint="pip install 'steelyard[capture]' brings it; or unpack it: zstd -d.",
        ) from error
    return _ZstdFile(path, zstandard.ZstdDecompressor, zstandard.ZstdError)


class _ZstdFile(io.RawIOBase):
    """The text of a file's frames, one after another (pzstd and cat write several); zstandard's own
    reader ends at a cut in silence. EOFError: it is cut off or damaged."""

    def __init__(self, path: Path, unpacker: Callable[[], Any], error: type[Exception]) -> None:
        self._file = path.open("rb")
        self._unpacker, self._error = unpacker, error
        self._frame: Any = None
        self._text = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            packed = self._file.read(_CHUNK)
            if not packed:
                if self._frame is not None:
                    raise EOFError("it ends within a frame")
                return 0
            try:
                self._text = b"".join(self._texts(packed))
            except self._error as error:
                raise EOFError(str(error)) from error
        size = min(len(buffer), len(self._text))
        buffer[:size], self._text = self._text[:size], self._text[size:]
        return size

    def _texts(self, packed: bytes) -> Iterator[bytes]:
        while packed:
            frame = self._frame or self._unpacker().decompressobj()
            yield frame.decompress(packed)
            self._frame, packed = (None, frame.unused_data) if frame.eof else (frame, b"")

    def close(self) -> None:
        self._file.close()
        super().close()


_PACKED: tuple[tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (_ZSTD, _zstd),
)


_CATS = {b"\x1f\x8b": "zcat", b"BZh": "bzcat", b"\xfd7z": "xzcat"}


def _unpacker(path: Path) -> str:
    """The program that writes what a file holds up to where it is cut off or damaged."""
    with path.open("rb") as file:
        return _cat(file.read(3))


def _cat(head: bytes) -> str:
    return next((cat for mark, cat in _CATS.items() if head.startswith(mark)), "zstdcat")


def _encoding(path: Path, head: bytes, encoding: str | None) -> str:
    """The Python codec of a text that begins so. UsageError: it is none, or the name unknown."""
    if encoding is not None:
        return _codec(encoding)
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    # No server writes a NUL: runs of them are what a crash of the machine left, and one beside each
    # letter is half of a UTF-16 character.
    text = _MANY_NULS.sub(b"", head)
    even, odd = text[0:64:2], text[1:64:2]
    if odd.count(0) > 0.9 * len(odd) and not even.count(0):
        return "utf-16-le"
    if even.count(0) > 0.9 * len(even) and not odd.count(0):
        return "utf-16-be"
    if any(head.startswith(mark) for mark, _ in _PACKED):  # of what was packed twice
        raise UsageError(
            f'could not read log "{path}": it is packed twice',
            hint=f"{_cat(head)} {shlex.quote(str(path))} | steelyard workloads capture -  reads "
            "what is in it.",
        )
    runs = len(re.findall(b"\0+", text))
    if runs > _MOST_RUNS or (runs and _CONTROL.search(text) is not None):
        raise UsageError(
            f'could not read log "{path}": it is no text',
            hint="Logs may be packed by gzip, bzip2, xz or zstd.",
        )
    return "utf-8"


def _codec(encoding: str) -> str:
    codec = codec_of(encoding)
    if codec is None:
        raise UsageError(
            f'unknown encoding: "{encoding}"',
            hint="Names are PostgreSQL's: UTF8, LATIN1, WIN1252, EUC_JP, ...",
        )
    return codec


def codec_of(encoding: str) -> str | None:
    """Python's codec of an encoding by PostgreSQL's name; None: it has none."""
    name = encoding.strip().lower().replace("_", "-")
    for pattern, python_name in _PYTHON_NAMES:
        name = pattern.sub(python_name, name)
    try:
        codec = codecs.lookup(name)
        "".encode(codec.name)
    except LookupError:
        return None
    return codec.name


def _encoding_name(encoding: str | None) -> str:
    return "UTF-8" if encoding is None else encoding
