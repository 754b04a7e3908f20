"""Protocols of database engines: what every engine does, and not only some (`capabilities/`).

Each has one meaning and is tested by isinstance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:  # scrub needs a word of this file, and starts quickly
    from steelyard.engines.account import Account
    from steelyard.engines.capabilities.memory import MemoryCap
    from steelyard.engines.differences import SettingRules
    from steelyard.model.endpoint import Endpoint
    from steelyard.model.identity import Identity

Settings = Mapping[str, str]
"""Server settings by name, values as the server's configuration file has them, without quotes."""

UNPROTECTED = "none"
"""The page protection of an instance that verifies no pages; every engine's list ends with it."""


@dataclass(frozen=True)
class Slot:
    """A place an arm can be started in; everything but the treatment belongs to the slot."""

    number: int  # 0, 1, ...
    path: Path  # the directory that holds the data directory of this epoch's arm
    socket_directory: Path
    port: int
    start_order: int = 0  # redrawn every epoch
    memory: MemoryCap | None = None  # on its server, whichever arm's; None: none


class Instance(Protocol):
    """A database server that can be reached."""

    @property
    def identity(self) -> Identity: ...
    @property
    def running(self) -> bool: ...
    @property
    def address(self) -> Endpoint:
        """Its administrative database; EngineError before the first start."""


@runtime_checkable
class Restartable(Protocol):
    """Is started and stopped by us, in a slot; several are begun first and waited for then."""

    def launch(self, slot: Slot, settings: Settings) -> None:
        """Begin to start at the slot; `await_ready` reports whether it could."""

    def await_ready(self) -> None:
        """Wait until it accepts connections; ServerError quotes the log, nothing of it is left."""

    def start(self, slot: Slot, settings: Settings) -> None:
        """`launch` and `await_ready`."""

    def begin_stop(self) -> None:
        """Begin to stop, which `stop` waits for; nothing where it does not run."""

    def stop(self) -> None:
        """Stop with a clean shutdown checkpoint; nothing of it is left running."""


class LocalInstance(Instance, Restartable, Protocol):
    """A server of this machine that we start and stop."""


class Engine(Protocol):
    """A kind and build of database."""

    @property
    def identity(self) -> Identity: ...
    @property
    def protections(self) -> Sequence[str]:
        """Levels of page protection, the strongest first and UNPROTECTED last."""

    @property
    def setting_rules(self) -> SettingRules:
        """Which of its settings may differ between two servers without being declared."""

    def create(self, directory: Path, *, protection: str) -> LocalInstance:
        """Make a new cluster in `directory`: locale, encoding and protection always passed."""

    def open(self, directory: Path) -> LocalInstance:
        """The stopped cluster in `directory`."""


@runtime_checkable
class Loadable(Protocol):
    """An engine whose servers we load with data, under an account of this machine."""

    @property
    def account(self) -> Account: ...


class LoadableEngine(Engine, Loadable, Protocol):
    """An engine that templates can be made with."""


@dataclass(frozen=True)
class MissingFeature:
    """Something that a build was made without."""

    why: str  # "PostgreSQL 18.4 (bundle) was built without LLVM"
    how: str  # to get it


@runtime_checkable
class Abilities(Protocol):
    """An engine that can report what its build was made with."""

    def missing(self, need: str) -> MissingFeature | None:
        """What it lacks of a study's `needs`; None: it has that."""
