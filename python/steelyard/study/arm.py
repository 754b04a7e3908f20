"""Holds an arm of a study: a build, its settings, a known weight, and the levels of a factor."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from steelyard.model.readings import Group, ProfileName, WorkKind
from steelyard.model.units import NS_PER_US
from steelyard.study.reaching.pooler import PoolerChoice, pooler_named
from steelyard.study.reaching.replication import Replication
from steelyard.study.values import (
    Nanoseconds,
    PlaceName,
    Settings,
    Share,
    Statements,
    StudyModel,
    by_name,
    price_word,
    settings_words,
    unless_none,
    version_word,
)

ArmNeed = Literal["lz4", "zstd", "io_uring", "io_workers"]
Defaults = Literal["aligned", "as-shipped"]
Connect = Literal["socket", "tcp", "tls", "pgbouncer"]


def shown_sql(statements: Sequence[str]) -> str:
    """Statements on one line."""
    return "; ".join(" ".join(statement.split()) for statement in statements)


_NAME = re.compile(r"(?:[A-Za-z0-9/\[][A-Za-z0-9_.=:/@%~*\[\]+-]*)?")


def _arm_name(value: str) -> str:
    if _NAME.fullmatch(value) is None:
        raise ValueError(
            "an arm is called by letters and digits of ASCII, without spaces, and _.=:/@%~*[]+- "
            "behind the first"
        )
    return value


class Weight(StudyModel):
    """A slowdown of known size put on an arm, to prove that the balance reads right."""

    double_work: Annotated[Share, Field(ge=0, lt=1)] = 0.0
    """Probability that a transaction is done twice and counted once: truth 1/(1+p)."""
    stall: Annotated[Share, Field(ge=0, lt=1)] = 0.0
    """Probability that a transaction sleeps in the server first."""
    stall_share: Annotated[Share, Field(ge=0, lt=1)] = 0.0
    """In place of `stall`: share of a transaction's mean time that stalls are to add. The pilot
    finds the probability."""
    stall_time: Annotated[Nanoseconds, Field(ge=0)] = 200_000_000
    background: Annotated[Share, Field(ge=0, lt=1)] = 0.0
    """Share of its work that the arm leaves to the background, executed after each slice. Charged,
    as every debt is, with cost "whole" only: truth 1/(1+p)."""

    @model_validator(mode="after")
    def _stalls_can_be(self) -> Weight:
        if self.stall and self.stall_share:
            raise ValueError('"stall" and "stall_share" say the same thing twice: give one of them')
        if self.stalls and not self.stall_time:
            raise ValueError('a stall needs a "stall_time" above 0')
        if 0 < self.stall_time < NS_PER_US:  # nobody means so few nanoseconds
            raise ValueError(f"{self.stall_time} has no unit: {self.stall_time}ms")
        return self

    @property
    def stalls(self) -> bool:
        """Whether transactions sleep now and then."""
        return bool(self.stall or self.stall_share)

    @property
    def is_none(self) -> bool:
        """Whether nothing is put on the arm."""
        return not (self.double_work or self.stalls or self.background)


class ProfileChoice(StudyModel):
    """Settings that `steelyard tune` proposes for the arm, worked out when the study is weighed."""

    name: ProfileName
    work: WorkKind | None = None
    """None: olap where clients go through streams of queries, else oltp."""
    without: tuple[Group, ...] = ()
    """Groups of settings that stay at the server's defaults."""


class Arm(StudyModel):
    """One treatment: a build, its settings, its checksums, and perhaps a known weight."""

    name: Annotated[str, AfterValidator(_arm_name)] = ""
    """Empty in a file: it is named by what it is."""
    role: str = ""
    """What its name stands for where that is made of its treatment: the same whatever that is, so
    that weighings that ask one question know each other."""
    version: Annotated[str, BeforeValidator(version_word)] = "18"
    bindir: str | None = None
    checksums: bool = True
    defaults: Defaults | None = None
    """Of its build, in place of what the study says of all arms."""
    against: str | None = None
    """Another arm, by its name or its role, that it is compared with besides the control."""
    settings: Settings = Field(default_factory=dict)
    profile: Annotated[ProfileChoice | None, BeforeValidator(by_name)] = None
    """Beneath its own settings. A record holds what it came to, as settings."""
    sql: Statements = ()
    """Executed once, after the study's, in a copy of the loaded data that is this arm's alone."""
    needs: tuple[ArmNeed, ...] = ()
    """What its build must have: where it has not, the arm is left out, which is said."""
    connect: Connect = "socket"
    """How its clients reach it: by TCP on loopback, encrypted or not, or through PgBouncer."""
    directory: PlaceName = None
    """Where its data directory is made, in place of the cache: on another disk or file system."""
    wal_directory: PlaceName = None
    """Where its write-ahead log is. None: in its data directory."""
    pooler: Annotated[PoolerChoice | None, BeforeValidator(pooler_named)] = None
    """None: its clients come to the server itself, or as `connect` says."""
    replication: Annotated[Replication | None, BeforeValidator(unless_none)] = None
    """None: its server has no standby."""
    telemetry: bool = True
    """Whether its sessions are looked at in its measured slices; off only to weigh what that
    costs."""
    weight: Weight = Weight()
    price: Annotated[str | None, BeforeValidator(price_word)] = None
    """Of its machine: "0.504 USD/h"; then its transactions are priced too. Every arm has one, or
    none."""
    address: str | None = None
    """Words of a connection string, in place of those of the study's: a server that is running, or
    a role or a database of the study's. Its settings are those of its sessions."""

    @property
    def servers(self) -> int:
        """How many run for it: its own and its standbys."""
        return 1 + (0 if self.replication is None else self.replication.standbys)


class Level(StudyModel):
    """What a level of a factor sets in its arms: keys of an arm, and only those named."""

    version: Annotated[str | None, BeforeValidator(version_word)] = None
    bindir: str | None = None
    checksums: bool | None = None
    settings: Annotated[dict[str, str] | None, BeforeValidator(settings_words)] = None
    profile: Annotated[ProfileChoice | None, BeforeValidator(by_name)] = None
    directory: PlaceName = None
    wal_directory: PlaceName = None
    telemetry: bool | None = None
    weight: Weight | None = None

    def sets(self, key: str) -> bool:
        """Whether it sets a key of an arm, `"checksums"` or `"settings.jit"`; not of a table."""
        table, _, name = key.partition(".")
        if table == "settings":
            return name.lower() in (self.settings or {})
        if table == "weight":
            return self.weight is not None and name in self.weight.model_fields_set
        return table in self.model_fields_set


def same_by_levels(
    levels: Collection[Level],
    arms: tuple[Arm, Arm],
    settings: tuple[Mapping[str, str], Mapping[str, str]],
) -> bool:
    """Whether two arms have all that these levels set alike. `settings`: those that the arms run
    with. What a profile comes to is not known here."""
    keys = {key for level in levels for key in level.model_fields_set} - {"settings", "weight"}
    if "profile" in keys:
        return False
    names = {name for level in levels for name in level.settings or {}}
    weights = {name for each in levels if each.weight for name in each.weight.model_fields_set}
    first, second = arms
    return (
        all(getattr(first, key) == getattr(second, key) for key in keys)
        and all(getattr(first.weight, name) == getattr(second.weight, name) for name in weights)
        and all(settings[0].get(name) == settings[1].get(name) for name in names)
    )
