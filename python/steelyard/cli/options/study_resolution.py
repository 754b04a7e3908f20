"""Resolves the study to weigh, from the arguments of a command or the record that it resumes: with
its workload, the arms that can be had here, and settings in place of profiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import (
    require_agreed,
    require_own_servers,
    with_read_only_sessions,
)
from steelyard.cli.options.arm_options import with_known_settings, with_products
from steelyard.model.errors import UsageError
from steelyard.record.record import PLAN
from steelyard.study.change import says_key
from steelyard.study.read import own_table, read_recorded_study, read_study
from steelyard.study.study import Study
from steelyard.workloads.reading.resolved import resolve, resolve_workload

if TYPE_CHECKING:
    from steelyard.engines.engine import MissingFeature


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
        from steelyard.running.layout_choice import require_effect

        require_effect(study, request.changes)
    require_agreed(study, agreed=request.agreed)
    require_own_servers(study, request.account)
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


def resumed_study(resume: Path, *, changed: bool) -> Study:
    """The study of the record to resume; UsageError where it is none, or options changed it."""
    if changed:
        raise UsageError(
            "cannot change the study of a resumed weighing",
            hint="Name only the record: steelyard weigh --resume DIR",
        )
    if not resume.is_dir():
        raise UsageError(
            f'cannot resume "{resume}": there is no such folder',
            hint="`steelyard history` lists the records below records/; --records names another.",
        )
    if not (resume / PLAN).is_file():
        raise UsageError(
            f'cannot resume "{resume}": it is not the record of a planned weighing',
            detail="There is no plan.json in it.",
            hint="One that was stopped before it was planned is begun anew, by its command.",
        )
    return read_recorded_study(resume / "study.toml")


def resolve_arms(study: Study, account: str | None) -> Study:
    """The study without the arms that cannot be had here, which are named, and with settings in
    place of profiles. UsageError: no arm is left."""
    return resolve_profiles(_without_unmet(study, account), account)


def require_every_arm(study: Study, resume: Path, account: str | None) -> None:
    """UsageError where an arm of a weighing that goes on cannot be had here any more: the epochs
    that are measured have it, and those to come would be of the others, in places drawn anew."""
    for arm, missing in _unmet(study, account).items():
        raise UsageError(
            f'cannot resume "{resume}": arm "{arm}" cannot be weighed, since {missing.why}',
            detail="The epochs that are measured have it, and those to come would not.",
            hint=missing.how,
        )


def _without_unmet(study: Study, account: str | None) -> Study:
    left_out = _unmet(study, account)
    for arm, missing in left_out.items():
        say(f'arm "{arm}" is left out: {missing.why}. {missing.how}')
    rest = tuple(arm for arm in study.arms if arm.name not in left_out)
    if rest:
        return study if not left_out else study.model_copy(update={"arms": rest})
    arm, missing = next(iter(left_out.items()))
    raise UsageError(
        f'no arm of study {study.name} is left: "{arm}" cannot be weighed, since {missing.why}',
        hint=missing.how,
    )


def _unmet(study: Study, account: str | None) -> Mapping[str, MissingFeature]:
    """Arm → what it needs and its build or the kernel has not."""
    if study.is_external or not any(arm.needs for arm in study.arms):
        return {}
    from steelyard.engines.adapters import adapter
    from steelyard.engines.builds.same_builder import BuildRequest
    from steelyard.running.preparing.needs import arms_left_out
    from steelyard.telemetry.doctor.kernel import io_uring_refusal

    requests = [BuildRequest(arm.version, arm.bindir) for arm in study.every_arm]
    engines = adapter(study.engine).find_arms(requests, account, contrib=False)
    engine_of = {arm.name: engine for arm, engine in zip(study.every_arm, engines, strict=True)}
    refused = io_uring_refusal()
    return arms_left_out(study, engine_of, {"io_uring": refused} if refused else {})


def resolve_profiles(study: Study, account: str | None) -> Study:
    """The study with settings in place of the profiles that its arms name."""
    if all(arm.profile is None for arm in study.every_arm):
        return study
    from steelyard.engines.cache import cache_root, open_cache
    from steelyard.running.layout_choice import concurrent_servers
    from steelyard.tuning.profile.arms import with_profiles
    from steelyard.workloads.reading.resolved import data_bytes

    place, cache = open_cache().root, cache_root()
    return with_profiles(study, place, cache, account, say, concurrent_servers, data_bytes)
