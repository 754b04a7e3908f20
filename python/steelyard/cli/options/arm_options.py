"""Turns `--control` and `--arm` into overrides of a study: a configuration file, or a build."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import ADDRESS
from steelyard.cli.options.weigh_options import build_changes
from steelyard.engines.intake import AcceptsSettings, Neutralised, ServerSettings
from steelyard.engines.postgres.intake.configuration import printable, read_file
from steelyard.model.errors import UsageError
from steelyard.study.study import Study

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
    _say_left_out(file, found.neutralised)
    for key, value in found.settings.items():
        if any("\udc80" <= letter <= "\udcff" for letter in key + value):
            raise UsageError(
                f'cannot weigh the settings of "{file}": "{printable(key)}" is no UTF-8',
                hint="Write the file as UTF-8: a study holds nothing else.",
            )
    return [f"{name}.settings.{key}={json.dumps(value)}" for key, value in found.settings.items()]


def _say_left_out(file: Path, gone: Sequence[Neutralised]) -> None:
    for one in gone:
        say(f"left out of {file.name}: {one.what} ({one.why})")


def with_known_settings(
    study: Study, control: str | None, arm: str | None, account: str | None
) -> Study:
    """The study without settings of files that the builds of its arms refuse, which are said."""
    files = {"control": _conf_file(control), "arms": _conf_file(arm)}
    if not any(files.values()):
        return study
    from steelyard.engines.adapters import Wanted, adapter

    every = study.every_arm
    wanted = [Wanted(one.version, one.bindir) for one in every]
    contrib = study.contrib or study.statement_counters
    engines = adapter(study.engine).find_arms(wanted, account, contrib=contrib)
    settings = {one.name: one.settings for one in every}
    for one, engine in zip(every, engines, strict=True):
        file = files["control" if one is study.control else "arms"]
        if file is not None and isinstance(engine, AcceptsSettings):
            known = engine.known(ServerSettings(one.settings))
            _say_left_out(file, known.neutralised)
            settings[one.name] = dict(known.settings)
    first, *rest = (one.model_copy(update={"settings": settings[one.name]}) for one in every)
    return study.model_copy(update={"control": first, "arms": tuple(rest)})


def _conf_file(given: str | None) -> Path | None:
    """The file of `conf=FILE`; None: the option is not given, or says another thing."""
    named = given is not None and given.startswith(CONF)
    return Path(given.removeprefix(CONF)).expanduser() if given is not None and named else None
