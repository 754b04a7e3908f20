"""Requires that a resumed weighing goes on with the scripts, builds and rows that it began with."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.record.environment import OF_SCRIPT, Environment
from steelyard.record.record import STUDY_FILE, Record
from steelyard.workloads.loading.template import TemplateDescription, description

OF_ROWS = "rows of "
"""Before the name of an arm among the `files` of an environment: what its data hold."""
OF_LOADS = "loads of "
"""Before it likewise: the loads themselves, each of which lays the same rows out in its own way."""
_CONTROL_FILE = "template pg_control"
"""Of the first arm's load, which is all that an older record says of any."""


def files_of_loads(templates: Mapping[str, Sequence[Path]]) -> dict[str, str]:
    """What → its digest, of the rows and the loads of every arm; `templates`: arm → its loads.
    Nothing of an arm of whose data no more is known than that they are there."""
    files = {}
    for arm, loads in templates.items():
        described = [facts for facts in map(description, loads) if facts is not None]
        if described:
            files[f"{OF_ROWS}{arm}"] = _digest([_rows(facts) for facts in described])
            files[f"{OF_LOADS}{arm}"] = _digest([_load(facts) for facts in described])
    return files


def _rows(facts: TemplateDescription) -> object:
    name = (facts.source or {}).get("database")
    return [facts.digest, facts.scale, facts.options, facts.tables, facts.digests, facts.sql, name]


def _load(facts: TemplateDescription) -> object:
    return [facts.system_identifier, facts.made, facts.files]


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def changes_of_loads(before: Environment, now: Environment) -> list[str]:
    """In words that the data were loaded anew since the weighing began: the same rows, laid out in
    files and counted by ANALYZE anew. Empty: they were not, or a record does not say."""
    every = [what for what in before.files if what.startswith(OF_LOADS)] or [_CONTROL_FILE]
    anew = [
        what.removeprefix(OF_LOADS)
        for what in every
        if {what} <= {*before.files} & {*now.files} and before.files[what] != now.files[what]
    ]
    if not anew:
        return []
    some = f" of {' and '.join(anew)}" if 0 < len(anew) < len(every) else ""
    return [f"the data{some} were loaded anew"]


def require_same_work(record: Record, before: Environment, now: Environment) -> None:
    """UsageError: a script, a build or the rows are others than those of the epochs there are, so
    that those to come would be of other work."""
    others = (_other_scripts(before, now), _other_builds(before, now), _other_rows(before, now))
    changed = next(chain.from_iterable(others), None)
    if changed is not None:
        study = shlex.quote(str(record.directory / STUDY_FILE))
        raise UsageError(
            f'cannot resume "{record.directory}": {changed}',
            detail="The epochs that are measured, and those to come, would be of two kinds.",
            hint=f"Put it back as it was, or weigh anew: steelyard weigh {study}",
        )


def _other_scripts(before: Environment, now: Environment) -> Iterator[str]:
    """In words; an older record may hold no hashes."""
    ours, theirs = (
        {what: digest for what, digest in each.files.items() if what.startswith(OF_SCRIPT)}
        for each in (before, now)
    )
    for what in sorted({*ours, *theirs}) if ours else ():
        if ours.get(what) != theirs.get(what):
            name = what.removeprefix(OF_SCRIPT)
            yield f'script "{name}" is not what it was when the weighing began'


def _other_builds(before: Environment, now: Environment) -> Iterator[str]:
    """In words; where their programs are is no part of what they are."""
    for arm, facts in before.arms.items():
        build = now.arms[arm].build if arm in now.arms else {}
        for key in _OF_A_BUILD:
            if key in facts.build and key in build and facts.build[key] != build[key]:
                yield (
                    f'the build of arm "{arm}" is another one: its {key} was '
                    f'"{facts.build[key]}", is "{build[key]}"'
                )


_OF_A_BUILD = ("kind", "version", "builder", "configure", "cflags", "assertions")


def _other_rows(before: Environment, now: Environment) -> Iterator[str]:
    """In words; an older record may hold no digests."""
    for what, digest in before.files.items():
        if what.startswith(OF_ROWS) and now.files.get(what, digest) != digest:
            yield f'the data of arm "{what.removeprefix(OF_ROWS)}" hold other rows than they did'
