"""`steelyard workloads capture`: makes a workload of what a server's clients did, by its log or by
passing them through."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.cli.driving.passing import Passed, PassingOptions
    from steelyard.workloads.capturing.mix import Mix
    from steelyard.workloads.capturing.writing import ErrorsOf

Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="FOLDER", help="The workload that is made.")
]
Logs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="LOG...", help="Logs of any format, packed or not. Or one DSN: its counters."
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        metavar="PORT", help="No log: pass clients of this port through, and record them."
    ),
]
To = Annotated[
    str | None, typer.Option(metavar="DSN", help="The server that they are passed through to.")
]
Length = Annotated[
    str | None,
    typer.Option("--for", metavar="DURATION", help="How long; default: until Ctrl-C."),
]
Certificate = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Of the port, for clients that encrypt.")
]
Key = Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")]
Prefix = Annotated[
    str | None,
    typer.Option(metavar="PREFIX", help="log_line_prefix of a stderr log, if not a usual one."),
]
Encoding = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of logs that are not UTF-8: LATIN1, WIN1252, EUC_JP."),
]
Database = Annotated[
    str | None, typer.Option(metavar="NAME", help="Only what was done in this database.")
]
Server = Annotated[
    str | None,
    typer.Option(metavar="DSN", help="Leave out what this server cannot prepare; runs nothing."),
]
Writes = Annotated[
    bool, typer.Option("--writes", help="Also transactions that write; for clones only.")
]
Redact = Annotated[bool, typer.Option("--redact", help="Hash texts, the same one always alike.")]
Most = Annotated[
    int, typer.Option("--most", min=1, max=999, help="Kinds: those that take most time.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def capture(
    output: Output,
    logs: Logs = None,
    listen: Listen = None,
    to: To = None,
    length: Length = None,
    certificate: Certificate = None,
    key: Key = None,
    prefix: Prefix = None,
    encoding: Encoding = None,
    database: Database = None,
    server: Server = None,
    writes: Writes = False,
    redact: Redact = False,
    most: Most = 50,
    as_json: AsJson = False,
) -> None:
    """Make a workload of a log: each kind of transaction a script with its weight and values.

    The server needs log_min_duration_statement = 0 for a while; with --listen nothing. Nothing
    leaves this machine.
    """
    from steelyard.cli.options.source_options import is_dsn
    from steelyard.workloads.capturing.shapes import require_pglast
    from steelyard.workloads.capturing.writing import require_new

    require_pglast()
    require_new(output)
    write = _Writing(output, writes, most, redact, server, database, as_json)
    if listen is not None:
        if logs or prefix or encoding:
            raise UsageError("option --listen takes the place of a log")
        if to is None:
            raise UsageError(
                "cannot pass connections through: no server is named", hint="--to DSN names it."
            )
        from steelyard.cli.driving.passing import read_passing
        from steelyard.engines.postgres.libpq.connection_string import read_target

        how = read_passing(listen, read_target(to), length, certificate, key)
        _passed(how, database, write)
        return
    if to or length or certificate or key:
        raise UsageError("options --to, --for, --certificate and --key belong to --listen PORT")
    if not logs:
        raise UsageError(
            "nothing to capture from: no log is named", hint="Name a log, a DSN, or --listen PORT."
        )
    target = " ".join(logs)
    if len(logs) == 1 and is_dsn(target):
        if prefix or database or encoding:
            raise UsageError("options --prefix, --encoding and --database belong to a log")
        mix, source = _counted(target), "the counters of a server"
        typer.echo(_DRAWN, err=True)
    else:
        mix = _logged([Path(log) for log in logs], prefix, encoding, database)
        source = ", ".join(Path(log).name for log in logs[:3]) + " ..." * (len(logs) > 3)
    write(mix, source)


@dataclass(frozen=True)
class _Writing:
    """Writes and shows what was captured, as the options say."""

    output: Path
    writes: bool
    most: int
    redact: bool
    server: str | None
    database: str | None
    as_json: bool

    def __call__(self, mix: Mix, source: str, passed: Passed | None = None) -> None:
        """UsageError: nothing is left that could be driven."""
        from steelyard.cli.views.text_layout import sentence_width
        from steelyard.cli.views.workload_view import capture_lines, captured_json
        from steelyard.workloads.capturing.writing import write_workload

        captured = write_workload(
            mix,
            self.output,
            name=_name(self.output),
            source=source,
            writes=self.writes,
            most=self.most,
            salt=secrets.token_bytes(16) if self.redact else None,
            errors_of=None if self.server is None else _errors_of(self.server),
        )
        if self.as_json:
            typer.echo(captured_json(captured, passed))
        else:
            lines = capture_lines(captured, passed, self.database, sentence_width())
            typer.echo("\n".join(lines))


def _passed(how: PassingOptions, database: str | None, write: _Writing) -> None:
    """Pass connections through, write what they executed, and pass on those that are open."""
    from steelyard.cli.driving import passing
    from steelyard.engines.postgres.sql.capture_source import defined_types, role_settings

    reader = passing.DatabaseReader(
        types=lambda database: defined_types(replace(how.target, database=database)),
        roles=lambda database: role_settings(replace(how.target, database=database)),
    )
    with passing.passing(how, write.output) as (proxy, notes):
        seconds = passing.wait(how, proxy.address)
        proxy.stop()
        status = proxy.status()
        try:
            mix = passing.passed_mix(notes, status, database, reader)
            write(mix, "connections", passing.Passed(seconds, status, passing.added_by(proxy)))
        finally:
            passing.wait_for_clients(proxy)


_DRAWN = (
    "note: what was counted has no values: they are drawn from the planner's statistics of the "
    "columns that they meet, each by itself, of a column of many values no more than its histogram "
    "has (default_statistics_target, 100), which a cache holds; statements of one transaction come "
    "apart; a log has the values themselves"
)


def _logged(
    logs: Sequence[Path], prefix: str | None, encoding: str | None, database: str | None
) -> Mix:
    from steelyard.workloads.capturing.entries import read_entries
    from steelyard.workloads.capturing.ledger import CaptureLedger, StatementOutcome
    from steelyard.workloads.capturing.mix import mix_of
    from steelyard.workloads.capturing.statements import statements
    from steelyard.workloads.capturing.transactions import transactions

    ledger = CaptureLedger()
    events = statements(read_entries(logs, prefix, encoding), ledger, database)
    mix = mix_of(transactions(events), ledger=ledger)
    if not ledger.read:
        counts = {"Plans of auto_explain": ledger.plans, "Entries of pgAudit": ledger.audited}
        raise UsageError(
            "the log holds no statement",
            detail=" ".join(f"{what} are none." for what, count in counts.items() if count) or None,
            hint="log_min_duration_statement = 0 logs every statement with its parameters.",
        )
    if database is not None and not ledger.databases:
        raise UsageError(
            f'cannot tell which statements are of database "{database}": the log does not say',
            hint="log_line_prefix needs %d for it; without --database all are taken.",
        )
    if ledger.statements[StatementOutcome.OTHER_DATABASE] == ledger.read:
        others = ", ".join(sorted(ledger.databases))
        raise UsageError(
            f'the log holds no statement of database "{database}"', detail=f"It has: {others}."
        )
    return mix


def _counted(target: str) -> Mix:
    from steelyard.engines.postgres.libpq.connection_string import read_target
    from steelyard.engines.postgres.sql.capture_source import column_statistics, counted_statements
    from steelyard.workloads.capturing.parameter_columns import mix_of_counted

    endpoint = read_target(target)
    counted = counted_statements(endpoint)
    mix = mix_of_counted(counted.statements, lambda tables: column_statistics(endpoint, tables))
    mix.ledger.forgotten = counted.forgotten
    return mix


def _errors_of(server: str) -> ErrorsOf:
    from steelyard.engines.postgres.libpq.connection_string import read_target
    from steelyard.engines.postgres.sql.capture_source import parse_errors

    endpoint = read_target(server)
    return lambda texts: parse_errors(endpoint, texts)


def _name(folder: Path) -> str:
    """A workload's name of a folder's: letters of ASCII, as any has."""
    name = re.sub(r"[^A-Za-z0-9_.+-]", "-", folder.absolute().name)
    return name if name[:1].isalnum() else f"captured{name}"
