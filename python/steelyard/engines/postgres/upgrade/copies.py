"""Makes the copies that are upgraded: tablespaces beside the data, linked as a server links them.

pg_upgrade before 19 takes no tablespace that stands within the data directory. So each copy has its
tablespaces in a directory of its own, and no link of it leads to the original.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from steelyard.engines.account import Account
from steelyard.engines.copying import copy_file
from steelyard.engines.intake import DataPlace, Report
from steelyard.engines.local.owned_files import names_below
from steelyard.engines.postgres.builds.build import Build
from steelyard.engines.postgres.intake.configuration import (
    FETCHING_KEYS,
    PRELOADING,
    SET,
    preloaded_at_rest,
)
from steelyard.engines.postgres.intake.copying import copy_in
from steelyard.engines.postgres.life.cluster import Cluster
from steelyard.engines.postgres.life.configuration_text import log_limits
from steelyard.engines.postgres.life.data_directory import TABLESPACES
from steelyard.engines.postgres.life.recovery import configure_copy, recover
from steelyard.engines.postgres.settings import SETTING_RULES
from steelyard.engines.postgres.upgrade.facts import OWNER_QUERY, role_of
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

NEEDED = (
    *PRELOADING, "max_locks_per_transaction", "maintenance_work_mem", "max_replication_slots",
    "max_active_replication_origins", *SETTING_RULES.of_statistics,
)  # fmt: skip
"""Settings of the original without which its schema may not be dumped or restored, and those by
which its statistics are gathered."""


class Programs(Protocol):
    """A build that an account runs; Postgres is one."""

    @property
    def build(self) -> Build: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def account(self) -> Account: ...


@dataclass(frozen=True)
class CopyHome:
    """A directory with a cluster and its tablespaces."""

    path: Path

    @property
    def data(self) -> Path:
        return self.path / "data"

    @property
    def tablespaces(self) -> Path:
        return self.path / "tablespaces"


def take_copy(
    engine: Programs,
    place: DataPlace,
    home: CopyHome,
    report: Report,
    prepare: Callable[[], Mapping[str, str]] = dict,
) -> tuple[Cluster, str]:
    """A recovered, stopped copy of the original, and its first superuser. `prepare` adds to its
    files before it is recovered, and gives the settings that it then needs. EngineError: the files
    changed meanwhile, are half a backup, or there is no room."""
    account = engine.account
    copy_in(place, home.data, account, report)
    needed = prepare()
    cluster = Cluster(engine.build, engine.identity, account, home.data)
    report("recover the copy")
    owner = role_of(recover(engine.build, account, cluster, {**SET, **needed}, (OWNER_QUERY,)))
    move_out(home, account)
    return cluster, owner


def move_out(home: CopyHome, account: Account) -> None:
    """Put the tablespaces that stand within a stopped cluster beside it, and link them."""
    account.make_directory(home.tablespaces)

    def move() -> None:
        for oid in names_below(home.data, TABLESPACES):
            inside, outside = home.data / TABLESPACES / oid, home.tablespaces / oid
            os.rename(inside, outside)
            os.symlink(outside, inside)

    _called(account, move, f'could not move the tablespaces of "{home.data}"')


def move_in(home: CopyHome, links: Path, account: Account) -> None:
    """The reverse, for a cluster that is to stand alone: the directories of this version that
    `links` (its pg_tblspc) lead to come to stand within it."""

    def move() -> None:
        versions = names_of_version(links.parent)
        for oid in os.listdir(links):
            outside = os.readlink(links / oid)
            if not outside.startswith(f"{home.tablespaces}/"):
                raise OSError(0, "a tablespace leads out of the copy", str(links / oid))
            os.unlink(links / oid)
            os.mkdir(links / oid, 0o700)
            for name in os.listdir(outside):
                if name.startswith(versions):
                    os.rename(f"{outside}/{name}", links / oid / name)

    _called(account, move, f'could not move the tablespaces into "{links.parent}"')


def names_of_version(data: Path) -> str:
    """How a cluster's directories in tablespaces begin: "PG_18_"."""
    return f"PG_{(data / 'PG_VERSION').read_text(encoding='utf-8').strip()}_"


def clone_copy(source: CopyHome, target: CopyHome, account: Account) -> None:
    """Copy a stopped cluster with its tablespaces. EngineError: there is no room."""
    account.make_directory(target.tablespaces)
    account.make_directory(target.data)

    def copy() -> None:
        _copy_tree(source.data, target.data)
        _copy_tree(source.tablespaces, target.tablespaces)
        for oid in os.listdir(target.tablespaces):
            os.symlink(target.tablespaces / oid, target.data / TABLESPACES / oid)

    _called(account, copy, f'could not copy "{source.data}" again')


def remove_upgraded(home: CopyHome, new: Path, account: Account) -> None:
    """Remove a new cluster, and what it made in the tablespaces of the old one's home."""

    def remove() -> None:
        version = names_of_version(new)
        for oid in os.listdir(home.tablespaces):
            for name in os.listdir(home.tablespaces / oid):
                if name.startswith(version):
                    shutil.rmtree(home.tablespaces / oid / name)

    _called(account, remove, f'could not remove the tablespaces of "{new}"')
    shutil.rmtree(new.parent)


def configure_for_upgrade(cluster: Cluster, settings: dict[str, str]) -> None:
    """Give a copy what pg_upgrade's servers need of the original's settings."""
    needed = {name: value for name, value in settings.items() if name in NEEDED}
    if settings.get("wal_level") == "logical":  # logical slots need it
        needed["wal_level"] = "logical"
    configured = {
        **SET,
        **log_limits(cluster.directory),
        **needed,
        **preloaded_at_rest(needed, FETCHING_KEYS),
        "max_prepared_transactions": "0",
    }
    configure_copy(cluster.account, cluster, configured)


def occupied_bytes(*trees: Path) -> int:
    """Bytes that directory trees occupy together: what has several names counts once."""
    sizes: dict[tuple[int, int], int] = {}
    for tree in trees:
        for _, _, names, opened in os.fwalk(tree, follow_symlinks=False):
            for name in names:
                status = os.stat(name, dir_fd=opened, follow_symlinks=False)
                sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values())


def _copy_tree(source: Path, target: Path) -> None:
    """Directories and regular files; links, which are those of tablespaces, are left out."""
    for entry in os.scandir(source):
        if entry.is_dir(follow_symlinks=False):
            os.makedirs(target / entry.name, 0o700, exist_ok=True)
            _copy_tree(source / entry.name, target / entry.name)
        elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            copy_file(entry.path, str(target / entry.name))


def _called(account: Account, action: object, failure: str) -> None:
    try:
        account.call(action)  # type: ignore[arg-type]
    except OSError as error:
        raise EngineError(
            f"{failure}: {error.strerror}",
            hint="Free some room, or move the cache: STEELYARD_CACHE.",
        ) from error
