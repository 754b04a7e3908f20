"""`steelyard calibrate`: weighs known weights and says what this machine can be trusted for."""

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
from steelyard.model.errors import UsageError
from steelyard.study.calibration import lay_out, parse_weight
from steelyard.study.read import read_study
from steelyard.workloads.reading.choice import completed

STUDY = "calibrate"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(STUDY)(calibrate)


def calibrate(
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="PERCENT", help="Put this on: 0.5% to 50%; 3% if nothing is named."),
    ] = None,
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
    new_ledger: Annotated[
        bool, typer.Option("--new-ledger", help="Begin the balance's ledger anew, after a repair.")
    ] = False,
) -> None:
    """Weigh equal arms and known weights: readings beside truths, and what to trust them for."""
    shares = [parse_weight(text) for text in weight or ()]
    changes = changes_of(overrides, budget, workload, file)
    if resume is None:
        asked = completed(read_study(STUDY, changes))
    else:
        asked = resumed_study(resume, changed=bool(changes or shares))
        if new_ledger:
            raise UsageError("cannot begin a new ledger with a weighing that is gone on with")

    from steelyard.cli.views.live import open_view
    from steelyard.cli.views.truths import render_calibration
    from steelyard.record.ledger import LEDGER
    from steelyard.running.preparation import which_cost
    from steelyard.running.question import Question
    from steelyard.running.world import World
    from steelyard.weigh import weigh

    drawn = secrets.randbelow(2**31) if seed is None else seed
    command = repeating_command(sys.argv[1:], drawn)
    with World(account) as world, open_view(sys.stderr) as view:
        if resume is None:
            cost, _ = which_cost(asked, world.data.open(asked).scripts)
            laid = lay_out(asked, shares, whole=cost == "whole")
            asked = laid.study
            for what, why in laid.left_out:
                view.note(f"{what} left out: {why}")
        question = Question(asked, drawn, record, resume, command, LEDGER, new_ledger)
        verdict = weigh(question, world, view)
    shown = json.dumps(verdict) if as_json else render_calibration(verdict, asked, terminal_width())
    typer.echo(shown)
    if verdict["interrupted"]:
        raise KeyboardInterrupt
