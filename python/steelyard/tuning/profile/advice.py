"""Holds a profile: each setting with its value, reason and source, and where sources disagree.

Writes a profile as a configuration file, as ALTER SYSTEM, and as an arm of a study.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from steelyard.model.readings import Group
from steelyard.model.units import format_bytes
from steelyard.tuning.profile.basis import Basis

GROUPS: Mapping[Group, str] = {
    "memory": "how memory is shared out",
    "log": "how far apart checkpoints are, and what the write-ahead log takes",
    "planner": "what the planner believes of storage and memory",
    "storage": "how many requests are under way",
    "workers": "how many processes work side by side",
}


@dataclass(frozen=True)
class Advice:
    """One setting."""

    group: Group
    name: str
    value: str  # as a configuration file has it, without quotes
    reason: str
    source: str
    others: tuple[str, ...] = ()  # what other sources say where they disagree
    default_why: str = ""
    """Why no more than the default is advised: without it nothing below the default is."""


@dataclass(frozen=True)
class LeftAlone:
    """A setting that is advised elsewhere and is not set here."""

    name: str
    why: str


@dataclass(frozen=True)
class ProfileMemoryNeed:
    """What a server may take at most with a profile, by the documentation's own formulas."""

    shared_bytes: int
    sessions_bytes: int
    """clients × 10 MB + processes × work_mem × hash_mem_multiplier × 1.5."""
    upkeep_bytes: int  # autovacuum's workers, and one CREATE INDEX or VACUUM

    @property
    def total_bytes(self) -> int:
        """All of it at once."""
        return self.shared_bytes + self.sessions_bytes + self.upkeep_bytes


@dataclass(frozen=True)
class TuningProfile:
    """Settings for one server."""

    name: str
    basis: Basis
    advice: tuple[Advice, ...]
    left_alone: tuple[LeftAlone, ...]
    need: ProfileMemoryNeed
    restart: frozenset[str]
    """Names of those that are read only at a start."""
    defaults: Mapping[str, str]
    """Setting → what the build assumes, as it would be written."""

    @property
    def settings(self) -> dict[str, str]:
        """Name → value."""
        return {advice.name: advice.value for advice in self.advice}

    def for_arm(self, *without: Group) -> dict[str, str]:
        """Its settings for an arm of a study, with some groups left at the server's defaults.

        How many sessions may connect is the study's: its driver needs some beside the clients.
        """
        return {
            advice.name: advice.value
            for advice in self.advice
            if advice.group not in without and advice.name != "max_connections"
        }

    def to_json(self) -> dict[str, Any]:
        """As `tune --json` gives it."""
        return {
            "profile": self.name,
            "basis": asdict(self.basis),
            "settings": [
                {
                    **asdict(advice),
                    "default": self.defaults.get(advice.name),
                    "needs_restart": advice.name in self.restart,
                }
                for advice in self.advice
            ],
            "left_alone": [asdict(setting) for setting in self.left_alone],
            "memory": {**asdict(self.need), "total_bytes": self.need.total_bytes},
        }


def as_configuration(profile: TuningProfile, build: str) -> str:
    """Lines for postgresql.conf, each with its reason. `build`: whose server accepts them, as
    `PostgreSQL 16.14`: an older one may refuse to start."""
    basis = profile.basis
    lines = [
        f"# {profile.name} for {build}: {format_bytes(basis.memory_bytes)}, "
        f"{basis.processors} processors, {basis.clients} clients, {basis.kind}.",
    ]
    for group, meaning in GROUPS.items():
        group_advice = [advice for advice in profile.advice if advice.group == group]
        lines += ["", f"# {meaning}"] if group_advice else []
        for advice in group_advice:
            why = f"{advice.reason} ({advice.source})"
            lines += textwrap.wrap(why, 98, initial_indent="# ", subsequent_indent="# ")
            lines.append(f"{advice.name} = {_quoted(advice)}")
    return "\n".join(lines) + "\n"


def as_sql(profile: TuningProfile, build: str) -> str:
    """ALTER SYSTEM for each, then what makes them take effect."""
    lines = [f"-- {profile.name} for {build}"]
    lines += [f"ALTER SYSTEM SET {advice.name} = {_quoted(advice)};" for advice in profile.advice]
    restart = sorted(profile.restart)
    lines.append("SELECT pg_reload_conf();")
    if restart:
        lines.append(f"-- takes effect at the next start: {', '.join(restart)}")
    return "\n".join(lines) + "\n"


def as_arm(profile: TuningProfile) -> str:
    """An arm for a study."""
    lines = ["[[arm]]", f'name = "{profile.name}"', "[arm.settings]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in profile.for_arm().items()]
    return "\n".join(lines) + "\n"


def _quoted(advice: Advice) -> str:
    return "'" + advice.value.replace("'", "''") + "'"
