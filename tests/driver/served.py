"""The server that the tests of the driver drive, and how they ask it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import psycopg

from steelyard.driver.plan import NO_WEIGHT, DriveArm, DriveWeight
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.model.endpoint import Endpoint

PASSWORD = "a 'quoted' pässword"


@dataclass(frozen=True)
class Server:
    """A running server; its database postgres holds pgbench tables of scale 1."""

    address: Endpoint

    @property
    def conninfo(self) -> str:
        return conninfo_of(self.address)

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.conninfo, autocommit=True)

    def one(self, query: str) -> Any:
        with self.connect() as connection:
            row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]

    def arm(
        self,
        name: str = "arm",
        *,
        clients: int = 2,
        weight: DriveWeight = NO_WEIGHT,
        **changes: Any,
    ) -> DriveArm:
        """An arm at this server's Unix socket."""
        return DriveArm(name, replace(self.address, **changes), clients, weight)
