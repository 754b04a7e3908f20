"""`steelyard weigh`: weighs the arms of a study against each other and prints the verdict."""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.errors import UsageError
from steelyard.study.read import read_study
from steelyard.study.study import Study

FAILED = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("weigh")(weigh)


def weigh(
    study: Annotated[
        str | None, typer.Argument(help="A built-in study, a TOML file, or a record's study.toml.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="How long to load the arms, in all: 20s to hours.")
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
    changes = list(overrides or ())
    changes += [f"budget.measuring={budget}"] if budget else []
    changes += ["decision.first_verdict=true"] if first_verdict else []
    changes += [f"workload.name={json.dumps(str(workload))}"] if workload else []
    changes += [f"workload.scripts={_scripts(file)}"] if file else []
    asked = _study(study, resume, changes)

    from steelyard.cli.live import open_view
    from steelyard.cli.summary import render_verdict
    from steelyard.verdict.rule import FailCondition
    from steelyard.weigh import weigh as weigh_question
    from steelyard.weighing.question import Question
    from steelyard.weighing.world import World

    conditions = [FailCondition.parse(text) for text in fail_if or ()]
    drawn = secrets.randbelow(2**31) if seed is None else seed
    command = repeating_command(sys.argv[1:], drawn)
    question = Question(asked, drawn, record, resume, command)
    with World(account) as world, open_view(sys.stderr) as view:
        verdict = weigh_question(question, world, view)
    typer.echo(json.dumps(verdict) if as_json else render_verdict(verdict, _width()))
    if verdict["interrupted"]:
        raise KeyboardInterrupt
    if any(condition.holds(verdict["contrasts"]) for condition in conditions):
        raise typer.Exit(FAILED)


def repeating_command(arguments: list[str], seed: int) -> tuple[str, ...]:
    """The command that repeats a weighing: with its seed, and without the place of its record,
    which is taken."""
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if not skip and argument != "--record" and not argument.startswith("--record="):
            kept.append(argument)
        skip = argument == "--record"
    seeded = any(argument == "--seed" or argument.startswith("--seed=") for argument in kept)
    return ("steelyard", *kept, *(() if seeded else ("--seed", str(seed))))


def _study(name: str | None, resume: Path | None, changes: list[str]) -> Study:
    if resume is not None:
        if name or changes:
            raise UsageError(
                "cannot change the study of a record that is gone on with",
                hint="Name only the record: steelyard weigh --resume DIR",
            )
        if not (resume / "plan.json").is_file():
            raise UsageError(
                f'cannot go on with "{resume}": it is not the record of a planned weighing',
                detail="There is no plan.json in it.",
            )
        return read_study(str(resume / "study.toml"))
    if name is None:
        raise UsageError(
            "no study was named", hint="Try `steelyard weigh checksums`, or `steelyard studies`."
        )
    return read_study(name, changes)


def _scripts(files: list[str]) -> str:
    """`-f a.sql@3 -f select-only` as the inline table that a study holds."""
    pairs = []
    for text in files:
        name, at, weight = text.rpartition("@")
        if at and not weight.isdigit():
            raise UsageError(f'invalid script weight: "{text}"', hint="Write -f SCRIPT@WEIGHT.")
        pairs.append(f"{json.dumps(name if at else text)} = {weight if at else 1}")
    return "{" + ", ".join(pairs) + "}"


def _width() -> int:
    import shutil

    return min(120, shutil.get_terminal_size((100, 24)).columns)
