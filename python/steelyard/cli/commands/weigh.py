"""`steelyard weigh`: weighs the arms of a study against each other and prints the verdict."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.commands.asking import (
    changes_of,
    repeating_command,
    resumed_study,
    terminal_width,
)
from steelyard.cli.commands.builds import ArmBuild, ControlBuild, build_changes
from steelyard.model.errors import UsageError
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.workloads.reading.choice import completed

FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("weigh")(weigh)


def weigh(
    study: Annotated[
        str | None, typer.Argument(help="A built-in study, a TOML file, or a record's study.toml.")
    ] = None,
    control: ControlBuild = None,
    arm: ArmBuild = None,
    budget: Annotated[
        str | None, typer.Option(help="Time under load, all arms; it takes twice that.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Change a key: workload.scale=50."),
    ] = None,
    file: Annotated[
        list[str] | None,
        typer.Option("-f", "--file", metavar="SCRIPT[@WEIGHT]", help="Drive this script instead."),
    ] = None,
    workload: Annotated[Path | None, typer.Option(help="A folder that holds a workload.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of every random order.")] = None,
    record: Annotated[Path | None, typer.Option(help="Where to keep the record.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with an interrupted one.")] = None,
    account: Annotated[
        str | None, typer.Option("--as", metavar="USER", help="Run servers as this account.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.")
    ] = False,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD:MARGIN", help="Exit 1 if the verdict is, say, slower:2%."),
    ] = None,
    first_verdict: Annotated[
        bool, typer.Option("--first-verdict", help="Stop at the first look that decides.")
    ] = False,
) -> None:
    """Weigh the arms of a study against each other: a verdict, its interval, cause and doubts."""
    changes = changes_of(overrides, budget, workload, file)
    changes += ["decision.first_verdict=true"] if first_verdict else []
    changes += build_changes(study, control, arm, account)
    asked = _study(study, resume, changes)

    from steelyard.cli.views.live import open_view
    from steelyard.cli.views.summary import render_verdict
    from steelyard.evaluation.rule import FailCondition
    from steelyard.record.ledger import LEDGER
    from steelyard.running.question import Question
    from steelyard.running.world import World
    from steelyard.weigh import weigh as weigh_question

    conditions = [FailCondition.parse(text) for text in fail_if or ()]
    drawn = secrets.randbelow(2**31) if seed is None else seed
    command = repeating_command(sys.argv[1:], drawn)
    question = Question(asked, drawn, record, resume, command, LEDGER)
    with World(account) as world, open_view(sys.stderr) as view:
        verdict = weigh_question(question, world, view).to_json()
    typer.echo(json.dumps(verdict) if as_json else render_verdict(verdict, terminal_width()))
    if verdict["interrupted"]:
        raise KeyboardInterrupt
    if any(condition.holds(verdict["contrasts"]) for condition in conditions):
        raise typer.Exit(FAILED)


def _study(name: str | None, resume: Path | None, changes: list[str]) -> Study:
    if resume is not None:
        return resumed_study(resume, changed=bool(name or changes))
    if name is None:
        raise UsageError(
            "no study was named", hint="Try `steelyard weigh checksums`, or `steelyard studies`."
        )
    return completed(read_study(name, changes))
