"""Opens a log as text: unpacks it, and decodes it by the encoding that it has or that is named."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from steelyard.model.errors import UsageError

_HEAD_BYTES = 4096
_CHUNK = 1 << 16
_ZSTD = b"\x28\xb5\x2f\xfd"
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
_HINT = "--encoding NAME reads it: the server's (SHOW server_encoding), e.g. LATIN1 or WIN1252."


@contextmanager
def opened(path: Path, encoding: str | None = None) -> Iterator[IO[str]]:
    """The log's text, line by line; a line ends at a line feed alone.

    UsageError: it cannot be unpacked or decoded, then or while it is read, or is no text.
    """
    try:
        with _unpacked(path) as file:
            head = file.peek(_HEAD_BYTES)
        name = _encoding(path, head, encoding)
        with _unpacked(path) as file, io.TextIOWrapper(file, name, newline="\n") as text:
            yield text
    except UnicodeError as error:
        raise UsageError(
            f'could not read log "{path}": it is not {_encoding_name(encoding)}',
            detail=str(error.reason if isinstance(error, UnicodeDecodeError) else error),
            hint=_HINT,
        ) from error
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise UsageError(f'could not unpack log "{path}": {error}') from error
    except OSError as error:
        raise UsageError(f'could not read log "{path}": {error.strerror or error}') from error


def _unpacked(path: Path) -> io.BufferedReader:
    with path.open("rb") as file:
        head = file.read(8)
    unpack = next((unpack for mark, unpack in _PACKED if head.startswith(mark)), None)
    return path.open("rb") if unpack is None else io.BufferedReader(unpack(path))


def _zstd(path: Path) -> Any:
    try:
        import zstandard
    except ImportError as error:
        raise UsageError(
            f'could not unpack log "{path}": zstandard is not installed',
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


_PACKED: tuple[tuple[bytes, Callable[[Path], Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (_ZSTD, _zstd),
)


def _encoding(path: Path, head: bytes, encoding: str | None) -> str:
    """The Python codec of a text that begins so. UsageError: it is none, or the name unknown."""
    if encoding is not None:
        return _codec(encoding)
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    # No server writes a NUL: beside a letter it is half of a UTF-16 character.
    if b"\x00" in head:
        even, odd = head[0:64:2], head[1:64:2]
        if odd.count(0) > 0.9 * len(odd) and not even.count(0):
            return "utf-16-le"
        if even.count(0) > 0.9 * len(even) and not odd.count(0):
            return "utf-16-be"
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
