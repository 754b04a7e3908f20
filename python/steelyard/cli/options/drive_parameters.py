"""Declares the parameters of `steelyard drive`; pgbench's names mean what they mean in pgbench."""

from __future__ import annotations

from typing import Annotated

import typer

from steelyard.cli.options.sizes import finite

BUILTIN_NAMES = ("tpcb-like", "simple-update", "select-only")

TargetText = Annotated[
    str,
    typer.Argument(
        help="Connection string, URI (mysql:// and sqlserver:// too), or name of a database; "
        "empty: the environment."
    ),
]
Database = Annotated[
    str | None, typer.Option("-d", "--dbname", help="The target, given by an option.")
]
Host = Annotated[
    str | None, typer.Option("-h", "--host", help="Of the server, or its socket directory.")
]
Port = Annotated[str | None, typer.Option("-p", "--port", help="Of the server.")]
User = Annotated[str | None, typer.Option("-U", "--username", help="User to connect as.")]
Files = Annotated[
    list[str] | None,
    typer.Option("-f", "--file", help="Script file, as PATH or PATH@WEIGHT; - is standard input."),
]
Builtins = Annotated[
    list[str] | None,
    typer.Option(
        "-b",
        "--builtin",
        help=f"{', '.join(BUILTIN_NAMES)}, or NAME@WEIGHT; list: which there are.",
    ),
]
SelectOnly = Annotated[bool, typer.Option("-S", "--select-only", help="As -b select-only.")]
SkipUpdates = Annotated[
    bool, typer.Option("-N", "--skip-some-updates", help="As -b simple-update.")
]
Clients = Annotated[int, typer.Option("-c", "--client", min=1, help="Connections.")]
Threads = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Driver threads.")]
Seconds = Annotated[
    float | None,
    typer.Option(
        "-T", "--time", min=0.05, callback=finite, help="How long, in seconds; default: 10."
    ),
]
Transactions = Annotated[
    int | None, typer.Option("-t", "--transactions", min=1, help="Of each client, instead of -T.")
]
Mode = Annotated[
    str | None,
    typer.Option("-M", "--protocol", help="simple, extended or prepared; of -w: as it is meant."),
]
WorkloadName = Annotated[
    str | None,
    typer.Option("-w", "--workload", help="What `workloads load` put into the server."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="An option of the workload: profile=hammerdb."),
]
Check = Annotated[
    bool, typer.Option("--check", help="Of -w: whether its data are consistent afterwards.")
]
Yes = Annotated[
    bool,
    typer.Option("--yes", help="Drive captured transactions that write, which change its data."),
]
FailingScripts = Annotated[
    str | None,
    typer.Option(
        "--failing",
        metavar="leave-out|refuse",
        help="Of -w: what becomes of a read that fails when it is executed once before the load.",
    ),
]
Definitions = Annotated[
    list[str] | None, typer.Option("-D", "--define", help="A variable, as NAME=VALUE.")
]
Scale = Annotated[
    int | None,
    typer.Option("-s", "--scale", min=1, help="Of pgbench's tables; default: read from them."),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "-R",
        "--rate",
        callback=finite,
        help="Transactions that arrive in a second, by a Poisson process.",
    ),
]
Pace = Annotated[
    float | None,
    typer.Option(
        callback=finite,
        help="Repeat a captured workload's arrivals at so many times their pace: 1, 2, 0.5, ...",
    ),
]
Ramp = Annotated[
    str | None,
    typer.Option(
        help="Rates one after the other, which share -T: FROM:TO, FROM:TO:STEPS, or RATE,RATE,…"
    ),
]
LatencyLimit = Annotated[
    float | None,
    typer.Option(
        "-L",
        "--latency-limit",
        callback=finite,
        help="Milliseconds: slower is counted, later is skipped.",
    ),
]
MaxTries = Annotated[
    int,
    typer.Option(
        min=0, help="Of a transaction that fails to serialize or is in a deadlock; 0: no limit."
    ),
]
Connect = Annotated[
    bool, typer.Option("-C", "--connect", help="A new connection for each transaction.")
]
PerCommand = Annotated[bool, typer.Option("-r", "--report-per-command", help="Time each command.")]
Progress = Annotated[
    float | None,
    typer.Option(
        "-P", "--progress", min=0.05, callback=finite, help="Seconds between progress lines."
    ),
]
LogToFile = Annotated[
    bool, typer.Option("-l", "--log", help="Write pgbench's log of transactions.")
]
LogPrefix = Annotated[
    str | None, typer.Option(help="Of the log's file names: PREFIX.PID; default: pgbench_log.")
]
AggregateInterval = Annotated[
    int | None, typer.Option(min=1, help="Seconds that a line of the log adds up.")
]
SamplingRate = Annotated[
    float | None,
    typer.Option(min=0.0, max=1.0, callback=finite, help="Share of transactions in the log."),
]
ProgressTimestamp = Annotated[
    bool, typer.Option("--progress-timestamp", help="Progress lines show the Unix time.")
]
NoVacuum = Annotated[
    bool, typer.Option("-n", "--no-vacuum", help="Always so: nothing is vacuumed before.")
]
ShowScript = Annotated[
    str | None, typer.Option("--show-script", help="Show a built-in script, and exit.")
]
FailuresDetailed = Annotated[bool, typer.Option(help="Name the kinds of failures in the log.")]
Placement = Annotated[
    str,
    typer.Option(
        help="symmetric: each backend on the processor of its driver thread; free; or auto: "
        "symmetric for scripts that only read, on a server of this machine, with a thread for "
        "every processor."
    ),
]
ContinueOnError = Annotated[
    bool,
    typer.Option(
        "--continue-on-error",
        help="Always so; with it the log's totals count failures of other kinds too.",
    ),
]
ExitOnAbort = Annotated[
    bool,
    typer.Option(
        "--exit-on-abort",
        help="End the load when a connection is lost or, without --continue-on-error, a statement "
        "fails by other than serialization or deadlock.",
    ),
]
Seed = Annotated[
    str | None,
    typer.Option(
        "--seed",
        "--random-seed",
        help="Of all random keys: a number, time, or rand; default: PGBENCH_RANDOM_SEED, or rand.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]

ELSEWHERE = {
    "-i, --initialize": "`pgbench -i` fills the tables; `steelyard weigh` fills its own.",
    "-I, --init-steps": "As -i.",
    "-F, --fillfactor": "As -i.",
    "-q, --quiet": "As -i.",
    "--foreign-keys": "As -i.",
    "--index-tablespace": "As -i.",
    "--partition-method": "As -i.",
    "--partitions": "As -i.",
    "--tablespace": "As -i.",
    "--unlogged-tables": "As -i.",
    "-v, --vacuum-all": "Run VACUUM yourself before; `drive` executes scripts and nothing else.",
    "--verbose-errors": "Always so: the first message of each SQLSTATE stands with the results.",
    "--debug": "debug() in a script prints; --json has every count.",
    "-V, --version": "`steelyard --version`.",
}
"""Every option of pgbench 18 that is not one of ours by the same name, and what to use instead."""


def instead_of(option: str) -> str | None:
    """What to use instead of an option of pgbench that is not here; None: it is no such option."""
    for names, instead in ELSEWHERE.items():
        if option in names.split(", "):
            return ELSEWHERE["-i, --initialize"] if instead == "As -i." else instead
    return None


def pgbench_epilog() -> str:
    """pgbench's options that `drive` does not have, and what to use instead, for the help."""
    width = max(map(len, ELSEWHERE))
    lines = [f"  {name:<{width}}  {instead}" for name, instead in ELSEWHERE.items()]
    heading = (
        "Options of pgbench that are not here, and what to use instead; all others are the same:"
    )
    return "\n".join(["\b", heading, *lines])
