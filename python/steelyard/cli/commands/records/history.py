"""`steelyard history`: lists, compares, follows and exports what was weighed before, and finds in
which version, commit or value an answer changed.
"""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from steelyard.cli.command_line import Group
from steelyard.cli.options import weigh_parameters as parameter
from steelyard.cli.options.records_option import (
    RECORDS,
    RecordsOption,
    name_unread,
    require_own_place,
    require_unchanged,
)

sub = typer.Typer(
    cls=Group,
    invoke_without_command=True,
    help="List, compare, follow and export what was weighed before.",
)
_Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
_Rebuild = Annotated[
    bool, typer.Option("--rebuild", help="Forget the index and take the folders as they are.")
]


def register(app: typer.Typer) -> None:
    """Add the command and its subcommands."""
    app.add_typer(sub, name="history")


@sub.callback()
def history(
    context: typer.Context, records: RecordsOption = RECORDS, as_json: _Json = False
) -> None:
    """List, compare, follow and export what was weighed before."""
    if context.invoked_subcommand is None:
        list_history(records, as_json=as_json)


@sub.command("bisect")
def bisect(
    study: Annotated[
        str | None, typer.Argument(help="A study of one arm: versions, builds, settings, a file.")
    ] = None,
    along: Annotated[
        str | None,
        typer.Option(
            metavar="KEY=V,V,...",
            help="Values of an arm's key in their order: version=16.14,17.0,18.4",
        ),
    ] = None,
    commits: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Commits, oldest first: git log --reverse --format=%H FROM..TO"
        ),
    ] = None,
    build: Annotated[
        str | None,
        typer.Option(
            metavar="COMMAND", help="Builds $COMMIT into $PREFIX, for which it needs bin/postgres."
        ),
    ] = None,
    budget: parameter.Budget = None,
    overrides: parameter.Overrides = None,
    file: parameter.Scripts = None,
    workload: parameter.Workload = None,
    yes: parameter.YesAtAddress = False,
    seed: parameter.Seed = None,
    record: parameter.RecordPlace = None,
    resume: parameter.Resume = None,
    account: parameter.AccountName = None,
    as_json: parameter.AsJson = False,
) -> None:
    """Weigh the ends of a row, then what lies in the middle beside both, until one step is left."""
    from steelyard.cli.options.weigh_options import changes_of, repeating_command
    from steelyard.cli.weighing.bisect import BisectRequest, begin_bisect, resume_bisect

    require_own_place("history bisect", resume, seed, record)
    changes = changes_of(overrides, budget, workload, file)
    if resume is not None:
        changed = bool(study or changes or along or commits or build)
        require_unchanged("a search", "history bisect", changed=changed)
        resume_bisect(resume, account, as_json=as_json, agreed=yes)
        return
    drawn = secrets.randbelow(2**31) if seed is None else seed
    command = repeating_command(sys.argv[1:], drawn)
    begin_bisect(
        BisectRequest(
            study=study,
            along=along,
            commits=commits,
            build=build,
            changes=changes,
            seed=drawn,
            record=record,
            account=account,
            command=command,
            as_json=as_json,
            agreed=yes,
        )
    )


@sub.command("list")
def list_history(
    records: RecordsOption = RECORDS,
    study: Annotated[str | None, typer.Option("--study", help="Of this study alone.")] = None,
    machine: Annotated[
        str | None, typer.Option("--machine", help="Whose machine's name holds this.")
    ] = None,
    verdict: Annotated[
        str | None, typer.Option("--verdict", help="With a contrast of this verdict.")
    ] = None,
    doubt: Annotated[str | None, typer.Option("--doubt", help="With a doubt of this name.")] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="From this day on: 2026-03-01.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="DATE", help="Up to this day.")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Judge every record again; name those that differ.")
    ] = False,
    rebuild: _Rebuild = False,
    as_json: _Json = False,
) -> None:
    """List the records below a folder, the newest first."""
    from steelyard.cli.views.history.list_view import history_lines
    from steelyard.history.filter import (
        Filter,
        day,
        matching_entries,
        require_possible,
        verdict_word,
    )
    from steelyard.history.index import read_history

    criteria = Filter(study, machine, verdict_word(verdict), doubt, day(since), day(until))
    index = read_history(records, rebuild=rebuild)
    require_possible(index.entries, criteria)
    if verify:
        from steelyard.history.verify import verified

        index = verified(index)
    entries = matching_entries(index.entries, criteria)
    if as_json:
        rows = [entry.to_json() for entry in entries]
        typer.echo(
            json.dumps({"records": rows, "unread": [refused.to_json() for refused in index.unread]})
        )
        return
    typer.echo("\n".join(history_lines(entries, index.unread_summary, index.entries)))


