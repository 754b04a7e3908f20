"""Turns `--from` into overrides of a study: external data in place of what would be loaded.

Copies a running server for `--from DSN`, after asking, and keeps the settings it reports.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from steelyard.cli.command_line import say
from steelyard.cli.options.address_options import with_own_workload
from steelyard.engines.postgres.libpq.connection_words import (
    WELL_WRITTEN,
    is_miswritten,
    without_secrets,
)
from steelyard.model.errors import UsageError
from steelyard.model.units import format_bytes
from steelyard.study.address import server_text
from steelyard.study.change import Change
from steelyard.study.read import own_table

if TYPE_CHECKING:
    from steelyard.engines.postgres.intake.running import RunningServer


@dataclass(frozen=True)
class SourceOptions:
    """The options about external data: `--from`, `--database`, `--config`, `--yes`, `--as`."""

    place: str | None
    database: str | None
    config: str | None
    agreed: bool
    """Whether a running server may be copied without asking."""
    account: str | None = None
    """Of the servers, which a copy then belongs to."""

    def changes(self, changes: Sequence[str], study: str | None = None) -> list[str]:
        """The overrides of a command with those of its data; without a workload of its own, or one
        of the user's study file, what is driven are the user's scripts."""
        return self.located(self.driven(changes, study))

    def driven(self, changes: Sequence[str], study: str | None = None) -> list[str]:
        """The same without where the data are: nothing is copied yet."""
        if self.place is None:
            if self.database or self.config:
                name = "--database" if self.database else "--config"
                raise UsageError(f"option {name} belongs to --from")
            return list(changes)
        return with_own_workload(changes, None if study is None else own_table(study))

    def located(self, driven: Sequence[str]) -> list[str]:
        """With where the data are: a running server is copied for it."""
        if self.place is None:
            return [*driven]
        if is_dsn(self.place):
            return [*driven, *self._of_server()]
        path = os.path.abspath(os.path.expanduser(self.place))
        keys = {"place": path, "database": self.database, "config": self._config()}
        return [*driven, *_source(keys)]

    def _of_server(self) -> list[str]:
        """Of a running server a base backup is taken first; its settings are those it reports,
        unless a file is named."""

        assert self.place is not None  # the caller asks where there is one
        backup = backed_up(self.place, self.database, self.account, agreed=self.agreed)
        keys = {"place": str(backup.data), "database": backup.database, "config": self._config()}
        keys |= {"server": backup.server or None}
        if self.config is None:
            keys |= {"config": str(backup.settings), "partial": backup.partial or None}
        reported = [Change("source.reported", True)] if self.config is None else []
        return [*_source(keys), *reported]

    def _config(self) -> str | None:
        return os.path.abspath(os.path.expanduser(self.config)) if self.config else None


_ADDRESS = re.compile(r"(?:[\w.-]{1,63}@)?(?:[\w.-]{1,253}|\[[\da-f:.]+\]):\d{1,5}/[\w.-]*")
"""A host, its port and a database, perhaps with a user."""


def _source(keys: Mapping[str, str | None]) -> list[str]:
    return [Change(f"source.{key}", value) for key, value in keys.items() if value is not None]


def is_dsn(text: str) -> bool:
    """Whether it is a connection string or URI, and no path that exists. UsageError: it is no such
    path, and looks like a connection string with a password, but is not written as one."""
    if text.startswith(("postgres://", "postgresql://")):
        return True
    if os.path.exists(os.path.expanduser(text)):
        return False
    if is_miswritten(text):
        raise UsageError(
            f'neither a file that is there nor a connection string: "{without_secrets(text)}"',
            hint=WELL_WRITTEN,
        )
    if _ADDRESS.fullmatch(text):
        raise UsageError(
            f'neither a file that is there nor a connection string: "{text}"',
            hint=f"Type it as one: postgresql://{text}",
        )
    word, equals, _ = text.partition("=")
    is_path = text.split() == [text] and ("/" in word or "." in word)  # no word of libpq has one
    return "://" in text or (bool(equals) and not is_path)


@dataclass(frozen=True)
class BackedUp:
    """A base backup, which stays in the cache until it was taken in, and what belongs to it."""

    data: Path
    settings: Path
    partial: str  # why these are not all of the server's
    database: str | None  # None: the only one, or all
    slots: tuple[tuple[str, bool], ...]  # the server's replication slots: name, whether logical
    server: str  # that was copied: `"host=db1 port=5432"`


def backed_up(target: str, database: str | None, account: str | None, *, agreed: bool) -> BackedUp:
    """A base backup of the server, which belongs to the account.

    UsageError: it was not agreed to, or there is no such database; ServerError: the server does not
    allow it.
    """
    from steelyard.engines.postgres.intake.running import ask_running

    server = ask_running(target)
    return _backed_up(server, server.require_database(database), account, agreed=agreed)


def back_up_whole(target: str, account: str | None, *, agreed: bool) -> BackedUp:
    """The same of all databases, none of which is chosen."""
    from steelyard.engines.postgres.intake.running import ask_running

    return _backed_up(ask_running(target), None, account, agreed=agreed)


def _backed_up(
    server: RunningServer, database: str | None, account: str | None, *, agreed: bool
) -> BackedUp:
    from steelyard.engines.account import choose_account
    from steelyard.engines.cache import BACKUP_PREFIX, open_cache
    from steelyard.engines.postgres.intake.running import back_up

    owner = choose_account(account)
    size = "of unknown size" if server.bytes is None else format_bytes(server.bytes)
    description = (
        f"a base backup of PostgreSQL {server.version} ({size}): "
        "it begins with a checkpoint, and reads everything once"
    )
    if not agreed:
        if not sys.stdin.isatty():
            raise UsageError(f"not agreed to: {description}", hint="Agree with --yes.")
        if not typer.confirm(f"Take {description}?", err=True):
            raise UsageError("no base backup was taken")
    say(f"take {description}")
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    name = f"{BACKUP_PREFIX}{stamp}-{secrets.token_hex(3)}-{target_name(server.target)}"
    directory = open_cache().templates / name
    try:
        back_up(server, directory, owner, report=say)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    settings = _write_settings(server, directory.with_name(f"{directory.name}.conf"))
    partial = server.partial_for(database)
    place = server_text(server.target)
    return BackedUp(directory / "data", settings, partial, database, server.slots, place)


def _write_settings(server: RunningServer, file: Path) -> Path:
    """The server's settings as a file, which a resumed weighing reads again."""
    from steelyard.engines.postgres.intake.running import reported_settings
    from steelyard.engines.postgres.life.configuration_text import configuration_text

    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(
        os.open(file, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape"
    ) as f:
        f.write(configuration_text(reported_settings(server)))
    return file


def target_name(target: str) -> str:
    """A few letters of where it came from, for the name of a directory."""
    name = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in target)
    return name[-40:].strip("_")
