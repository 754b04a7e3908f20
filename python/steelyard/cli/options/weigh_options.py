"""Turns the options of `weigh` and `calibrate` into a study's overrides and a resumed study."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import without_passwords
from steelyard.cli.options.sizes import require_budget
from steelyard.model.errors import UsageError
from steelyard.model.identity import Identity
from steelyard.model.units import whole_number
from steelyard.record.record import PLAN
from steelyard.study.budget import BUDGETS
from steelyard.study.change import Change, key_of
from steelyard.study.read import builtin_studies, read_recorded_study
from steelyard.study.study import Study

if TYPE_CHECKING:
    from steelyard.engines.engine import MissingFeature

BUILDS = "builds"
_USE = "steelyard weigh builds --control ./master/bin --arm ./patched/bin"


def changes_of(
    overrides: Sequence[str] | None,
    budget: str | None,
    workload: str | None,
    files: Sequence[str] | None,
    pace: float | None = None,
    metric: str | None = None,
) -> list[str]:
    """The options of a command as overrides of its study: another workload first, then a budget of
    every layout, then `--set`, which may say that of one. At a pace the arms have the same
    throughput: their latencies are compared."""
    changes: list[str] = [Change("workload", _workload(workload))] if workload else []
    if pace is not None:
        changes += [Change("workload.pace", pace), Change("decision.metric", "latency_mean")]
    changes += [Change("decision.metric", metric)] if metric is not None else []
    if budget:
        require_budget(budget)
        changes += [Change(f"budget.{key}", budget) for key in BUDGETS]
    changes += list(overrides or ())
    changes += [Change("workload.scripts", _scripts(files))] if files else []
    return changes


def _workload(text: str) -> str:
    from steelyard.workloads.reading.command_words import workload_of

    return workload_of(text, f"The built-in one is --set workload={text}.")


def one_query_changes(
    study: str | None, changes: Sequence[str], files: Sequence[str] | None
) -> list[str]:
    """One client where a single script is given and turns out to be slow: what the query takes by
    itself is asked. Nothing where the command, or a study of the user's own, says how many."""
    own_study = study is None or study not in builtin_studies()
    sets_clients = any(key_of(change).startswith("workload.clients") for change in changes)
    if len(files or ()) != 1 or own_study or sets_clients:
        return []
    return [Change("workload.clients_when_slow", 1)]


def ending_changes(first_verdict: bool, open_ended: bool) -> list[str]:
    """The keys of the study that say when a weighing ends."""
    chosen = {"first_verdict": first_verdict, "open_ended": open_ended}
    return [Change(f"decision.{key}", True) for key, enabled in chosen.items() if enabled]


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
    from steelyard.running.layouts.choice import servers_at_once
    from steelyard.tuning.profile.arms import with_profiles
    from steelyard.workloads.reading.resolved import data_bytes

    location = open_cache().root
    return with_profiles(study, location, cache_root(), account, say, servers_at_once, data_bytes)


def repeating_command(arguments: list[str], seed: int) -> tuple[str, ...]:
    """The command that repeats a weighing: with its seed, and without the place of its record,
    which is taken."""
    command: list[str] = []
    skip = False
    for argument in without_passwords(arguments):
        if not skip and argument != "--record" and not argument.startswith("--record="):
            command.append(argument)
        skip = argument == "--record"
    seeded = any(argument == "--seed" or argument.startswith("--seed=") for argument in command)
    return ("steelyard", *command, *(() if seeded else ("--seed", str(seed))))


def _scripts(files: Sequence[str]) -> dict[str, int]:
    """`-f a.sql@3 -f select-only` as the table that a study holds."""
    weights: dict[str, int] = {}
    for text in files:
        name, at, share = text.rpartition("@")
        weight = whole_number(share) if at else 1
        if weight is None:
            raise UsageError(f'invalid script weight: "{text}"', hint="Write -f SCRIPT@WEIGHT.")
        script = name if at else text
        if script in weights:
            raise UsageError(
                f'script "{script}" is named twice', hint="Give it one -f SCRIPT@WEIGHT."
            )
        weights[script] = weight
    return weights


def build_changes(
    study: str | None, control: Path | None, arm: Path | None, account: str | None
) -> list[str]:
    """The keys of the study that two directories stand for; none for another study.

    UsageError: a directory is missing or another study was named, or the builds are of two
    major versions; EngineError: no PostgreSQL that runs in one of them.
    """
    if study != BUILDS:
        if control or arm:
            raise UsageError(
                "options --control and --arm belong to study builds", hint=f"Write: {_USE}"
            )
        return []
    if control is None or arm is None:
        missing = "--control" if control is None else "--arm"
        raise UsageError(
            f"study builds compares two directories: {missing} BINDIR is missing",
            hint=f"Write: {_USE}",
        )
    from steelyard.engines.postgres.builds.build import programs_in
    from steelyard.engines.postgres.selection import find_postgres

    places = {"control": programs_in(control), "arm": programs_in(arm)}
    identities = {
        name: find_postgres("", bindir, account).identity for name, bindir in places.items()
    }
    _refuse_two_majors(identities["control"], identities["arm"], places)
    return [Change(f"{name}.bindir", str(bindir)) for name, bindir in places.items()]


def _refuse_two_majors(control: Identity, arm: Identity, places: dict[str, Path]) -> None:
    if control.version_number // 10000 == arm.version_number // 10000:
        return
    keys = " ".join(
        f"--set {shlex.quote(f'{name}.bindir={bindir}')}" for name, bindir in places.items()
    )
    raise UsageError(
        f"cannot weigh PostgreSQL {arm.version} against {control.version} as two builds: "
        "they are of two major versions",
        detail="Neither opens the other's data directories, and more than a patch differs.",
        hint=f"Versions are a study of their own: steelyard weigh versions {keys}",
    )
