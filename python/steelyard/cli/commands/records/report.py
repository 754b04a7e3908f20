"""`steelyard report`: makes the page of a record, or two pages of PDF, or judges it again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from steelyard.record.reader import RecordLines
    from steelyard.record.record import Record
    from steelyard.record.verdict import Verdict
    from steelyard.verdict.rejudge import VerdictDifference


EDITED = "study.toml (edited)"
"""In place of a key of the verdict."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    record: Annotated[
        Path, typer.Argument(help="The directory of a record, or its `latest` link.")
    ],
    rejudge: Annotated[
        bool,
        typer.Option(
            "--rejudge",
            help="Judge the record again, and say where that differs from the verdict it holds.",
        ),
    ] = False,
    brief: Annotated[
        bool,
        typer.Option(
            "--brief",
            help="Write brief.pdf, at most two pages for the person who decides, by the Chromium, "
            "Chrome or Edge that is on this machine.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --rejudge: print one JSON object.")
    ] = False,
) -> None:
    """Make report.html again from a record and print its path; or judge the record again."""
    from steelyard.model.errors import UsageError

    if as_json and not rejudge:
        raise UsageError("--json goes with --rejudge")
    if brief and rejudge:
        raise UsageError("--brief and --rejudge exclude each other", hint="Type one of them.")
    from steelyard.record.reader import read_lines
    from steelyard.record.record import Record

    opened = Record.open(record)  # before what draws is loaded
    if rejudge:
        _rejudge(opened, as_json)
        return
    lines = read_lines(opened)
    if brief:
        from steelyard.report.brief import write_brief

        typer.echo(str(write_brief(record, lines=lines)))
    else:
        from steelyard.report.page import write_report

        typer.echo(str(write_report(record, lines=lines)))
    _note_what_does_not_follow(opened, lines)


def _note_what_does_not_follow(record: Record, lines: RecordLines) -> None:
    """Say where verdict.json is not what was measured: the page shows it as it is."""
    from steelyard.model.errors import SteelyardError
    from steelyard.record.reader import read_verdict

    recorded = read_verdict(record)
    if recorded is None:
        return
    try:
        judged, differences = _judged_again(record, recorded, lines)
    except SteelyardError as reason:
        typer.echo(f"note: verdict.json could not be judged again: {reason.primary}", err=True)
        return
    if differences and differences[0].key == EDITED:
        typer.echo(
            "note: study.toml was edited after the weighing: what it says of arms and work is not "
            "what was measured. To weigh that: steelyard weigh "
            f"{shlex.quote(str(record.directory / 'study.toml'))}",
            err=True,
        )
        differences = differences[1:]
    if differences:
        typer.echo(
            f"note: verdict.json is not what its measurements give: {differences[0].key} and "
            f"{len(differences) - 1} more differ (steelyard report --rejudge). Judged again: "
            f"{judged.sentence}",
            err=True,
        )


def _judged_again(
    record: Record, recorded: Verdict, lines: RecordLines | None = None
) -> tuple[Verdict, Sequence[VerdictDifference]]:
    from steelyard.record.reader import read_recorded
    from steelyard.record.record import damage_named
    from steelyard.verdict.rejudge import differences, rejudge

    whole = read_recorded(record, lines)
    with damage_named():
        judged = rejudge(whole)
    return judged, [*_edited(record, whole.plan.study_sha256), *differences(recorded, judged)]


def _edited(record: Record, weighed: str) -> list[VerdictDifference]:
    """Where study.toml is not the one that was weighed: what it says of arms and work is not what
    was measured. `weighed`: the SHA-256 of that; empty in records of earlier versions."""
    from steelyard.record.record import STUDY_FILE
    from steelyard.telemetry.environment import file_sha256
    from steelyard.verdict.rejudge import VerdictDifference

    now = file_sha256(record.directory / STUDY_FILE)
    return [] if weighed in ("", now) else [VerdictDifference(EDITED, weighed, now)]


def _rejudge(record: Record, as_json: bool) -> None:
    """Nothing is written: the record keeps the verdict that was given."""
    from steelyard.model.errors import RecordError
    from steelyard.record.reader import read_verdict

    recorded = read_verdict(record)
    if recorded is None:
        raise RecordError(
            f'weighing has no verdict yet: "{record.directory}"',
            hint="steelyard weigh --resume goes on with it.",
        )
    judged, differences = _judged_again(record, recorded)
    if as_json:
        facts = {
            "same": not differences,
            "differences": [asdict(difference) for difference in differences],
        }
        typer.echo(json.dumps(facts))
        return
    typer.echo(judged.sentence)
    if not differences:
        typer.echo("same verdict as recorded, in numbers, words and threats")
    for difference in differences:
        typer.echo(
            f"{difference.key}: recorded {difference.recorded!r}, "
            f"judged again {difference.rejudged!r}"
        )
