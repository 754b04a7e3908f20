"""Says what standbys an arm has, and refuses what they cannot be weighed with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, Protocol

from pydantic import Field, model_validator

from steelyard.model.units import format_duration
from steelyard.study.values import Nanoseconds, StudyModel

MOST_ROUND_TRIP_NS = 1_000_000_000
_WAITED_FOR = ("remote_write", "remote_apply")
_NAMES = "synchronous_standby_names"
_NEVER_WAITS = frozenset({"local", "off", "false", "no", "0"})
_SENDERS = ("max_wal_senders", "max_replication_slots")
_TOKEN = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^\s,()"]+)|([,()]))')
"""Of synchronous_standby_names: a name in quotes, a bare word, a mark (syncrep_scanner.l)."""
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
    def pooler(self) -> object: ...
    @property
    def wal_directory(self) -> str | None: ...
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
        elif study.engine == "postgres":
            _require_no_waiting(study, arm)


def _settings(study: ReplicatedStudy, arm: ReplicatedArm) -> dict[str, str]:
    settings = {**study.settings, **arm.settings}
    return {key.lower(): value.strip().lower() for key, value in settings.items()}


def _require_no_waiting(study: ReplicatedStudy, arm: ReplicatedArm) -> None:
    """ValueError where every commit of an arm without standbys would wait for one, for ever."""
    settings = _settings(study, arm)
    waits = settings.get("synchronous_commit", "on") not in _NEVER_WAITS
    if waits and settings.get(_NAMES):
        raise ValueError(
            f'arm "{arm.name or arm.role}": {_NAMES} has every commit wait for a standby, and the '
            "arm has none: give it some (replication.standbys = 1), or leave that setting out"
        )


def waited_for(names: str) -> tuple[int, tuple[str, ...]] | None:
    """Of how many a commit waits, and of which names, by a synchronous_standby_names; None: it is
    empty, or no server would take it. Source: syncrep_gram.y."""
    words: list[str] = []
    position, text = 0, names.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        words.append(match[3] or match[2] or f'"{match[1]}')
        position = match.end()
    method = words[0].lower() if words else ""
    if method in ("any", "first"):
        words = words[1:]
    needed = 1
    if len(words) > 2 and words[0].isdecimal() and words[1] == "(" and words[-1] == ")":
        needed, words = int(words[0]), words[2:-1]
    elif method in ("any", "first"):
        return None
    listed, commas = words[::2], words[1::2]
    if not listed or any(word in ",()" for word in listed) or {*commas} - {","}:
        return None
    every = (word[1:].replace('""', '"') if word[0] == '"' else word for word in listed)
    return (needed, tuple(name.lower() for name in every)) if len(words) % 2 else None


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
    if arm.wal_directory is not None:
        raise ValueError(
            f'arm "{name}" has "replication": its standbys are copies of its files, which have no '
            'log elsewhere: leave out "wal_directory", or name a place for all of its files, '
            '"directory"'
        )
    if replication.reads == "standby" and (arm.connect != "socket" or arm.pooler is not None):
        raise ValueError(
            f'arm "{name}": reads = "standby" needs connect = "socket", and no pooler: that '
            "stands in front of the primary"
        )
    lower = _settings(study, arm)
    for key, value in _SHIPS_NOTHING.items():
        if lower.get(key) == value:
            raise ValueError(f'arm "{name}": with {key} = {value} no standby gets any log')
    for key in _SENDERS:
        if lower.get(key, "") in {str(few) for few in range(replication.standbys)}:
            raise ValueError(
                f'arm "{name}": {key} = {lower[key]} is too few for {replication.standbys} standbys'
            )
    waits, names = lower.get("synchronous_commit", "on"), lower.get(_NAMES)
    nothing = "quorum = 0" if names is None else f"{_NAMES} = ''"
    if waits in _WAITED_FOR and not (replication.quorum if names is None else names):
        raise ValueError(
            f'arm "{name}": synchronous_commit = {waits} waits for no standby with {nothing}: it '
            "would be local"
        )
    _require_named(name, names or "", replication)


def _require_named(arm: str, names: str, replication: Replication) -> None:
    """ValueError where commits would wait for more standbys than are there by these names."""
    waited, own = waited_for(names), [f"standby{n + 1}" for n in range(replication.standbys)]
    if waited is None:
        return  # nothing, or what the server refuses by itself
    needed, listed = waited
    there = own if "*" in listed else [name for name in own if name in listed]
    if needed > len(there):
        raise ValueError(
            f'arm "{arm}": {_NAMES} = {names} waits for {needed} standbys, and names {len(there)} '
            f"of the arm's: they are called {', '.join(own)}"
        )
