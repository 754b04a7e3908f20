"""Executes the statements of a dump in one session, with bounded memory, over libpq.

libpq speaks to the server and does nothing else: there is no command of psql in this way, so
nothing that stands in a dump can start a program with the rights of the caller. It is called
without blocking, so that signals are obeyed while a statement is under way.
"""

from __future__ import annotations

import array
import fcntl
import re
import resource
import select
import termios
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

LONGEST_ANSWER_BYTES = 8 << 20
_BULK_BYTES = 8 << 10
"""Waiting at once: a statement of a dump is answered with less."""
"""A dump asks for nothing: its queries set sequences and settings, and answer in a few bytes. What
libpq reads beside our count of it shows in memory."""
_MOST_MEMORY_BYTES = 32 << 20
_STEP_BYTES = 1 << 16
_CHUNK_BYTES = 1 << 18


class StatementError(Exception):
    """The server refused a statement."""

    def __init__(self, sqlstate: str, primary: str, detail: str | None, hint: str | None) -> None:
        super().__init__(primary)
        self.sqlstate = sqlstate
        self.primary = primary
        self.detail = detail
        self.hint = hint


class DumpSession:
    """A session that a dump is restored in."""

    def __init__(self, connection: PGconn) -> None:
        self._connection = connection
        connection.nonblocking = 1
        connection.notice_handler = None
        self._length = 0  # of the answer to the statement under way
        self._next_look = _STEP_BYTES  # at memory, by that length
        self._resident = 0  # at the first look

    @property
    def standard_strings(self) -> bool:
        """Whether a backslash in a literal is one."""
        return self._parameter(b"standard_conforming_strings") != "off"

    @property
    def client_encoding(self) -> str:
        """What the server takes the dump's bytes for."""
        return self._parameter(b"client_encoding")

    @property
    def in_transaction(self) -> bool:
        """Whether the dump has begun a transaction."""
        from psycopg import pq

        return self._connection.transaction_status == pq.TransactionStatus.INTRANS

    @property
    def takes_statements(self) -> bool:
        """Whether no transaction is under way that an error has ended."""
        from psycopg import pq

        return self._connection.transaction_status != pq.TransactionStatus.INERROR

    def literal(self, text: bytes) -> bytes:
        """A text as SQL writes it, quoted."""
        from psycopg import pq

        return bytes(pq.Escaping(self._connection).escape_literal(text))

    def rows(self, text: bytes) -> list[tuple[bytes, ...]]:
        """What a query of ours answers, which is no part of the dump; NULL is empty."""
        self._send(text)
        rows: list[tuple[bytes, ...]] = []
        self._finish(rows)
        return rows

    def execute(self, text: bytes) -> None:
        """Execute a statement; what it answers is dropped. StatementError: it was refused;
        UsageError: its answer is too long."""
        self._send(text)
        self._finish()

    def copy(self, text: bytes, rows: Iterable[bytes]) -> None:
        """Execute a statement that reads rows, and give it rows. StatementError: it, or they, were
        refused."""
        from psycopg import pq

        self._send(text)
        answer = self._answer()
        if answer is None or answer.status != pq.ExecStatus.COPY_IN:
            self._require_success(answer)
            self._finish()
            return
        for chunk in rows:
            for start in range(0, len(chunk), _CHUNK_BYTES):
                self._connection.put_copy_data(chunk[start : start + _CHUNK_BYTES])
                self._flush()
        self._connection.put_copy_end()
        self._flush()
        self._finish()

    def _parameter(self, name: bytes) -> str:
        return (self._connection.parameter_status(name) or b"").decode()

    def _send(self, text: bytes) -> None:
        self._length, self._next_look, self._resident = 0, _STEP_BYTES, 0
        self._connection.send_query(text)
        self._connection.set_single_row_mode()
        self._flush()

    def _finish(self, rows: list[tuple[bytes, ...]] | None = None) -> None:
        """Take every answer of the statement, its rows where somebody wants them; the first error
        is raised after the last one."""
        from psycopg import pq

        error: StatementError | None = None
        while True:
            answer = self._answer()
            if answer is None:
                break
            if rows is not None and answer.status == pq.ExecStatus.SINGLE_TUPLE:
                columns = range(answer.nfields)
                rows.append(tuple(answer.get_value(0, column) or b"" for column in columns))
            if answer.status in (pq.ExecStatus.COPY_OUT, pq.ExecStatus.COPY_BOTH):
                raise UsageError("it copies rows to the client, which no dump does")
            if answer.status == pq.ExecStatus.COPY_IN:
                raise UsageError("it reads rows, and is no COPY … FROM stdin")
            try:
                self._require_success(answer)
            except StatementError as refused:
                error = error or refused
        if error is not None:
            raise error

    def _answer(self) -> PGresult | None:
        """The next result; None behind the last one."""
        from psycopg.pq import ExecStatus

        waiting = array.array("i", [0])
        while self._connection.is_busy():
            select.select([self._connection.socket], [], [])
            fcntl.ioctl(self._connection.socket, termios.FIONREAD, waiting)
            self._count(waiting[0])
            self._connection.consume_input()
        answer = self._connection.get_result()
        if answer is not None and answer.status == ExecStatus.SINGLE_TUPLE:
            # libpq reads more at once than waited when it was asked: a row is held to its size.
            self._count(sum(len(answer.get_value(0, n) or b"") for n in range(answer.nfields)))
        return answer

    def _count(self, received: int) -> None:
        """UsageError: the answer to this statement is too long."""
        self._length += received
        grown = 0
        # libpq may read more than waited when it was asked: what comes in bulk shows in memory.
        if self._length >= self._next_look or received >= _BULK_BYTES:
            self._next_look = self._length + _STEP_BYTES
            resident = _resident_bytes()
            self._resident = self._resident or resident
            grown = resident - self._resident
        if self._length > LONGEST_ANSWER_BYTES or grown > _MOST_MEMORY_BYTES:
            raise UsageError(
                f"its answer is longer than {LONGEST_ANSWER_BYTES >> 20} MB",
                detail="Rows, messages and notices count.",
            )

    def _flush(self) -> None:
        while self._connection.flush():
            socket = self._connection.socket
            readable, _, _ = select.select([socket], [socket], [])
            if readable:
                self._connection.consume_input()

    def _require_success(self, answer: PGresult | None) -> None:
        from psycopg import pq

        if answer is None or answer.status not in (
            pq.ExecStatus.FATAL_ERROR,
            pq.ExecStatus.BAD_RESPONSE,
        ):
            return
        field = pq.DiagnosticField
        state, primary, detail, hint = (
            (answer.error_field(kind) or b"").decode(errors="replace")
            for kind in (
                field.SQLSTATE,
                field.MESSAGE_PRIMARY,
                field.MESSAGE_DETAIL,
                field.MESSAGE_HINT,
            )
        )
        lost = re.sub(r"\s+", " ", self._connection.error_message.decode(errors="replace")).strip()
        raise StatementError(state, primary or lost, detail or None, hint or None)


def _resident_bytes() -> int:
    """Memory of this process, as proc(5) has it in pages."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
