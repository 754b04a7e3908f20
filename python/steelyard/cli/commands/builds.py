"""`--control` and `--arm` of `steelyard weigh builds`: two directories become the two arms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from steelyard.model.errors import UsageError
from steelyard.model.identity import Identity

STUDY = "builds"
_USE = "steelyard weigh builds --control ./master/bin --arm ./patched/bin"

ControlBuild = Annotated[
    Path | None,
    typer.Option("--control", metavar="BINDIR", help="Of study builds: the control's programs."),
]
ArmBuild = Annotated[
    Path | None,
    typer.Option("--arm", metavar="BINDIR", help="Of study builds: the programs compared."),
]


def build_changes(
    study: str | None, control: Path | None, arm: Path | None, account: str | None
) -> list[str]:
    """The keys of the study that two directories stand for; none for another study.

    UsageError: a directory is missing or another study was asked for, or the builds are of two
    major versions; EngineError: no PostgreSQL that runs in one of them.
    """
    if study != STUDY:
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
    from steelyard.engines.postgres.builds.find import find_postgres

    places = {"control": programs_in(control), "arm": programs_in(arm)}
    identities = {
        name: find_postgres("", place, account).identity for name, place in places.items()
    }
    _refuse_two_majors(identities["control"], identities["arm"], places)
    return [f"{name}.bindir={json.dumps(str(place))}" for name, place in places.items()]


def _refuse_two_majors(control: Identity, arm: Identity, places: dict[str, Path]) -> None:
    if control.version_number // 10000 == arm.version_number // 10000:
        return
    keys = " ".join(f"--set {name}.bindir={place}" for name, place in places.items())
    raise UsageError(
        f"cannot weigh PostgreSQL {arm.version} against {control.version} as two builds: "
        "they are of two major versions",
        detail="Neither opens the other's data directories, and more than a patch differs.",
        hint=f"Versions are a study of their own: steelyard weigh versions {keys}",
    )
