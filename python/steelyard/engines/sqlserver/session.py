"""Opens control connections to SQL Server; the load itself goes through the driver."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from steelyard import _core
from steelyard.engines.defer_signals import interruptible
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, ServerError

ANSWER_S = 30.0
"""Of what the server is asked about itself."""
Row = tuple[str | None, ...]
"""Values as the server prints them; None: NULL."""
_NUMBERED = re.compile(r"\((\d+)\)$")
"""How the wire names an error of the server: its words, then its number."""


@dataclass(frozen=True)
class Result:
    """What one statement returned."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


class RefusedError(ServerError):
    """The server did not do what a text asked for, or is gone; `number` is that of its error,
    None where the connection was lost."""

    def __init__(self, primary: str, *, detail: str | None, number: int | None) -> None:
        super().__init__(primary, detail=detail)
        self.number = number


class Session:
    """A connection on which texts are executed one by one."""

    def __init__(self, wire: _core.SqlServerSession, what: str) -> None:
        self._wire, self._what = wire, what

    def execute(self, text: str) -> list[Result]:
        """The results of a text that have columns. RefusedError in the server's words."""
        try:
            results = self._wire.execute(text)
        except DriverError as error:
            raise _refused(self._what, error) from error
        return [
            Result(tuple(columns), tuple(tuple(row) for row in rows)) for columns, rows in results
        ]

    def rows(self, query: str) -> Sequence[Row]:
        """The rows of the last result of a text; RefusedError."""
        results = self.execute(query)
        return results[-1].rows if results else ()

    def cancel(self) -> None:
        """End what is executed with an error; called from another thread."""
        self._wire.cancel()

    def close(self) -> None:
        """Disconnect; safe to call twice."""
        self._wire.close()


def open_session(address: Endpoint) -> Session:
    """A control connection that stays open; RefusedError: there is none."""
    where = f'the server at "{address.host}"'
    what = f'database "{address.database}" of {where}' if address.database else where
    try:
        wire = interruptible(lambda: _core.SqlServerSession(json.dumps(_arm(address))))
    except DriverError as error:
        raise _refused(what, error) from error
    return Session(wire, what)


@contextmanager
def connected(address: Endpoint, *, within_s: float | None = None) -> Iterator[Session]:
    """A control connection; RefusedError: there is none. `within_s`: the time for all that is done
    on it, after which a ServerError says so; None: as long as it takes."""
    session = open_session(address)
    late = threading.Event()

    def end() -> None:
        late.set()
        session.cancel()

    timer = None if within_s is None else threading.Timer(within_s, end)
    try:
        if timer is not None:
            timer.start()
        yield session
    except RefusedError as error:
        if not late.is_set():
            raise
        raise ServerError(
            f'could not work on the server at "{address.host}": no answer within {within_s:g} s'
        ) from error
    finally:
        if timer is not None:
            timer.cancel()
        session.close()


def bracketed(name: str) -> str:
    """A name as an identifier of T-SQL."""
    return "[" + name.replace("]", "]]") + "]"


def literal(text: str) -> str:
    """A text as a literal of T-SQL."""
    return "N'" + text.replace("'", "''") + "'"


def _arm(address: Endpoint) -> dict[str, object]:
    """The address as the driver reads that of an arm."""
    return {
        "name": "control",
        "host": address.host,
        "port": address.port,
        "user": address.user,
        "database": address.database,
        "password": address.password.reveal() if address.password else "",
        "tls": None if address.tls is None else asdict(address.tls),
        "connect_timeout_ns": address.connect_timeout_ns,
        "clients": 1,
    }


def _refused(what: str, error: DriverError) -> RefusedError:
    reason = error.detail or error.primary
    message = error.primary if error.detail is None else f"{error.primary}: {error.detail}"
    numbered = _NUMBERED.search(reason) or _NUMBERED.search(error.primary)
    number = int(numbered[1]) if numbered else None
    return RefusedError(f"could not work on {what}", detail=message, number=number)
