"""Reads what weighings have in common from the command line: changes, records, seeds, widths."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.study.read import read_study
from steelyard.study.study import Study

MOST_COLUMNS = 120


def changes_of(
    overrides: Sequence[str] | None,
    budget: str | None,
    workload: Path | None,
    files: Sequence[str] | None,
) -> list[str]:
    """The options of a command as overrides of its study: another workload first, then `--set`."""
    changes = [f"workload={workload}"] if workload else []
    changes += list(overrides or ())
    changes += [f"budget.measuring={budget}"] if budget else []
    changes += [f"workload.scripts={_scripts(files)}"] if files else []
    return changes


def resumed_study(resume: Path, *, changed: bool) -> Study:
    """The study of a record that is gone on with; UsageError where it is none, or is `changed`."""
    if changed:
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


def _scripts(files: Sequence[str]) -> str:
    """`-f a.sql@3 -f select-only` as the inline table that a study holds."""
    pairs = []
    for text in files:
        name, at, weight = text.rpartition("@")
        if at and not weight.isdigit():
            raise UsageError(f'invalid script weight: "{text}"', hint="Write -f SCRIPT@WEIGHT.")
        pairs.append(f"{json.dumps(name if at else text)} = {weight if at else 1}")
    return "{" + ", ".join(pairs) + "}"


def terminal_width() -> int:
    """Columns for a summary: those of the terminal, 100 where there is none."""
    return min(MOST_COLUMNS, shutil.get_terminal_size((100, 24)).columns)
