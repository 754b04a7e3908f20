"""Does several pieces of a load at once, each on a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from steelyard.engines.engine import Address
from steelyard.workloads.database import connected

if TYPE_CHECKING:
    import psycopg

Piece = Callable[["psycopg.Connection"], None]


class Halted(Exception):  # noqa: N818 - it is no error: another piece has the error
    """Another piece failed, or whoever waits for them was interrupted."""


class Halt:
    """Asked between two steps of a piece: whether it is to stop."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def call(self) -> None:
        """Every piece is to stop."""
        self._event.set()

    def check(self) -> None:
        """Halted, where it was called."""
        if self._event.is_set():
            raise Halted


def side_by_side(address: Address, pieces: Sequence[Piece], at_once: int, halt: Halt) -> None:
    """Do the pieces in order, `at_once` at a time; the first failure halts the others."""

    def do(piece: Piece) -> None:
        halt.check()
        with connected(address) as connection:
            piece(connection)

    with ThreadPoolExecutor(max_workers=max(1, at_once)) as pool:
        futures = [pool.submit(do, piece) for piece in pieces]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            halt_needed = any(not f.done() or f.exception() is not None for f in futures)
            if halt_needed:
                halt.call()
        wait(futures)
    failures = [error for future in futures if (error := future.exception()) is not None]
    for failure in sorted(failures, key=lambda error: isinstance(error, Halted)):
        raise failure
