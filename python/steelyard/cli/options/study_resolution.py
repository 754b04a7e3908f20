"""Resolves the study to weigh from the arguments of a command, or from the record it resumes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import require_agreed, with_read_only_sessions
from steelyard.cli.options.arm_options import with_known_settings, with_products
from steelyard.cli.options.weigh_options import (
    require_every_arm,
    resolve_arms,
    resumed_study,
)
from steelyard.model.errors import UsageError
from steelyard.study.change import says_key
from steelyard.study.read import own_table, read_study
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import resolve, resolve_workload


@dataclass(frozen=True)
class StudyRequest:
    """The arguments of a command that decide which study is weighed."""

    name: str | None
    """Built in, or a file; None: that of the record."""
    changes: Sequence[str]
    control: str | None
    """The value of `--control`; `arm`: that of `--arm`."""
    arm: str | None
    resume: Path | None
    """The record to go on with."""
    account: str | None
    """Of the servers."""
    agreed: bool
    """Whether the user agreed (`--yes`) that scripts write at an address."""


def names_version(changes: Sequence[str]) -> bool:
    """Whether a change says which version or build an arm is."""
    return any(says_key(change, "version", "bindir") for change in changes)


def resolve_study(request: StudyRequest) -> Study:
    """The study that is weighed. UsageError, StudyError: it is wrong, or was not agreed to;
    EngineError: a build is not there."""
    study = _read(request)
    files = request.control, request.arm
    study = with_known_settings(study, *files, request.account, request.changes)
    study = resolve_arms(study, request.account)
    if request.resume is None:
        from steelyard.running.layouts.choice import require_effect

        require_effect(study, request.changes)
    require_agreed(study, agreed=request.agreed)
    if request.resume is not None:
        return study
    return with_read_only_sessions(study, agreed=request.agreed)


def _read(request: StudyRequest) -> Study:
    """With its data found, its workload completed, and its arms named by their builds."""
    if request.resume is not None:
        study = resumed_study(request.resume, changed=bool(request.name or request.changes))
        require_every_arm(study, request.resume, request.account)
        return study
    if request.name is None:
        raise UsageError(
            "no study was named", hint="Try `steelyard weigh checksums`, or `steelyard studies`."
        )
    study = read_study(request.name, request.changes)
    if study.source is not None:
        study = with_data(study, request.name, version_named=names_version(request.changes))
    study = resolve_workload(study)
    resolve(study.workload, study.engine)  # scripts that are missing or wrong, before all imports
    return with_products(study, request.account)


def with_data(study: Study, name: str, *, version_named: bool) -> Study:
    """The study of this name, or in this file, with its data found. Where their version takes the
    place of the one that a user's file says, that is said."""
    from steelyard.workloads.loading.imported_data import resolve_source

    resolved = resolve_source(study, version_named=version_named)
    stated, used = study.control.version, resolved.control.version
    own = own_table(name).get("control") if used != stated else None
    if isinstance(own, dict) and "version" in own:
        say(
            f"the data are of PostgreSQL {used}: all arms are of that version, not of {stated}, "
            f"which {name} says. To weigh copies upgraded to it: --set version={stated}"
        )
    return resolved
