"""Requests to the load driver: a plan, then slices."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from steelyard.model.endpoint import MYSQL, POSTGRES, Endpoint
from steelyard.model.errors import UsageError

QueryMode = Literal["simple", "extended", "prepared"]
Variable = str | int | float | bool | None
AbortRule = Literal["never", "lost", "failed"]
"""What ends a slice early: nothing, a lost connection, or also an error that is no serialization
failure and no deadlock."""


_CAPTURES = re.compile(r"\\[ga]set", re.IGNORECASE)
_UTF8_NAMES = ("utf8", "unicode")
_BIGINT = range(-(2**63), 2**63)


def is_utf8(encoding: str) -> bool:
    """Whether a server takes a name for UTF-8: it looks at letters and digits alone."""
    return "".join(filter(str.isalnum, encoding)).lower() in _UTF8_NAMES


def _exact(value: Variable) -> Variable:
    """A number that JSON would round to a double, or has no word for, as the text that it is: so
    `-D` gives it too."""
    if isinstance(value, int) and value not in _BIGINT:
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _is_ascii(value: object) -> bool:
    return not isinstance(value, str) or value.isascii()


@dataclass(frozen=True)
class DriveWeight:
    """A slowdown of known size: probabilities per transaction, and how long a stall sleeps."""

    double_work: float = 0.0
    stall: float = 0.0
    stall_ns: int = 0


NO_WEIGHT = DriveWeight()


@dataclass(frozen=True)
class DriveScript:
    """A script, its share of the transactions, and the rows that each must return in all."""

    name: str
    text: str
    weight: int = 1
    rows: int | None = None


_OF_EVERY_PROTOCOL = ("host", "port", "user", "database", "tls", "connect_timeout_ns")
"""Fields of an endpoint that are read with every protocol; the others are libpq's."""


@dataclass(frozen=True)
class DriveArm:
    """Where an arm listens and how many clients it gets."""

    name: str
    endpoint: Endpoint
    clients: int
    weight: DriveWeight = NO_WEIGHT
    session: tuple[str, ...] = ()
    """Statements that each of its sessions begins with, on MySQL and MariaDB."""

    def to_json(self) -> dict[str, Any]:
        """The arm as the driver reads it from a pipe, its password too: the endpoint's fields lie
        beside the arm's own."""
        arm = {"name": self.name, "clients": self.clients, "weight": asdict(self.weight)}
        endpoint = asdict(self.endpoint)
        password = None if self.endpoint.password is None else self.endpoint.password.reveal()
        if self.endpoint.protocol != POSTGRES:
            common = {key: endpoint[key] for key in _OF_EVERY_PROTOCOL}
            begins = {"session": list(self.session)} if self.endpoint.protocol == MYSQL else {}
            return arm | common | {"password": password or ""} | begins
        names = {attribute.name for attribute in fields(Endpoint)}  # an adapter's own may hold more
        names.remove("protocol")  # of the whole plan
        address = {key: word for key, word in endpoint.items() if key in names}
        address["settings"] = [list(setting) for setting in self.endpoint.settings]
        return arm | address | {"password": password}


@dataclass(frozen=True)
class DriveLog:
    """A log in pgbench's format: `path` for the first thread, `path`.1 … for the others."""

    path: str
    aggregate_s: int | None = None
    sampling: float | None = None
    failures_detailed: bool = False
    other_failures: bool = False
    """Totals have pgbench 19's column of other failures."""


@dataclass(frozen=True)
class Replay:
    """When transactions arrived that are to arrive so again."""

    arrivals: Sequence[tuple[int, int]]
    """In ns from the first one on, each with the number of its script."""
    round_ns: int
    """After how long they begin again."""


