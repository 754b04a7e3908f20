"""Writes a profile as a configuration file, as ALTER SYSTEM, and as an arm of a study."""

from __future__ import annotations

import json
import textwrap

from steelyard.model.units import format_bytes
from steelyard.tuning.profile.advice import GROUPS, Advice, Profile


def as_configuration(profile: Profile) -> str:
    """Lines for postgresql.conf, each with its reason."""
    basis = profile.basis
    lines = [
        f"# {profile.name}: {format_bytes(basis.memory_bytes)}, {basis.processors} processors, "
        f"{basis.clients} clients, {basis.kind}.",
    ]
    for group, meaning in GROUPS.items():
        own = [one for one in profile.advice if one.group == group]
        lines += ["", f"# {meaning}"] if own else []
        for one in own:
            why = f"{one.reason} ({one.source})"
            lines += textwrap.wrap(why, 98, initial_indent="# ", subsequent_indent="# ")
            lines.append(f"{one.name} = {_quoted(one)}")
    return "\n".join(lines) + "\n"


def as_sql(profile: Profile) -> str:
    """ALTER SYSTEM for each, then what makes them take effect."""
    lines = [f"ALTER SYSTEM SET {one.name} = {_quoted(one)};" for one in profile.advice]
    restart = sorted(profile.restart)
    lines.append("SELECT pg_reload_conf();")
    if restart:
        lines.append(f"-- takes effect at the next start: {', '.join(restart)}")
    return "\n".join(lines) + "\n"


def as_arm(profile: Profile) -> str:
    """An arm for a study."""
    lines = ["[[arm]]", f'name = "{profile.name}"', "[arm.settings]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in profile.for_arm().items()]
    return "\n".join(lines) + "\n"


def _quoted(one: Advice) -> str:
    return "'" + one.value.replace("'", "''") + "'"
