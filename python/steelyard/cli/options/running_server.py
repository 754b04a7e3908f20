"""Copies a running server for `--from DSN`, after asking, and keeps the settings it reports."""

from __future__ import annotations

import os
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import typer

from steelyard.cli.command_line import say
from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.intake.running import (
    RunningServer,
    ask_running,
    back_up,
    reported_settings,
)
from steelyard.engines.postgres.life.configuration_text import configuration_text
from steelyard.model.errors import UsageError
from steelyard.model.units import format_bytes


@dataclass(frozen=True)
class BackedUp:
    """A base backup, which stays in the cache until it was taken in, and what belongs to it."""

    data: Path
    settings: Path
    partial: str  # why these are not all of the server's
    database: str | None  # None: the only one, or all
    slots: tuple[tuple[str, bool], ...]  # the server's replication slots: name, whether logical


def backed_up(target: str, database: str | None, *, agreed: bool) -> BackedUp:
    """A base backup of the server.

    UsageError: it was not agreed to, or there is no such database; ServerError: the server does not
    allow it.
    """
    server = ask_running(target)
    return _backed_up(server, server.require_database(database), agreed=agreed)


def back_up_whole(target: str, *, agreed: bool) -> BackedUp:
    """The same of all databases, none of which is chosen."""
    return _backed_up(ask_running(target), None, agreed=agreed)


def _backed_up(server: RunningServer, database: str | None, *, agreed: bool) -> BackedUp:
    size = "of unknown size" if server.bytes is None else format_bytes(server.bytes)
    words = (
        f"a base backup of PostgreSQL {server.version} ({size}): "
        "it begins with a checkpoint, and reads everything once"
    )
    if not agreed:
        if not sys.stdin.isatty():
            raise UsageError(f"not agreed to: {words}", hint="Agree with --yes.")
        if not typer.confirm(f"Take {words}?", err=True):
            raise UsageError("no base backup was taken")
    say(f"take {words}")
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    directory = open_cache().templates / f"backup-{stamp}-{target_name(server.target)}"
    try:
        back_up(server, directory, report=say)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    settings = _kept_settings(server, directory.with_name(f"{directory.name}.conf"))
    return BackedUp(directory / "data", settings, server.partial, database, server.slots)


def _kept_settings(server: RunningServer, file: Path) -> Path:
    """The server's settings as a file, which a resumed weighing reads again."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(
        os.open(file, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape"
    ) as f:
        f.write(configuration_text(reported_settings(server)))
    return file


def target_name(target: str) -> str:
    """A few letters of where it came from, for the name of a directory."""
    kept = "".join(one if one.isalnum() or one in "._-" else "_" for one in target)
    return kept[-40:].strip("_")
