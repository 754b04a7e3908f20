"""Asks a running server about itself through a control connection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from steelyard.engines.engine import Address, Default
from steelyard.model.errors import ServerError

_DEFAULTS = "SELECT name, boot_val, unit, context FROM pg_catalog.pg_settings"
_SETTINGS = "SELECT name, setting, unit FROM pg_catalog.pg_settings ORDER BY name"


def read_settings(address: Address) -> dict[str, str]:
    """Every setting by name, its unit behind the value; ServerError when it cannot be asked."""
    rows = _ask(address, _SETTINGS)
    return {name: f"{value} {unit}" if unit else value for name, value, unit in rows}


def read_defaults(address: Address) -> dict[str, Default]:
    """What the server assumes for every setting, by name; ServerError when it cannot be asked."""
    rows = _ask(address, _DEFAULTS)
    return {name: Default(value, unit or "", context) for name, value, unit, context in rows}


def _ask(address: Address, query: str) -> list[tuple[Any, ...]]:
    import psycopg  # not everything that finds an engine connects to one

    try:
        with _clean_environment(), psycopg.connect(address.conninfo(), autocommit=True) as session:
            return session.execute(query.encode()).fetchall()
    except psycopg.Error as error:
        raise ServerError(
            f'could not read the settings of the server at "{address.host}"',
            detail=str(error).strip(),
        ) from error


@contextmanager
def _clean_environment() -> Iterator[None]:
    """Without the caller's PG* variables: libpq makes session settings of PGTZ, PGOPTIONS, ..."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PG")}
    for name in kept:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(kept)
