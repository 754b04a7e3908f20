"""Says which pooler an arm's clients come through, and refuses what one cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol

from pydantic import AfterValidator, Field, model_validator

from steelyard.study.values import StudyModel, by_name, unless_none

_ELSEWHERE = {
    "odyssey": "Odyssey",
    "pgcat": "PgCat",
    "pgdog": "PgDog",
    "pg_doorman": "pg_doorman",
    "pgagroal": "pgagroal",
    "supavisor": "Supavisor",
}
"""Poolers that no registry has which Steelyard was tried with."""
_KNOWN = "pgbouncer, pgpool"
_ALSO_CALLED = {"pgpool_ii": "pgpool", "pgpool2": "pgpool"}


def _whole_path(value: str | None) -> str | None:
    if value is not None and not value.startswith("/"):
        raise ValueError("a program is named by its whole path: /opt/pgbouncer/bin/pgbouncer")
    return value


class PoolerChoice(StudyModel):
    """A pooler in front of an arm's server, on the same machine."""

    name: Literal["pgbouncer", "pgpool"]
    program: Annotated[str | None, AfterValidator(_whole_path)] = None
    """Its whole path. None: where it is installed."""
    connections: Annotated[int, Field(ge=1, le=10_000)] = 16
    """Of PgBouncer to the server, which its clients share by transaction; pgpool-II has one for
    each client."""

    @model_validator(mode="after")
    def _shares_connections(self) -> PoolerChoice:
        usual = type(self).model_fields["connections"].default
        if self.name == "pgpool" and self.connections != usual:
            raise ValueError('pgpool has a connection for each client: leave out "connections"')
        return self


def pooler_named(value: object) -> object:
    """A table of which only the name is given, however it is spelt. ValueError: a pooler that
    cannot be had here."""
    table = by_name(unless_none(value))
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        return table
    name = table["name"].lower().replace("-", "_")
    if name in _ELSEWHERE:
        raise ValueError(
            f"{_ELSEWHERE[name]} is not started by Steelyard: it was in no registry to try it "
            f"with. Start it yourself, and weigh it by address: steelyard weigh addresses. Known: "
            f"{_KNOWN}"
        )
    return {**table, "name": _ALSO_CALLED.get(name, name)}


class PooledArm(Protocol):
    """What these rules read of an arm."""

    @property
    def name(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def connect(self) -> str: ...
    @property
    def pooler(self) -> PoolerChoice | None: ...


class PooledLoad(Protocol):
    """What these rules read of the workload of a study."""

    @property
    def reconnect(self) -> bool: ...


class PooledStudy(Protocol):
    """What these rules read of a study."""

    @property
    def placement(self) -> str: ...
    @property
    def workload(self) -> PooledLoad: ...
    @property
    def every_arm(self) -> Sequence[PooledArm]: ...


def pooler_of(arm: PooledArm) -> PoolerChoice | None:
    """The pooler of an arm, also of one that says connect = "pgbouncer"."""
    return arm.pooler or (PoolerChoice(name="pgbouncer") if arm.connect == "pgbouncer" else None)


def require_poolable(study: PooledStudy) -> None:
    """ValueError where an arm's pooler, or a connection for each transaction, cannot be had with
    what else the study says."""
    if study.workload.reconnect and study.placement != "free":
        raise ValueError(
            'workload.reconnect needs placement = "free": there is no connection to place'
        )
    for arm in study.every_arm:
        pooler = pooler_of(arm)
        if pooler is not None:
            _require_poolable(arm, pooler, study.placement)


def _require_poolable(arm: PooledArm, pooler: PoolerChoice, placement: str) -> None:
    name = arm.name or arm.role
    if placement != "free":
        key = 'connect = "pgbouncer"' if arm.pooler is None else f'pooler = "{pooler.name}"'
        raise ValueError(
            f'{key} needs placement = "free": a pooler hands backends from client to client'
        )
    if arm.connect == "tcp":
        raise ValueError(
            f'arm "{name}": through a pooler clients come by its socket, or by connect = "tls"'
        )
    if arm.connect == "tls" and pooler.name == "pgpool":
        raise ValueError(f'arm "{name}": TLS is set up with pgbouncer alone, and not with pgpool')
    if arm.connect == "pgbouncer" and pooler.name != "pgbouncer":
        raise ValueError(f'arm "{name}" has two poolers: leave out connect = "pgbouncer"')


def pooler_words(pooler: PoolerChoice | None) -> str:
    """`"pgbouncer, 16 connections"`; `"none"`."""
    if pooler is None:
        return "none"
    shared = f", {pooler.connections} connections" if pooler.name == "pgbouncer" else ""
    program = f" ({pooler.program})" if pooler.program else ""
    return f"{pooler.name}{program}{shared}"
