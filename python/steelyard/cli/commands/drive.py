"""`steelyard drive`: puts one server under load and shows throughput and percentiles."""

from __future__ import annotations

from typing import Any

import typer

from steelyard.cli.options import drive_parameters as parameter
from steelyard.model.errors import UsageError

_ORDER = f"{__name__}.order"


class DriveCommand(typer.core.TyperCommand):
    """Says of an option of pgbench that `drive` does not have what to use instead, and keeps the
    order of the options, by which pgbench numbers scripts."""

    def make_parser(self, ctx: Any) -> Any:
        """As of every command; their names come to stand in the context."""
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_in_order(args: list[str]) -> Any:
            values, rest, order = parse(args)
            ctx.meta[_ORDER] = tuple(option.name for option in order)
            return values, rest, order

        parser.parse_args = parse_in_order
        return parser

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As every command. UsageError: an option of pgbench that is not here."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            option = str(getattr(error, "option_name", ""))
            instead = parameter.instead_of(option)
            if instead is None:
                raise
            raise UsageError(
                f'cannot take option "{option}" of pgbench: `drive` does not have it', hint=instead
            ) from error


def register(app: typer.Typer) -> None:
    """Add the command."""
    # As with pgbench, -h is the host.
    names = {"help_option_names": ["-?", "--help"]}
    epilog = parameter.pgbench_epilog()
    app.command("drive", cls=DriveCommand, context_settings=names, epilog=epilog)(drive)


def drive(
    context: typer.Context,
    target: parameter.TargetText = "",
    dbname: parameter.Database = None,
    host: parameter.Host = None,
    port: parameter.Port = None,
    username: parameter.User = None,
    file: parameter.Files = None,
    builtin: parameter.Builtins = None,
    workload: parameter.WorkloadName = None,
    overrides: parameter.Overrides = None,
    check: parameter.Check = False,
    yes: parameter.Yes = False,
    failing: parameter.FailingScripts = None,
    select_only: parameter.SelectOnly = False,
    skip_some_updates: parameter.SkipUpdates = False,
    clients: parameter.Clients = 1,
    threads: parameter.Threads = 1,
    seconds: parameter.Seconds = None,
    transactions: parameter.Transactions = None,
    mode: parameter.Mode = None,
    define: parameter.Definitions = None,
    scale: parameter.Scale = None,
    rate: parameter.Rate = None,
    pace: parameter.Pace = None,
    ramp: parameter.Ramp = None,
    latency_limit: parameter.LatencyLimit = None,
    max_tries: parameter.MaxTries = 1,
    connect: parameter.Connect = False,
    report_per_command: parameter.PerCommand = False,
    progress: parameter.Progress = None,
    log: parameter.LogToFile = False,
    log_prefix: parameter.LogPrefix = None,
    aggregate_interval: parameter.AggregateInterval = None,
    sampling_rate: parameter.SamplingRate = None,
    failures_detailed: parameter.FailuresDetailed = False,
    continue_on_error: parameter.ContinueOnError = False,
    exit_on_abort: parameter.ExitOnAbort = False,
    progress_timestamp: parameter.ProgressTimestamp = False,
    no_vacuum: parameter.NoVacuum = False,
    show_script: parameter.ShowScript = None,
    placement: parameter.Placement = "auto",
    seed: parameter.Seed = None,
    as_json: parameter.AsJson = False,
) -> None:
    """Put one server under load, as pgbench does, and show throughput and percentiles.

    It runs what the scripts say: the built-in ones but select-only change the pgbench tables, and a
    workload (-w) the database "steelyard" that `workloads load` made.
    Options of pgbench's name mean what they mean there. What a TARGET may be is in
    docs/reference/connections.md, what a script may hold in docs/reference/scripts.md.
    """
    options = locals()  # every option by its name
    options["order"] = options.pop("context").meta[_ORDER]
    from steelyard.cli.driving.run import run_drive
    from steelyard.cli.options.drive_options import DriveOptions

    run_drive(DriveOptions(**options))
