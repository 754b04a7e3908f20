"""Says what standbys an arm has, and refuses what they cannot be weighed with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, Protocol

from pydantic import Field, model_validator

from steelyard.model.units import format_duration
from steelyard.study.values import Nanoseconds, StudyModel

MOST_ROUND_TRIP_NS = 1_000_000_000
_WAITED_FOR = ("remote_write", "remote_apply")
_NAMES = "synchronous_standby_names"
_SHIPS_NOTHING: Mapping[str, str] = {"wal_level": "minimal", "max_wal_senders": "0"}


class Replication(StudyModel):
    """Standbys of an arm's server, which are started, held still and stopped with it."""

    standbys: Annotated[int, Field(ge=1, le=2)] = 1
    quorum: Annotated[int, Field(ge=0, le=2)] = 1
    """Of how many a commit waits for an answer, as far as synchronous_commit has it wait; 0: of
    none. In place of it the arm's settings may have synchronous_standby_names: they are called
    standby1 and standby2."""
    reads: Literal["primary", "standby"] = "primary"
    """Where the load's sessions go: to the first standby only where every script reads."""
    round_trip: Annotated[Nanoseconds, Field(ge=0)] = 0
    """Added between the primary and each standby."""

    @model_validator(mode="after")
    def _can_be(self) -> Replication:
        if self.quorum > self.standbys:
            raise ValueError(
                f"quorum = {self.quorum} waits for more than there are: standbys = {self.standbys}"
            )
        if self.round_trip > MOST_ROUND_TRIP_NS:
            raise ValueError("round_trip is 1s at most")
        if 0 < self.round_trip < 1000:
            raise ValueError(f"{self.round_trip} has no unit: {self.round_trip}ms")
        return self


class ReplicatedArm(Protocol):
    """What these rules read of an arm."""

    @property
    def name(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def connect(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, str]: ...
    @property
    def replication(self) -> Replication | None: ...


class ReplicatedStudy(Protocol):
    """What these rules read of a study."""

    @property
    def engine(self) -> str: ...
    @property
    def memory(self) -> int | None: ...
    @property
    def settings(self) -> Mapping[str, str]: ...
    @property
    def every_arm(self) -> Sequence[ReplicatedArm]: ...


def replication_words(replication: Replication | None) -> str:
    """`"2 standbys, a commit waits for 1, round trip 1 ms"`; `"none"`."""
    if replication is None:
        return "none"
    clauses = ["1 standby" if replication.standbys == 1 else f"{replication.standbys} standbys"]
    if replication.quorum:
        clauses.append(f"a commit waits for {replication.quorum}")
    if replication.round_trip:
        clauses.append(f"round trip {format_duration(replication.round_trip)}")
    if replication.reads == "standby":
        clauses.append("reads on the standby")
    return ", ".join(clauses)


def differing_settings(ours: Replication | None, theirs: Replication | None) -> Iterator[str]:
    """Names of settings that differ where arms have other standbys."""
    if (ours is None) != (theirs is None):
        yield "max_slot_wal_keep_size"
    if _waited_for(ours) != _waited_for(theirs):
        yield _NAMES


def _waited_for(replication: Replication | None) -> tuple[int, int]:
    if replication is None or not replication.quorum:
        return (0, 0)
    return (replication.standbys, replication.quorum)


def require_replicable(study: ReplicatedStudy) -> None:
    """ValueError where an arm's standbys cannot be had with what else the study says."""
    for arm in study.every_arm:
        if arm.replication is not None:
            _require_replicable(study, arm, arm.replication)


def _require_replicable(
    study: ReplicatedStudy, arm: ReplicatedArm, replication: Replication
) -> None:
    name = arm.name or arm.role
    if study.engine != "postgres":
        raise ValueError(f'arm "{name}" has "replication": PostgreSQL alone has standbys here')
    if study.memory is not None:
        raise ValueError(
            f'arm "{name}" has "replication": "memory" caps one server, and its standbys are others'
        )
    if replication.reads == "standby" and arm.connect != "socket":
        raise ValueError(f'arm "{name}": reads = "standby" needs connect = "socket"')
    settings = {**study.settings, **arm.settings}
    lower = {key.lower(): value.strip().lower() for key, value in settings.items()}
    for key, value in _SHIPS_NOTHING.items():
        if lower.get(key) == value:
            raise ValueError(f'arm "{name}": with {key} = {value} no standby gets any log')
    waits = lower.get("synchronous_commit", "on")
    if waits in _WAITED_FOR and not replication.quorum and not lower.get(_NAMES):
        raise ValueError(
            f'arm "{name}": synchronous_commit = {waits} waits for no standby with quorum = 0: it '
            "would be local"
        )
