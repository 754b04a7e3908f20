"""The options of `steelyard drive`; those of pgbench's names mean what they mean there."""

from __future__ import annotations

from typing import Annotated

import typer

from steelyard.cli.commands.drive_scripts import BUILTIN_NAMES

TargetText = Annotated[
    str,
    typer.Argument(help="Connection string, URI, or name of a database; empty: the environment."),
]
Database = Annotated[
    str | None, typer.Option("-d", "--dbname", help="The target, said by an option.")
]
Host = Annotated[
    str | None, typer.Option("-h", "--host", help="Of the server, or its socket directory.")
]
Port = Annotated[str | None, typer.Option("-p", "--port", help="Of the server.")]
User = Annotated[str | None, typer.Option("-U", "--username", help="As whom to connect.")]
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
    float | None, typer.Option("-T", "--time", min=0.05, help="How long, in seconds; 10 without.")
]
Transactions = Annotated[
    int | None, typer.Option("-t", "--transactions", min=1, help="Of each client, instead of -T.")
]
Mode = Annotated[str, typer.Option("-M", "--protocol", help="simple, extended or prepared.")]
Definitions = Annotated[
    list[str] | None, typer.Option("-D", "--define", help="A variable, as NAME=VALUE.")
]
Scale = Annotated[
    int | None,
    typer.Option("-s", "--scale", min=1, help="Of pgbench's tables; read from them without."),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "-R", "--rate", help="Transactions that arrive in a second, by a Poisson process."
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
        "-L", "--latency-limit", help="Milliseconds: slower is counted, later is skipped."
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
    float | None, typer.Option("-P", "--progress", min=0.05, help="Seconds between progress lines.")
]
LogToFile = Annotated[
    bool, typer.Option("-l", "--log", help="Write pgbench's log of transactions.")
]
LogPrefix = Annotated[str, typer.Option(help="Of the log's file names: PREFIX.PID.")]
AggregateInterval = Annotated[
    int | None, typer.Option(min=1, help="Seconds that a line of the log adds up.")
]
SamplingRate = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="Share of transactions in the log.")
]
ProgressTimestamp = Annotated[
    bool, typer.Option("--progress-timestamp", help="Progress lines bear the Unix time.")
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
Seed = Annotated[
    int | None, typer.Option("--seed", "--random-seed", min=0, help="Of all random keys.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
