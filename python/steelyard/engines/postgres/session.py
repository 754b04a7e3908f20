"""Asks a running server about itself through a control connection."""

from __future__ import annotations

from steelyard.engines.engine import Address
from steelyard.errors import ServerError

_SETTINGS = "SELECT name, setting, unit FROM pg_catalog.pg_settings ORDER BY name"


def read_settings(address: Address) -> dict[str, str]:
    """Every setting by name, its unit behind the value; ServerError when it cannot be asked."""
    import psycopg  # not everything that finds an engine connects to one

    try:
        # An empty "options" keeps PGOPTIONS of the caller out of the session.
        with psycopg.connect(address.conninfo(), options="", autocommit=True) as connection:
            rows = connection.execute(_SETTINGS).fetchall()
    except psycopg.Error as error:
        raise ServerError(
            f'could not read the settings of the server at "{address.host}"',
            detail=str(error).strip(),
        ) from error
    return {name: f"{value} {unit}" if unit else value for name, value, unit in rows}
