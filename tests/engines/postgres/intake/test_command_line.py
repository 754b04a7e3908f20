"""Settings of a server's last command line are read as the server read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.intake import SettingsPlace
from steelyard.engines.postgres.intake import server_settings
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.engines.postgres.life.command_line import (
    CommandLine,
    command_line,
    parse_arguments,
)


@pytest.mark.parametrize(
    ("words", "settings"),
    [
        (["-c", "shared_buffers=256MB"], {"shared_buffers": "256MB"}),
        (["-cwork_mem=8MB"], {"work_mem": "8MB"}),
        (["--shared-buffers=1GB"], {"shared_buffers": "1GB"}),
        (["--random_page_cost=1.1"], {"random_page_cost": "1.1"}),
        (["-B", "32768"], {"shared_buffers": "32768"}),
        (["-N50", "-S", "4096"], {"max_connections": "50", "work_mem": "4096"}),
        (["-F"], {"fsync": "off"}),
        (["-Fi", "-p", "5433"], {"fsync": "off", "listen_addresses": "*", "port": "5433"}),
        (["-D", "/x", "-k", "/run"], {"unix_socket_directories": "/run"}),
        (["-f", "s", "-t", "pl"], {"enable_seqscan": "off", "log_planner_stats": "on"}),
        (["-c", "my.x=a=b c"], {"my.x": "a=b c"}),
        (["-c", "work_mem=1MB", "-c", "work_mem=2MB"], {"work_mem": "2MB"}),
        (["-c"], {}),
    ],
)
def test_options_stand_for_settings(words: list[str], settings: dict[str, str]) -> None:
    assert parse_arguments(words).settings == settings


def test_the_file_of_a_server_is_read(tmp_path: Path) -> None:
    assert command_line(tmp_path) == CommandLine()
    (tmp_path / "postmaster.opts").write_text(
        '/usr/lib/postgresql/18/bin/postgres "-D" "/data" "-c" "shared_buffers=256MB" '
        '"--cluster_name=shop" "-c" "search_path="$user", public"\n'
    )
    line = command_line(tmp_path)
    assert line.settings == {
        "shared_buffers": "256MB", "cluster_name": "shop", "search_path": '"$user", public',
    }  # fmt: skip
    assert (line.directory, line.binary_upgrade) == ("/data", False)


@pytest.mark.parametrize(
    ("words", "binary_upgrade"),
    [
        (["-b"], True), (["-p", "50432", "-b", "-c", "fsync=off"], True), (["-Fb"], True),
        (["-bF", "-D", "/x"], True), (["-f", "b"], False), (["-fb"], False), (["-B", "1"], False),
        (["-c", "-b"], False), (["-cb=1"], False), (["-D", "-b"], False), (["--b=1"], False),
        (["b"], False), ([], False),
    ],
)  # fmt: skip
def test_a_server_that_pg_upgrade_started_is_recognised(
    words: list[str], binary_upgrade: bool
) -> None:
    assert parse_arguments(words).binary_upgrade is binary_upgrade


@pytest.mark.parametrize(
    ("words", "directory"),
    [
        (["-D", "/a"], "/a"),
        (["-D/a"], "/a"),
        (["-FD", "/a", "-D", "/b"], "/b"),
        (["-d", "3"], None),
    ],
)
def test_the_directory_is_that_of_the_last_option(words: list[str], directory: str | None) -> None:
    assert parse_arguments(words).directory == directory


@pytest.mark.parametrize("is_here", [False, True])
@pytest.mark.parametrize("place", ["{home}/{file}", "{home}/../original/{file}", "{file}"])
@pytest.mark.parametrize("file", ["postgresql.conf", "conf/patroni.conf"])
def test_a_file_that_stood_within_the_data_is_read_in_their_copy(
    tmp_path: Path, file: str, place: str, is_here: bool
) -> None:
    """As Patroni starts a server; the original may be here too, with other settings by now."""
    home, copy = tmp_path / "original", tmp_path / "monday"
    for directory, text in ((copy, "work_mem = 7MB\n"), (home, "work_mem = 1MB\n")):
        if directory == copy or is_here:
            (directory / file).parent.mkdir(parents=True)
            (directory / file).write_text(text)
    named = place.format(home=home, file=file)
    options = f'/usr/bin/postgres "-D" "{home}" "--config-file={named}" "--max_connections=50"\n'
    (copy / "postmaster.opts").write_text(options)
    result = read_server_settings(SettingsPlace(copy, "data directory"))
    assert (result.settings, result.missing) == ({"work_mem": "7MB", "max_connections": "50"}, "")
    (copy / file).unlink()
    there = {"work_mem": "1MB"} if is_here and named != file else {}
    result = read_server_settings(SettingsPlace(copy, "data directory"))
    assert (result.settings, result.missing != "") == ({**there, "max_connections": "50"}, True)


@pytest.mark.parametrize(
    ("options", "identifier", "typed"),
    [
        ('"-c" "config_file=/etc/mounted.conf"', 1, "bring that file from there and type"),
        ("", 1, "; type --config {here}"),
        ("", 2, "; bring {usual} of that server"),
    ],
)
def test_no_file_of_another_cluster_of_this_machine_is_proposed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, identifier: int, typed: str
) -> None:
    monkeypatch.setattr(server_settings, "DEBIAN", tmp_path / "etc")
    data, home = tmp_path / "monday", tmp_path / "var"
    here = tmp_path / "etc" / "15" / "shop" / "postgresql.conf"
    here.parent.mkdir(parents=True)
    here.write_text(f"data_directory = '{home}'\n")
    for directory, number in ((data, 1), (home, identifier)):
        (directory / "global").mkdir(parents=True)
        control = number.to_bytes(8, "little") + bytes(512)
        (directory / "global" / "pg_control").write_bytes(control)
    (data / "PG_VERSION").write_text("15\n")
    (data / "postmaster.opts").write_text(f"postgres {options}\n")
    missing = read_server_settings(SettingsPlace(data, "data directory")).missing
    usual = tmp_path / "etc" / "15" / "main" / "postgresql.conf"
    assert typed.format(here=here, usual=usual) in missing
    assert (str(here) in missing) == ("{here}" in typed)
    assert ("/etc/mounted.conf" in missing) == bool(options)