@sub.command("compare")
def compare(
    named: Annotated[
        list[str], typer.Argument(metavar="FIRST SECOND", help="Two records, by their folders.")
    ],
    records: RecordsOption = RECORDS,
    as_json: _Json = False,
) -> None:
    """Compare two records: what differed, both verdicts, and their ratio where there is one."""
    from steelyard.cli.views.history.comparison_view import comparison_lines, require_two
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.history.compare import compare_records, find_record

    first, second = (find_record(records, name) for name in require_two(named))
    compared = compare_records(first, second)
    if as_json:
        typer.echo(json.dumps(compared.to_json()))
        return
    typer.echo("\n".join(comparison_lines(compared, terminal_width())))


@sub.command("trend")
def trend(
    question: Annotated[
        str, typer.Argument(help="A study, or a question as `history list --json` names it.")
    ],
    by: Annotated[
        str, typer.Option("--by", help="In the order of time, version or commit.")
    ] = "time",
    commits: Annotated[
        Path | None,
        typer.Option(
            "--commits", metavar="FILE", help="Commits, oldest first: git log --reverse --format=%H"
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option("--machine", help="Whose name holds this; default: most weighings."),
    ] = None,
    records: RecordsOption = RECORDS,
    as_json: _Json = False,
) -> None:
    """Follow one question over time, versions or commits, and say where its level steps."""
    from steelyard.cli.views.history.comparison_view import trend_lines
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.history.filter import the_machine, the_question
    from steelyard.history.index import read_history
    from steelyard.history.question import questions_of
    from steelyard.history.trend import read_commits, read_order, trend_of

    order = read_order(by if commits is None else "commit")
    index = read_history(records)
    name_unread(index)
    question_history = the_question(questions_of(index.entries), question)
    followed = trend_of(
        question_history, the_machine(question_history, machine), order, read_commits(commits)
    )
    if as_json:
        unread = [refused.to_json() for refused in index.unread]
        typer.echo(json.dumps({**followed.to_json(), "unread": unread}))
        return
    typer.echo("\n".join(trend_lines(followed, terminal_width())))


@sub.command("export")
def export_history(
    file: Annotated[
        Path,
        typer.Argument(help="Written; .csv, .sqlite, .parquet or .prom say the format."),
    ],
    form: Annotated[
        str | None, typer.Option("--format", help="csv, sqlite, parquet or openmetrics.")
    ] = None,
    latest: Annotated[
        bool,
        typer.Option("--latest", help="The newest of each question and machine alone."),
    ] = False,
    records: RecordsOption = RECORDS,
    as_json: _Json = False,
) -> None:
    """Write a row a contrast: as CSV, SQLite, Parquet or OpenMetrics text."""
    from steelyard.history.export import export, format_of
    from steelyard.history.index import read_history
    from steelyard.model.units import counted

    chosen_form = format_of(file, form)
    index = read_history(records)
    rows = export(index.entries, file, chosen_form, latest=latest)
    if as_json:
        facts = {"file": str(file), "format": chosen_form, "rows": rows}
        typer.echo(json.dumps({**facts, "unread": [refused.to_json() for refused in index.unread]}))
        return
    typer.echo(f"{file}: {counted(rows, 'rows')}")
    name_unread(index)
