"""Bounds what a server may send, and how long it may take: PyMySQL's timeouts are of one packet.

A server that sends a byte now and then, or rows without end, would be read for ever.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from pymysql import OperationalError
from pymysql.connections import Connection

if TYPE_CHECKING:
    _Connection = Connection[Any]
else:
    _Connection = Connection

MOST_BYTES = 16 << 20
"""Of an answer; its values take some ten times as much memory."""
MOST_PACKETS = 100_000
"""Of an answer, which has a packet for each row and column."""
_LOST = 2013
"""CR_SERVER_LOST."""


class BoundedConnection(_Connection):
    """A connection on which logging in takes `connect_timeout` at most, each answer
    `read_timeout` (the login too), and is no larger than MOST_BYTES and MOST_PACKETS."""

    _until: float | None = None
    _within_s: float | None = None
    _left_bytes = MOST_BYTES
    _left_reads = 2 * MOST_PACKETS
    _logged_in = False

    def connect(self, sock: Any = None) -> None:
        """Connect and authenticate; pymysql's errors."""
        wire: Any = self
        self._logged_in = False
        connect_s = float(wire.connect_timeout)
        self._begin(min(connect_s, wire._read_timeout or connect_s))
        super().connect(sock)
        self._logged_in = True

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        if self._logged_in:
            self._begin(self._read_timeout)  # type: ignore[attr-defined]
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _begin(self, within_s: float | None) -> None:
        self._within_s, self._left_bytes = within_s, MOST_BYTES
        self._left_reads = 2 * MOST_PACKETS  # its head and its body
        self._until = None if within_s is None else time.monotonic() + within_s

    def _read_bytes(self, num_bytes: int) -> bytes:
        wire: Any = self
        self._left_bytes -= num_bytes
        self._left_reads -= 1
        if self._left_bytes < 0 or self._left_reads < 0:
            most = f"{MOST_BYTES >> 20} MB" if self._left_bytes < 0 else f"{MOST_PACKETS} packets"
            wire._force_close()
            raise OperationalError(_LOST, f"the server sent more than {most} in one answer")
        pieces, left = [], num_bytes
        while left:
            piece = self._read_piece(wire, left)
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _read_piece(self, wire: Any, left: int) -> bytes:
        try:
            if self._until is not None:
                remaining_s = self._until - time.monotonic()
                if remaining_s <= 0:
                    raise TimeoutError
                wire._sock.settimeout(remaining_s)
            wire._current_timeout = -1.0  # no other one's
            piece: bytes = wire._rfile.read1(left)
        except TimeoutError:
            wire._force_close()
            raise OperationalError(
                _LOST, f"timed out: no answer within {self._within_s:g} s"
            ) from None
        except OSError as error:
            wire._force_close()
            raise OperationalError(
                _LOST, f"Lost connection to MySQL server during query ({error})"
            ) from error
        except BaseException:
            wire._force_close()
            raise
        if not piece:
            wire._force_close()
            raise OperationalError(_LOST, "Lost connection to MySQL server during query")
        return piece
