"""Starts, watches and ends the processes of guarded connections; an idle one is used again."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from steelyard.engines.postgres.guarded.frames import (
    HEAD,
    MOST_BYTES,
    packed,
    packed_json,
    unpacked,
)
from steelyard.model.errors import EngineError

RESIDENT_BYTES = 176 << 20
"""Memory that a process may use: it begins with 50 MB."""
_LOOK_S = 0.05
_KILLED_S = 1.0
"""How long a process may take to cancel its statement before it is killed."""
_BUSY_S = 2.0
_MOST_IDLE = 2
_MODULE = "steelyard.engines.postgres.guarded.process"


class ProcessLostError(Exception):
    """The process ended: its exit status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class LimitError(EngineError):
    """A server kept a guarded connection beyond a limit. Not a ServerError: what a server does not
    offer is left out, and this must not be."""


class WatchedProcess:
    """One process, that holds one connection at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", _MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            # Every arena of glibc reserves 64 MB of the address space that it may use.
            env={**os.environ, "MALLOC_ARENA_MAX": "1"},
            process_group=0,  # Ctrl-C of a terminal reaches us, and we end it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout

    def request(self, request: dict[str, Any], limit_s: float | None) -> dict[str, Any]:
        """The answer to a request. LimitError: it takes too long, or too much memory; it is killed
        then. ProcessLostError: it has ended."""
        # Beyond our own limit, for the case that we have ended ourselves.
        own_s = None if limit_s is None else limit_s + 2
        self.send_request({**request, "limit_s": own_s})
        return self.answer(limit_s)

    def send_request(self, request: dict[str, Any]) -> None:
        """Write a request, whose answer is read later."""
        self.send(packed_json(request))

    def send(self, message: bytes) -> None:
        """Write a message, as fast as it is taken. ProcessLostError."""
        view = memoryview(message)
        try:
            while view:
                view = view[os.write(self._requests.fileno(), view) :]
        except BrokenPipeError:
            raise ProcessLostError(self.kill()) from None
        except BaseException:
            self._cancel_and_kill()
            raise

    def send_piece(self, kind: bytes, body: bytes) -> None:
        """Write a piece of COPY data, or its end."""
        self.send(packed(kind, body))

    def answer(self, limit_s: float | None) -> dict[str, Any]:
        """The next answer, as of `request`."""
        try:
            until = None if limit_s is None else time.monotonic() + limit_s
            head = self._read(HEAD.size, until, limit_s)
            _, length = HEAD.unpack(head)
            if length > MOST_BYTES:
                raise LimitError(f"an answer of more than {MOST_BYTES >> 20} MB")
            answer = unpacked(self._read(length, until, limit_s))
        except ProcessLostError:
            raise
        except LimitError:
            self.kill()
            raise
        except BaseException:  # Ctrl-C: the server is to give up the statement too
            self._cancel_and_kill()
            raise
        assert isinstance(answer, dict)
        return answer

    def _read(self, length: int, until: float | None, limit_s: float | None) -> bytes:
        pieces, left = [], length
        while left:
            ready, _, _ = select.select([self._answers], [], [], _LOOK_S)
            if ready:
                piece = os.read(self._answers.fileno(), min(left, 1 << 20))
                if not piece:
                    raise ProcessLostError(self.kill())
                pieces.append(piece)
                left -= len(piece)
            elif until is not None and time.monotonic() > until:
                raise LimitError(f"no answer within {limit_s:g} s", detail=self._processor())
            elif self._resident_bytes() > RESIDENT_BYTES:
                raise LimitError("more data than a control connection takes")
        return b"".join(pieces)

    def _processor(self) -> str | None:
        """Whether it computes rather than waits."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return None
        user, system = stat.rpartition(")")[2].split()[11:13]  # proc(5): fields 14 and 15
        spent_s = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        return f"{spent_s:.0f} s of processor time were spent on it" if spent_s >= _BUSY_S else None

    def _resident_bytes(self) -> int:
        try:
            pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="utf-8").split()
        except OSError:
            return 0
        return int(pages[1]) * resource.getpagesize() if len(pages) > 1 else 0

    def interrupt(self) -> None:
        """Let it cancel its statement; called from any thread."""
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGINT)

    def kill(self) -> int:
        """End it now; its exit status, negative for a signal. Safe to call twice."""
        if self._process.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.1)  # its pipe closes a moment before its status is there
            self._process.kill()
        status = self._process.wait()
        self._requests.close()
        self._answers.close()
        return status

    def _cancel_and_kill(self) -> None:
        self.interrupt()
        ready = select.select([self._answers], [], [], _KILLED_S)[0]
        if ready:  # it has answered, or ended
            os.read(self._answers.fileno(), 1)
        self.kill()

    @property
    def usable(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None


class IdleProcesses:
    """Those that wait for work; at most two."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[WatchedProcess] = []

    def take(self) -> WatchedProcess:
        """An idle one, or a new one."""
        with self._lock:
            while self._idle:
                process = self._idle.pop()
                if process.usable:
                    return process
                process.kill()
        return WatchedProcess()

    def give_back(self, process: WatchedProcess) -> None:
        """For the next connection, or its end."""
        with self._lock:
            if process.usable and len(self._idle) < _MOST_IDLE:
                self._idle.append(process)
                return
        process.kill()


IDLE = IdleProcesses()
