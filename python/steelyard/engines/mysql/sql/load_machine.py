"""Ends the sessions that a lost load machine has left on MySQL or MariaDB."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from steelyard.engines.mysql.sql.session import connected, rows_of
from steelyard.model.endpoint import Endpoint


def end_sessions(endpoint: Endpoint, sessions: Sequence[int]) -> int:
    """Kill those of the sessions that are still there; how many there were. ServerError: the server
    could not be asked.

    A server never gives a connection's number to another one while it runs; after a restart one of
    the same user may have it. SHOW PROCESSLIST shows every user its own sessions.
    """
    import pymysql

    ended = 0
    with connected(endpoint) as connection:
        [(own,)] = rows_of(connection, "SELECT SUBSTRING_INDEX(USER(), '@', 1)")
        for number, user, *_ in rows_of(connection, "SHOW PROCESSLIST"):
            if int(number) in sessions and user == own:
                ended += 1
                # Gone meanwhile, or refused: whoever asks again sees which.
                with suppress(pymysql.MySQLError), connection.cursor() as cursor:
                    cursor.execute(f"KILL {int(number)}")
    return ended
