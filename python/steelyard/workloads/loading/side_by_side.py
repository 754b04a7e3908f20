"""Does several pieces of a load at once, each on a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import ServerError
from steelyard.workloads.loading.database import connected

if TYPE_CHECKING:
    import psycopg

Piece = Callable[["psycopg.Connection"], None]


_AGAIN_S = 0.2
"""Between two calls to halt: a piece may have been between two statements."""
_CANCEL_S = 5.0
"""How long a server may take to accept that a statement is to be cancelled."""


class Halted(Exception):  # noqa: N818 - it is no error: another piece has the error
    """Another piece failed, or whoever waits for them was interrupted."""


class Halt:
    """Asked between two steps of a piece whether it is to stop; a step under way is cancelled."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._working: set[psycopg.Connection] = set()

    @contextmanager
    def over(self, connection: psycopg.Connection) -> Iterator[None]:
        """What this connection does meanwhile can be cancelled; Halted where it was."""
        with self._lock:
            self._working.add(connection)
        import psycopg

        try:
            yield
        except (ServerError, psycopg.Error) as error:
            if self._event.is_set():
                raise Halted from error
            raise
        finally:
            with self._lock:
                self._working.discard(connection)

    def call(self) -> None:
        """Every piece is to stop. Called again it cancels what has begun meanwhile."""
        self._event.set()
        with self._lock:
            for connection in self._working:
                with suppress(connection.Error):
                    connection.cancel_safe(timeout=_CANCEL_S)

    def check(self) -> None:
        """Halted, where it was called."""
        if self._event.is_set():
            raise Halted


def side_by_side(address: Endpoint, pieces: Sequence[Piece], at_once: int, halt: Halt) -> None:
    """Do the pieces in order, `at_once` at a time; the first failure halts the others."""

    def do(piece: Piece) -> None:
        halt.check()
        with connected(address) as connection, halt.over(connection):
            piece(connection)

    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        futures = [pool.submit(do, piece) for piece in pieces]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            if any(not f.done() or f.exception() is not None for f in futures):
                halt.call()
            while wait(futures, timeout=_AGAIN_S).not_done:
                halt.call()
    failures = [error for future in futures if (error := future.exception()) is not None]
    for failure in sorted(failures, key=lambda error: isinstance(error, Halted)):
        raise failure
