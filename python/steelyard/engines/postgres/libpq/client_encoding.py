"""Opens control sessions that send and receive UTF-8, whatever their database is encoded in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg


def connect_in_utf8(conninfo: str, **words: Any) -> psycopg.Connection[Any]:
    """A connection in autocommit by psycopg, with its errors."""
    import psycopg

    session = psycopg.connect(conninfo, autocommit=True, **words)
    try:
        use_utf8(session)
    except BaseException:
        session.close()
        raise
    return session


def use_utf8(session: psycopg.Connection[Any]) -> None:
    """Let an open session send and receive UTF-8, as statements are written here.

    Where neither side names an encoding it is the database's. Of texts in SQL_ASCII psycopg makes
    bytes (types/string.py), and for EUC_TW it has no codec. Not by a word of the connection string:
    in pg_settings that would stand in place of the server's own value. psycopg's errors: the server
    cannot convert (MULE_INTERNAL).
    """
    from psycopg import errors, pq

    encoding = session.pgconn.parameter_status(b"client_encoding") or b"UTF8"
    if encoding.replace(b"-", b"").upper() == b"UTF8":
        return
    result = session.pgconn.exec_(b"SET client_encoding = 'UTF8'")  # a cursor wants a codec
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise errors.error_from_result(result)