@dataclass(frozen=True)
class DrivePlan:
    """Everything that stays the same for all slices.

    Client k of every arm lives on thread k mod `threads`; thread i is pinned to
    `processors[i % n]`, or free when that is None. Equal seeds give equal keys, arm by arm.
    """

    arms: tuple[DriveArm, ...]
    scripts: tuple[DriveScript, ...]
    orders: tuple[tuple[int, ...], ...] = ()
    """Scripts by number, in the order in which client k goes through list k mod n; none: drawn."""
    replay: Replay | None = None
    """Arrivals of slices that say from where on they are repeated."""
    threads: int = 1
    processors: tuple[int, ...] | None = None
    seed: int = 0
    first_client: int = 0
    """The number of client 0 among those of all machines that put on the same load."""
    mode: QueryMode = "prepared"
    drain_cap_ns: int = 5_000_000_000
    variables: Mapping[str, Variable] = field(default_factory=dict)
    tables: Mapping[str, Sequence[Sequence[str | None]]] = field(default_factory=dict)
    """Rows that scripts draw from, by name; None: NULL."""
    max_tries: int = 1
    """Tries of a transaction that failed to serialize or was in a deadlock; 0: until the bell."""
    latency_limit_ns: int | None = None
    """Longer transactions are counted; arrivals that are later than this are skipped."""
    connect: bool = False
    """Every transaction has a connection of its own."""
    abort: AbortRule = "never"
    timed: bool = False
    """Every command is timed too."""
    log: DriveLog | None = None
    files: tuple[str, ...] = ()
    """Small files that are read before and after every slice."""

    def __post_init__(self) -> None:
        for arm in self.arms:
            self._require_sendable(dict(arm.endpoint.settings).get("client_encoding", "UTF8"))

    def _require_sendable(self, encoding: str) -> None:
        """UsageError: texts that sessions of another encoding would send or receive wrongly."""
        if is_utf8(encoding):
            return
        why = ""
        if any(not _is_ascii(text) for text in self._texts()):
            why = "the driver sends UTF-8, and its scripts or variables hold more than ASCII"
        elif any(_CAPTURES.search(script.text) for script in self.scripts):
            why = "\\gset and \\aset take values as UTF-8"
        if why:
            raise UsageError(
                f'cannot drive by client_encoding "{encoding}": {why}',
                hint="Leave client_encoding (PGCLIENTENCODING) out, or say UTF8.",
            )

    def _texts(self) -> Iterator[object]:
        for script in self.scripts:
            yield script.text
        yield from self.variables.values()
        for rows in self.tables.values():
            for row in rows:
                yield from row

    @property
    def protocol(self) -> str:
        """The protocol of all of its arms."""
        [protocol] = {arm.endpoint.protocol for arm in self.arms}
        return protocol

    def to_json(self) -> dict[str, Any]:
        """The plan as the driver reads it."""
        return {
            "threads": self.threads,
            "processors": None if self.processors is None else list(self.processors),
            "seed": self.seed,
            "mode": self.mode,
            "drain_cap_ns": self.drain_cap_ns,
            "scripts": [asdict(script) for script in self.scripts],
            "orders": [list(order) for order in self.orders],
            "variables": {name: _exact(value) for name, value in self.variables.items()},
            "tables": {name: [list(row) for row in rows] for name, rows in self.tables.items()},
            "arms": [arm.to_json() for arm in self.arms],
            "max_tries": self.max_tries,
            "latency_limit_ns": self.latency_limit_ns,
            "connect": self.connect,
            "timed": self.timed,
            "log": None if self.log is None else asdict(self.log),
            "files": list(self.files),
            "abort": self.abort,
        } | self._extras()

    def _extras(self) -> dict[str, Any]:
        """What few plans have."""
        extras: dict[str, Any] = {}
        if self.first_client:
            extras["first_client"] = self.first_client
        if self.replay is not None:
            arrivals = [list(arrival) for arrival in self.replay.arrivals]
            extras["replay"] = {"arrivals": arrivals, "round_ns": self.replay.round_ns}
        return extras


@dataclass(frozen=True)
class SliceRequest:
    """One arm (by number) under load: for `length_ns`, or until `count` executions have begun.

    `each` counts the executions of each client instead. With a length too, the bell rings then at
    the latest. With a `rate`, so many transactions a second arrive by a Poisson process.
    """

    arm: int
    length_ns: int | None = None
    count: int | None = None
    each: int | None = None
    rate: float | None = None
    from_ns: int | None = None
    """With recorded arrivals: so long after the first of them the slice begins."""
    progress_ns: int | None = None
    begin_ns: int | None = None
    """When its threads begin, on the CLOCK_MONOTONIC of the driver's machine; None: at once."""
    tag: Any = None

    def to_json(self) -> dict[str, Any]:
        """The slice as the driver reads it."""
        request = {key: value for key, value in asdict(self).items() if key != "tag"}
        return {
            **{key: value for key, value in request.items() if value is not None},
            "tag": self.tag,
        }
