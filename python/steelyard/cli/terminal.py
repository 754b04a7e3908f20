"""The border to the terminal: all that is printed passes here, foreign control characters escaped,
and letters that its encoding lacks substituted by similar ones that it has.

Names, messages and labels come from servers, records and files of others. Our own colours and
cursor moves are written by `own`, which escapes nothing. A minus sign must not come out as "?":
`?3.1 %` has no direction, and "?" is the sign of a verdict.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from steelyard.model.files.printable import printable

if TYPE_CHECKING:
    from rich.console import Console


_written = threading.Event()
"""Set as soon as something was printed."""
_pipe_closed = threading.Event()
"""Set when what read our output ended before it had all."""
_STREAMS = 3
"""Descriptors that are standard input, output and error."""
ALIKE = "steelyard.alike"
"""The name of the codec error handler; a letter without a similar one becomes "?"."""
_LETTERS = {
    **dict.fromkeys("−–—‐‑─", "-"),
    **dict.fromkeys("━", "="),
    **dict.fromkeys("├┤│┃▏▕", "|"),
    **dict.fromkeys("┴┷┬┼┌┐└┘", "+"),
    **dict.fromkeys("┊", ":"),
    **dict.fromkeys("●○", "o"),
    **dict(zip("◇◉┅✓°", ["x", "@", ".", "+", "deg "], strict=True)),
    **dict.fromkeys("•·", "*"),
    **dict.fromkeys("✕×", "x"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("µμ", "u"),
    **dict.fromkeys("\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}", " "),
    **dict(zip("▁▂▃▄▅▆▇█", "_.-~=+*#", strict=True)),
    **dict(zip("▲▼◂▸░÷", "^v<>./", strict=True)),
    **{"…": "...", "→": "->", "←": "<-", "±": "+-", "≥": ">=", "≤": "<=", "∞": "inf"},
    **{"€": "EUR", "£": "GBP"},
}


class OutputError(OSError):
    """Standard output could not be written, as on a disk that is full."""


class Output(io.TextIOWrapper):
    """Standard output or standard error.

    A write to a terminal that was closed is dropped without an error: SIGHUP ends the program. A
    closed pipe raises once, and drops every later write. `required`: any other failure raises too
    (output of a command); not `required` (progress): such a write is dropped.
    """

    def __init__(
        self, stream: io.TextIOWrapper, *, escapes: bool = True, required: bool = True
    ) -> None:
        super().__init__(
            stream.buffer,
            encoding=stream.encoding,
            errors=ALIKE,
            line_buffering=stream.line_buffering,
        )
        self._given = stream  # which would close the buffer when nothing refers to it any more
        self._escapes = escapes
        self._required = required
        self._printed = False
        self._own = self if not escapes else Output(stream, escapes=False, required=required)

    @property
    def own(self) -> Output:
        """The same place, for our own control characters."""
        return self._own

    @property
    def encoding(self) -> str:  # type: ignore[override]  # nobody sets it
        """The stream's encoding, but Latin-1 in place of ASCII: for ASCII click would open a second
        stream beside this one. What is written stays ASCII (`substitute`)."""
        encoding = super().encoding
        return "iso8859-1" if codecs.lookup(encoding).name == "ascii" else encoding

    @property
    def printed(self) -> bool:
        """Whether anything was written here."""
        return self._printed

    def write(self, text: str) -> int:
        """Write, as `flush`."""
        _written.set()
        self._printed = True
        with suppress(_TerminalClosed):
            self._guarded(super().write, printable(text) if self._escapes else text)
        return len(text)

    def flush(self) -> None:
        """BrokenPipeError: the pipe was closed; OutputError: the place takes no more."""
        with suppress(_TerminalClosed):
            self._guarded(super().flush)

    def _guarded(self, call: Any, *arguments: str) -> None:
        try:
            call(*arguments)
        except OSError as error:
            # What could not be written is still in a buffer, and would be tried again at the end.
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if error.errno == errno.EPIPE:
                _pipe_closed.set()
                raise
            if error.errno == errno.EIO or not self._required:
                raise _TerminalClosed from error
            raise OutputError(error.errno, error.strerror) from error


class _TerminalClosed(Exception):  # noqa: N818  it is no error
    """The terminal was closed."""


def take_over() -> None:
    """Have all that is printed from now on pass here. What the calling process had closed leads
    nowhere, so that no file of ours takes its number."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < _STREAMS:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    sys.stdin = sys.stdin or _nowhere()
    if sys.stdout is None or isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = Output(sys.stdout or _nowhere())
    if sys.stderr is None or isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = Output(sys.stderr or _nowhere(), required=False)


def _nowhere() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(os.devnull, "r+"), encoding="utf-8")


def pipe_closed() -> bool:
    """Whether what read our output ended before it had all."""
    return _pipe_closed.is_set()


def sign_of_life(message: str, stream: TextIO, after_s: float = 0.4) -> None:
    """Print the words on a terminal when nothing else was printed by then; nothing where the
    stream is no terminal."""
    if not stream.isatty():
        return

    def say() -> None:
        if not _written.wait(after_s):
            stream.write(f"{message}\n")
            stream.flush()

    threading.Thread(target=say, name="sign of life", daemon=True).start()


def printed(stream: TextIO) -> bool:
    """Whether anything was written to a stream since `take_over`."""
    return isinstance(stream, Output) and stream.printed


def redraws(stream: TextIO) -> bool:
    """Whether what was printed there can be drawn over: a terminal, and no dumb one."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


def own(stream: TextIO) -> TextIO:
    """Where our own control characters are written to."""
    return stream.own if isinstance(stream, Output) else stream


def console(stream: TextIO) -> Console:
    """A console of rich whose text is escaped, and whose colours and moves are not."""
    from rich.console import Console
    from rich.segment import Segment

    class Escaping(Console):
        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            """The segments, those of text escaped."""
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else printable(segment.text)
                yield Segment(text, segment.style, segment.control)

    return Escaping(file=own(stream), highlight=False)


def substitute(error: UnicodeError) -> tuple[str, int]:
    """The codec error handler: similar letters, and the position from which encoding goes on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = _POWERS.sub(_power, error.object[error.start : error.end])
    return "".join(_similar_letter(letter) for letter in letters), error.end


def _similar_letter(letter: str) -> str:
    return letter if letter.isascii() else _LETTERS.get(letter, "?")


_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_POWERS = re.compile(f"[{_RAISED}]+")


def _power(match: re.Match[str]) -> str:
    """`"^12"`: as a number by itself, 10¹² would be 1012."""
    return "^" + "".join(str(_RAISED.index(digit)) for digit in match[0])


codecs.register_error(ALIKE, substitute)
