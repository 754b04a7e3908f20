"""`steelyard workloads capture`: makes a workload of what a server's log says its clients did."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.workloads.capturing.mix import Mix
    from steelyard.workloads.capturing.writing import ErrorsOf


def capture(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...", help="Logs of any format, packed or not. Or one DSN: its counters."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="The workload that is made.")
    ],
    prefix: Annotated[
        str | None,
        typer.Option(metavar="PREFIX", help="log_line_prefix of a stderr log, if not a usual one."),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of logs that are not UTF-8: LATIN1, WIN1252, EUC_JP."),
    ] = None,
    database: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only what was done in this database.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="DSN", help="Leave out what this server cannot prepare; runs nothing."
        ),
    ] = None,
    writes: Annotated[
        bool, typer.Option("--writes", help="Also transactions that write; for clones only.")
    ] = False,
    redact: Annotated[
        bool, typer.Option("--redact", help="Hash texts, the same one always alike.")
    ] = False,
    most: Annotated[
        int, typer.Option("--most", min=1, max=999, help="Kinds: those that take most time.")
    ] = 50,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output.")
    ] = False,
) -> None:
    """Make a workload of a log: each kind of transaction a script with its weight and values.

    The server needs log_min_duration_statement = 0 for a while. Nothing leaves this machine.
    """
    from steelyard.cli.options.source_options import is_dsn
    from steelyard.cli.views.capture_view import capture_lines, captured_json
    from steelyard.workloads.capturing.shapes import require_pglast
    from steelyard.workloads.capturing.writing import write_workload

    require_pglast()
    target = " ".join(logs)
    if len(logs) == 1 and is_dsn(target):
        if prefix or database or encoding:
            raise UsageError("options --prefix, --encoding and --database belong to a log")
        mix, source = _counted(target), "the counters of a server"
        typer.echo(_DRAWN, err=True)
    else:
        mix = _logged([Path(log) for log in logs], prefix, encoding, database)
        source = ", ".join(Path(log).name for log in logs[:3]) + " ..." * (len(logs) > 3)
    captured = write_workload(
        mix,
        output,
        name=_name(output),
        source=source,
        writes=writes,
        most=most,
        salt=secrets.token_bytes(16) if redact else None,
        errors_of=None if server is None else _errors_of(server),
    )
    typer.echo(captured_json(captured) if as_json else "\n".join(capture_lines(captured)))


_DRAWN = (
    "note: what was counted has no values: they are drawn from the planner's statistics of the "
    "columns that they meet, each by itself; statements of one transaction come apart"
)


def _logged(
    logs: Sequence[Path], prefix: str | None, encoding: str | None, database: str | None
) -> Mix:
    from steelyard.workloads.capturing.entries import read_entries
    from steelyard.workloads.capturing.ledger import Ledger, Outcome
    from steelyard.workloads.capturing.mix import mix_of
    from steelyard.workloads.capturing.statements import statements
    from steelyard.workloads.capturing.transactions import transactions

    ledger = Ledger()
    events = statements(read_entries(logs, prefix, encoding), ledger, database)
    mix = mix_of(transactions(events), ledger=ledger)
    if not ledger.read:
        raise UsageError(
            "the log holds no statement",
            detail="Plans of auto_explain are none." if ledger.plans else None,
            hint="log_min_duration_statement = 0 logs every statement with its parameters.",
        )
    if database is not None and not ledger.databases:
        raise UsageError(
            f'cannot tell which statements are of database "{database}": the log does not say',
            hint="log_line_prefix needs %d for it; without --database all are taken.",
        )
    if ledger.statements[Outcome.OTHER_DATABASE] == ledger.read:
        others = ", ".join(sorted(ledger.databases - {""}))
        raise UsageError(
            f'the log holds no statement of database "{database}"', detail=f"It has: {others}."
        )
    return mix


def _counted(target: str) -> Mix:
    from steelyard.engines.postgres.libpq.connection_string import read_target
    from steelyard.engines.postgres.sql.statement_mix import column_statistics, counted_statements
    from steelyard.workloads.capturing.counted import mix_of_counted

    place = read_target(target)
    return mix_of_counted(
        counted_statements(place), lambda tables: column_statistics(place, tables)
    )


def _errors_of(server: str) -> ErrorsOf:
    from steelyard.engines.postgres.libpq.connection_string import read_target
    from steelyard.engines.postgres.sql.statement_mix import parse_errors

    place = read_target(server)
    return lambda texts: parse_errors(place, texts)


def _name(folder: Path) -> str:
    """A workload's name of a folder's."""
    name = "".join(c if c.isalnum() or c in "_.+-" else "-" for c in folder.absolute().name)
    return name if name[:1].isalnum() else f"captured{name}"
