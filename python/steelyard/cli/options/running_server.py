"""Copies a running server for `--from DSN`, after asking."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import typer

from steelyard.engines.cache import open_cache
from steelyard.engines.postgres.intake.running import ask_running, back_up
from steelyard.model.errors import UsageError
from steelyard.model.units import format_bytes


def backed_up(target: str, *, agreed: bool) -> Path:
    """A base backup of the server, in the cache; it stays there until it was taken in.

    UsageError: it was not agreed to; ServerError: the server does not allow it.
    """
    server = ask_running(target)
    words = (
        f"a base backup of PostgreSQL {server.version} ({format_bytes(server.bytes)}): "
        "it begins with a checkpoint, and reads everything once"
    )
    if not agreed:
        if not sys.stdin.isatty():
            raise UsageError(f"not agreed to: {words}", hint="Agree with --yes.")
        if not typer.confirm(f"Take {words}?", err=True):
            raise UsageError("no base backup was taken")
    typer.echo(f"take {words}", err=True)
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    directory = open_cache().templates / f"backup-{stamp}-{target_name(server.target)}"
    try:
        back_up(server, directory)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    return directory / "data"


def target_name(target: str) -> str:
    """A few letters of where it came from, for the name of a directory."""
    kept = "".join(one if one.isalnum() or one in "._-" else "_" for one in target)
    return kept[-40:].strip("_")
