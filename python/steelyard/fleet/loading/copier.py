"""Names what a machine does for a load, and does it: sessions to the server, shares copied."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Protocol

from steelyard.engines.access.load_machine import own_password
from steelyard.engines.access.row_share import RowShare, copy_share
from steelyard.engines.adapters import workload_database
from steelyard.engines.loading import Loader
from steelyard.fleet.crowd.member import MachineFacts
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, ServerError


class Copier(Protocol):
    """One machine of a load, seen from the coordinator. Every call waits for its answer, and raises
    LostError where the machine is gone, DriverError where it says an error."""

    @property
    def name(self) -> str:
        """Unlike that of every other machine."""

    @property
    def facts(self) -> MachineFacts:
        """What was found when it joined."""

    def connect_to(self, target: Endpoint, sessions: int) -> tuple[int, ...]:
        """Open so many connections to the loaded database of a server, with the machine's own
        password; the numbers by which the server knows them."""

    def copy(self, share: RowShare, session: int) -> int:
        """Make a share and copy it over one of them; its rows. Several at a time, each over a
        session of its own."""

    def disconnect(self) -> None:
        """Close the connections, which rolls back what was begun; safe to call twice, and of a
        machine that is gone."""


class Sessions:
    """The connections of one machine to the loaded database."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._loaders: list[Loader] = []

    def connect_to(self, target: Endpoint, sessions: int) -> tuple[int, ...]:
        """See Copier; ServerError: the server's words."""
        self.disconnect()
        database = workload_database(replace(target, password=own_password(target)))
        self._loaders = [self._open.enter_context(database.loader()) for _ in range(sessions)]
        return tuple(one.session for one in self._loaders)

    def copy(self, share: RowShare, session: int) -> int:
        """See Copier; ServerError: the server's words."""
        if not self._loaders:
            raise DriverError("the machine is not connected to the server")
        return copy_share(self._loaders[session], share)

    def disconnect(self) -> None:
        """See Copier: what is under way is cancelled."""
        loaders, self._loaders = self._loaders, []
        for loader in loaders:
            loader.cancel()
        with suppress(ServerError):  # a session that the server has ended is closed already
            self._open.close()
