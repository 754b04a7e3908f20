"""Where the server of an installation is, and what belongs to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.mysql.fake_packages import debian_files, installed, npm_files
from steelyard.engines.mysql.builds.build import MARIADB, MYSQL, build_in, server_in
from steelyard.model.errors import EngineError

ERRMSG = "english/errmsg.sys"


@pytest.mark.parametrize(
    ("server", "share", "named", "base"),
    [
        ("usr/sbin/mariadbd", "usr/share/mysql", ".", "usr"),
        ("usr/sbin/mysqld", "usr/share/mysql", "usr/sbin", "usr"),
        ("usr/libexec/mariadbd", "usr/share/mariadb", ".", "usr"),
        ("usr/sbin/mysqld", "usr/share/mysql-8.4", ".", "usr"),
        ("bin/mysqld", "share", ".", "."),
        ("bin/mysqld", "share", "bin", "."),
        ("mysqld", "share/mysql", ".", "."),
    ],
)
def test_an_installation_is_found_from_its_top_or_from_its_programs(
    tmp_path: Path, server: str, share: str, named: str, base: str
) -> None:
    installed(tmp_path, {server: b"#!", f"{share}/{ERRMSG}": b""})
    build = build_in(tmp_path / named)
    assert build.server == tmp_path / server
    assert build.base == tmp_path / base
    assert build.share == tmp_path / share
    assert build.product == (MARIADB if "mariadb" in server else MYSQL)
    assert build.environment == {}


def test_of_two_names_for_one_server_the_newer_tells_the_product(tmp_path: Path) -> None:
    installed(tmp_path, debian_files("10.11.19"))
    (tmp_path / "usr/sbin/mysqld").symlink_to("mariadbd")
    assert build_in(tmp_path).server.name == "mariadbd"
    assert build_in(tmp_path).product == MARIADB


def test_a_directory_without_a_server_is_refused_with_what_to_name(tmp_path: Path) -> None:
    assert server_in(tmp_path) is None
    with pytest.raises(EngineError, match="no MySQL and no MariaDB") as caught:
        build_in(tmp_path)
    assert "/usr/sbin" in (caught.value.hint or "")


def test_a_server_without_its_messages_is_refused(tmp_path: Path) -> None:
    files = {name: text for name, text in npm_files("5.7.29").items() if "errmsg" not in name}
    with pytest.raises(EngineError, match='share" is missing'):
        build_in(installed(tmp_path, files) / "package/server")
