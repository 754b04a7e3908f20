"""Says what a study of running servers may hold: arms that are sessions, nothing of our own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from steelyard.study.arm import Arm
from steelyard.study.secrets import holds_password

HOUSED = frozenset({"sqlserver"})
"""Kinds of server at whose address arms are databases that are made there for the weighing, and
not sessions: their settings are those of a database, and they pay their own debt."""
IN_TURNS = frozenset({"postgres"})
"""Kinds of server whose checkpoints can be seen and spaced, so that `layout = "auto"` weighs what
acts through them over whole cycles; one that another package brings, where the study says so."""
IN_CYCLES = frozenset({"postgres"})
"""Of these, kinds whose servers can stand still and be brought into their own time."""
LOG_APART = frozenset({"postgres"})
"""Kinds of server whose write-ahead log can be in a directory of its own by a link."""
WHOLE_CYCLES = frozenset({"turns", "cycles"})
"""Layouts that measure whole checkpoint cycles: of servers that we start, and cut by time."""
_OURS = {
    "source": "data is taken in only by servers that we start",
    "sql": "nothing is written into a server that is not ours",
    "needs": "what a server can do is its own matter",
    "memory": "only servers that we start can be held to it",
    "disk": "only servers that we start can be held to it",
    "statement_counters": "nothing is installed in a server that is not ours",
    "contrib": "nothing is installed in a server that is not ours",
    "archive": "the files of its log are not ours to read",
}
"""Keys of a study that need a server that we start, and why."""


class LoadOfStudy(Protocol):
    """What these rules read of the workload of a study."""

    @property
    def machines(self) -> int:
        """Load machines that the clients are dealt over."""


class AddressedStudy(Protocol):
    """What these rules read of a study."""

    @property
    def address(self) -> str | None:
        """Of a running server, common to all arms."""

    @property
    def every_arm(self) -> Sequence[Arm]:
        """The control, then the arms."""

    @property
    def workload(self) -> LoadOfStudy:
        """What loads the arms."""

    @property
    def layout(self) -> str:
        """How the arms take turns."""

    @property
    def cost(self) -> str:
        """Which of its cost an arm is held to."""


def require_reachable(study: AddressedStudy, *, own_databases: bool) -> None:
    """ValueError where a study of running servers asks for what only our own servers can do; with
    `own_databases` its arms are databases that are made at the address."""
    addresses = [study.address, *(arm.address for arm in study.every_arm)]
    if not any(addresses):
        if study.workload.machines > 1:
            raise ValueError(
                "workload.machines: several load machines reach arms at addresses only, and not "
                "the servers that are started on this one"
            )
        return
    if own_databases and any(addresses[1:]):
        raise ValueError(
            "arms are databases of one server here: give one address, and none to an arm"
        )
    if own_databases and study.workload.machines > 1:
        raise ValueError("workload.machines: SQL Server is loaded by this machine alone")
    if study.address is None and None in addresses[1:]:
        raise ValueError("every arm needs an address, or the study one for all of them")
    if any(holds_password(address) for address in addresses if address):
        raise ValueError(
            "an address says a password, which would stand in the record: leave it to PGPASSWORD, "
            "SQLCMDPASSWORD, a password file or a service file"
        )
    for key, why in _OURS.items():
        if getattr(study, key):
            raise ValueError(f'"{key}" does not go with an address: {why}')
    cycles = study.layout in WHOLE_CYCLES
    if cycles or (study.cost == "whole" and not own_databases):
        key = f'layout = "{study.layout}"' if cycles else 'cost = "whole"'
        raise ValueError(
            f"{key} needs servers that we start and stop: an address is weighed as it is"
        )
    for arm in study.every_arm:
        wrong = {
            "bindir": arm.bindir,
            "profile": arm.profile,
            "sql": arm.sql,
            "connect": arm.connect != "socket",
            "directory": arm.directory,
            "wal_directory": arm.wal_directory,
            "pooler": arm.pooler,
            "replication": arm.replication,
            "checksums": not arm.checksums,
            "weight.background": arm.weight.background,
        }
        refused = [key for key, present in wrong.items() if present]
        if refused:
            raise ValueError(
                f'arm "{arm.name or arm.role}" has "{refused[0]}", which needs a server that we '
                "start: at an address an arm has settings of its sessions, a role, a database"
            )


def require_archivable(engine: str) -> None:
    """ValueError: the log of such servers is not in files that an archive keeps one by one."""
    if engine not in LOG_APART:
        raise ValueError(f'"archive" needs servers of PostgreSQL, not of {engine}')
