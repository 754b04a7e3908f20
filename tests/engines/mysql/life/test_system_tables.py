"""MariaDB's system tables are made from its own SQL, whatever its files are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.mysql.fake_packages import installed
from steelyard.engines.account import Account
from steelyard.engines.mysql.builds.build import Build, build_in
from steelyard.engines.mysql.life.data_directory import make_instance
from steelyard.model.errors import EngineError
from steelyard.model.identity import Identity

_SERVER = b"""#!/bin/sh
for word in "$@"; do
  case "$word" in --datadir=*) directory=${word#*=} ;; esac
done
cat > "$directory/executed"
: > "$directory/ibdata1"
"""
_NAMES = ("system_tables", "performance_tables", "system_tables_data")


def mariadb(place: Path, files: dict[str, bytes]) -> tuple[Build, Identity]:
    """A build whose server writes down what it is to execute."""
    share = {"english/errmsg.sys": b"messages", **files}
    tree = {f"usr/share/mariadb/{name}": text for name, text in share.items()}
    build = build_in(installed(place / "tree", {"usr/sbin/mariadbd": _SERVER, **tree}))
    identity = Identity(
        kind="mariadb",
        version="11.8.2",
        version_number=110802,
        builder="",
        configure="",
        cflags="",
        origin="bindir",
        bindir=str(build.server.parent),
        assertions=False,
    )
    return build, identity


@pytest.mark.parametrize("product", ["mysql", "mariadb"])
def test_the_files_of_old_and_of_new_versions_are_executed_in_order(
    place: Path, account: Account, product: str
) -> None:
    files = {f"{product}_{name}.sql": f"-- {name}: é\n".encode() for name in _NAMES}
    build, identity = mariadb(place, files)
    make_instance(build, identity, account, place / "data")
    executed = (place / "data/executed").read_text(encoding="utf-8")
    assert executed.startswith("create database mysql;\nuse mysql;\n")
    lines = [line for line in executed.splitlines() if line.startswith("-- ")]
    assert lines == [f"-- {name}: é" for name in _NAMES]


def test_files_that_are_not_there_are_named(place: Path, account: Account) -> None:
    build, identity = mariadb(place, {"mariadb_system_tables.sql": b""})
    with pytest.raises(EngineError, match=r'"mariadb_performance_tables\.sql" nor') as refusal:
        make_instance(build, identity, account, place / "data")
    assert refusal.value.hint is not None
