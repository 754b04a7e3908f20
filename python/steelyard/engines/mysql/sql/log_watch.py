"""Reads where a server's log is: its end, and how far back its last checkpoint lies."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steelyard.engines.capabilities.checkpoints import WalCounters
from steelyard.engines.mysql.builds.build import MARIADB
from steelyard.engines.mysql.sql.session import connect, rows_of, words_of
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import EngineError
from steelyard.model.turn import Checkpoint

if TYPE_CHECKING:
    from pymysql.connections import Connection

_END, _CHECKPOINT = "innodb_lsn_current", "innodb_lsn_last_checkpoint"
_VARIABLES = f"SHOW GLOBAL STATUS WHERE Variable_name IN ('{_END}', '{_CHECKPOINT}')"
_REPORT = re.compile(r"(Log sequence number|Last checkpoint at)\s+(\d+)")
_NAMES = {"Log sequence number": _END, "Last checkpoint at": _CHECKPOINT}


class LogWatch:
    """A connection that reads the log's positions; implements CheckpointWatch."""

    def __init__(self, address: Endpoint, kind: str) -> None:
        """EngineError: it takes no connection."""
        import pymysql

        self._kind = kind
        try:
            self._connection = connect(address)
        except pymysql.MySQLError as error:
            raise EngineError(
                "could not connect to the server to watch its log", detail=words_of(error)
            ) from error

    @property
    def seen(self) -> tuple[Checkpoint, ...]:
        """None: InnoDB checkpoints all the time, and none begins or ends."""
        return ()

    def pulse(self) -> WalCounters | None:
        """The positions now; None when the server died. It logs no images of pages."""
        import pymysql

        try:
            positions = _positions(self._connection, self._kind)
        except (pymysql.OperationalError, pymysql.InterfaceError):
            return None
        end = positions[_END]
        return WalCounters(wal_bytes=end, images=math.nan, owed_bytes=end - positions[_CHECKPOINT])

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        if self._connection.open:
            self._connection.close()


def _positions(connection: Connection[Any], kind: str) -> Mapping[str, float]:
    if kind == MARIADB:
        rows = rows_of(connection, _VARIABLES)
        return {str(name).lower(): float(value) for name, value in rows}
    [(_, _, report)] = rows_of(connection, "SHOW ENGINE INNODB STATUS")
    return {_NAMES[name]: float(value) for name, value in _REPORT.findall(report)}
