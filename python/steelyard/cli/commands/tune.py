"""`steelyard tune`: proposes settings from memory, processors, storage and the kind of work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from steelyard.cli.options import weigh_parameters as parameter
from steelyard.model.errors import UsageError

if TYPE_CHECKING:
    from steelyard.tuning.profile.advice import Profile

ABLATION = "tuning-ablation"
CLIENTS = 100
"""A server's own default of max_connections."""

Place = Annotated[
    Path | None,
    typer.Argument(metavar="DIR", help="Where the data stand or would stand; the cache without."),
]
Form = Literal["text", "conf", "sql", "arm"]
Forms = Annotated[
    Form, typer.Option("--format", help="A table, postgresql.conf, ALTER SYSTEM, a study's arm.")
]
Name = Annotated[
    Literal["ours", "theirs", "theirs-literal"],
    typer.Option("--profile", help="Ours; the NVMe study's table, scaled or as printed."),
]
Kind = Annotated[
    Literal["oltp", "olap", "mixed"],
    typer.Option("--work", help="Short transactions, long queries, or both."),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="The server's own; the machine's without."),
]
Processors = Annotated[int | None, typer.Option(min=1, help="The server's; this machine's.")]
Clients = Annotated[
    int | None, typer.Option("-c", "--clients", min=1, help="Sessions at work at once; 100.")
]
Data = Annotated[str | None, typer.Option("--data", metavar="SIZE", help="Of the database.")]
Servers = Annotated[int, typer.Option(min=1, help="Servers that stand here at once, and share.")]
Version = Annotated[str, typer.Option("--version", help="Of PostgreSQL, or an engine's name.")]
Bindir = Annotated[Path | None, typer.Option("--bindir", help="A build's programs instead.")]
AsUser = Annotated[str | None, typer.Option("--as", metavar="USER", help="The servers' account.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write it.")]
Ablate = Annotated[
    bool,
    typer.Option("--ablate", help="Weigh it: each group of settings goes back to the defaults."),
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune")(tune)


def tune(
    directory: Place = None,
    memory: Memory = None,
    processors: Processors = None,
    work: Kind = "oltp",
    clients: Clients = None,
    data: Data = None,
    servers: Servers = 1,
    profile: Name = "ours",
    form: Forms = "text",
    output: Output = None,
    version: Version = "18",
    bindir: Bindir = None,
    account: AsUser = None,
    ablate: Ablate = False,
    overrides: parameter.Overrides = None,
    budget: parameter.Budget = None,
    seed: parameter.Seed = None,
    record: parameter.RecordPlace = None,
    as_json: AsJson = False,
) -> None:
    """Propose settings: each with its reason and source, and where sources disagree.

    It prints and changes nothing. What the build accepts is asked of a server made for that. With
    --ablate it weighs study tuning-ablation, to which --set, --budget, --seed and --record belong.
    """
    if ablate:
        from steelyard.cli.commands.weigh import weigh

        own = [] if clients is None else [f"workload.clients={clients}"]
        weigh(
            ABLATION,
            overrides=[*own, *(overrides or ())],
            budget=budget,
            seed=seed,
            record=record,
            account=account,
            as_json=as_json,
        )
        return
    if overrides or budget or seed is not None or record:
        raise UsageError("options --set, --budget, --seed and --record belong to --ablate")

    from steelyard.cli.options.sizes import size_option
    from steelyard.engines.adapters import Wanted
    from steelyard.engines.cache import cache_root, open_cache
    from steelyard.tuning.profile.asking import ask_build
    from steelyard.tuning.profile.proposing import Wish, propose

    cap, size = size_option(memory), size_option(data)
    wish = Wish(profile, work, clients or CLIENTS, cap, servers, processors, size)
    accepting = ask_build("postgres", Wanted(version, bindir), account)
    made = propose(wish, accepting, directory or open_cache().root, cache_root())
    build = f"PostgreSQL {accepting.identity.version}"
    text = json.dumps(made.to_json()) + "\n" if as_json else _form(made, form, build)
    if output is None:
        typer.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")
        typer.echo(f"{len(made.advice)} settings written to {output}", err=True)


def _form(made: Profile, form: Form, build: str) -> str:
    from steelyard.cli.views.machine.profile_view import profile_lines
    from steelyard.cli.views.text_layout import terminal_width
    from steelyard.tuning.profile.forms import as_arm, as_configuration, as_sql

    if form == "text":
        return "\n".join(profile_lines(made, build, terminal_width())) + "\n"
    return {"conf": as_configuration, "sql": as_sql, "arm": as_arm}[form](made)
