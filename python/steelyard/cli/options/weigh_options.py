"""Turns the options of `weigh` and `calibrate` into a study's overrides, and a command into the one
that repeats it.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from steelyard.cli.options.address_options import without_passwords
from steelyard.cli.options.sizes import require_budget
from steelyard.model.errors import UsageError
from steelyard.model.identity import Identity
from steelyard.model.units import whole_number
from steelyard.study.budget import BUDGETS
from steelyard.study.change import Change, key_of
from steelyard.study.read import builtin_studies

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
