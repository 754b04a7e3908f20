"""Turns `--control` and `--arm` into overrides of a study: a configuration file, or a build."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import ADDRESS
from steelyard.cli.options.weigh_options import build_changes
from steelyard.engines.postgres.intake.configuration import read_file

CONF = "conf="


def arm_changes(
    study: str | None, control: str | None, arm: str | None, account: str | None
) -> list[str]:
    """The keys of the study that both options stand for.

    UsageError: a build for a study that compares none; EngineError: a file that cannot be read.
    """
    changes, builds = list[str](), dict[str, Path | None]()
    for name, given in (("control", control), ("arm", arm)):
        if given is not None and given.startswith(ADDRESS):
            builds[name] = None  # said by address_changes
        elif given is not None and given.startswith(CONF):
            changes += _of_file(name, Path(given.removeprefix(CONF)).expanduser())
            builds[name] = None
        else:
            builds[name] = None if given is None else Path(given)
    told = [one for one in (control, arm) if one is not None]
    if told and not any(builds.values()):
        return changes
    return changes + build_changes(study, builds["control"], builds["arm"], account)


def _of_file(name: str, file: Path) -> list[str]:
    """Every setting of a file that is no matter of its place; what is left out is said."""
    found = read_file(file)
    for one in found.neutralised:
        say(f"left out of {file.name}: {one.what} ({one.why})")
    return [f"{name}.settings.{key}={json.dumps(value)}" for key, value in found.settings.items()]
