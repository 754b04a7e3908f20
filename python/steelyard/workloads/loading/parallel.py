"""Runs several pieces of a load in parallel, each on a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager

from steelyard.engines.loading import Loader, WorkloadDatabase
from steelyard.model.errors import ServerError

Piece = Callable[[Loader], None]

_AGAIN_S = 0.2
"""Between two calls to halt: a piece may have been between two statements."""


class Halted(Exception):  # noqa: N818 - it is no error: another piece has the error
    """Another piece failed, or the load was interrupted."""


class Halt:
    """Tells the pieces of a load to stop, and cancels the statements they are executing."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._working: set[Loader] = set()

    @contextmanager
    def connected(self, database: WorkloadDatabase) -> Iterator[Loader]:
        """A connection whose statements can be cancelled; Halted where they were."""
        try:
            with database.loader() as loader, self._cancellable(loader):
                yield loader
        except ServerError as error:
            if self._event.is_set():
                raise Halted from error
            raise

    @contextmanager
    def _cancellable(self, loader: Loader) -> Iterator[None]:
        with self._lock:
            self._working.add(loader)
        try:
            yield
        finally:
            with self._lock:
                self._working.discard(loader)

    def call(self) -> None:
        """Every piece is to stop. Called again it cancels what has begun meanwhile."""
        self._event.set()
        with self._lock:
            for loader in self._working:
                loader.cancel()

    def check(self) -> None:
        """Halted, where it was called: pieces check between two steps."""
        if self._event.is_set():
            raise Halted


def run_parallel(
    database: WorkloadDatabase, pieces: Sequence[Piece], at_once: int, halt: Halt
) -> None:
    """Run the pieces in order, `at_once` at a time; the first failure halts the others."""

    def run(piece: Piece) -> None:
        halt.check()
        with halt.connected(database) as loader:
            piece(loader)

    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        futures = [pool.submit(run, piece) for piece in pieces]
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
