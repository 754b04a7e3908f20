"""Configuration files are read as the server reads them, and lose what belongs to their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.postgres.intake.configuration import (
    SET,
    Configuration,
    configuration_elsewhere,
    neutralise,
    read_configuration,
)
from steelyard.model.errors import EngineError


def read(directory: Path, text: str) -> dict[str, str]:
    (directory / "postgresql.conf").write_text(text)
    settings = dict(read_configuration(directory).settings)
    return {name: value for name, value in settings.items() if name not in SET}


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("work_mem = 8MB", "work_mem", "8MB"),
        ("work_mem=8MB # more", "work_mem", "8MB"),
        ("work_mem 8MB", "work_mem", "8MB"),
        ("Work_Mem = '8MB'", "work_mem", "8MB"),
        ("search_path = '\"$user\", public'", "search_path", '"$user", public'),
        ("x.y = 'it''s'", "x.y", "it's"),
        (r"x.y = 'a\'b\\c\n\101'", "x.y", "a'b\\c\nA"),
        ("x.y = '# no comment'", "x.y", "# no comment"),
        ("work_mem = ''", "work_mem", ""),
    ],
)
def test_a_line_is_read(tmp_path: Path, line: str, name: str, value: str) -> None:
    assert read(tmp_path, line + "\n") == {name: value}


def test_the_last_line_counts_and_automatic_settings_come_after(tmp_path: Path) -> None:
    (tmp_path / "postgresql.auto.conf").write_text("work_mem = '3MB'\n")
    assert read(tmp_path, "work_mem = 1MB\njit = off\nwork_mem = 2MB\n") == {
        "jit": "off",
        "work_mem": "3MB",
    }


def test_includes_are_followed_from_the_file_that_names_them(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "b.conf").write_text("jit = off\ninclude 'deep.inc'\n")
    (tmp_path / "d" / "a.conf").write_text("jit = on\n")
    (tmp_path / "d" / "deep.inc").write_text("geqo = off\n")
    (tmp_path / "d" / ".hidden.conf").write_text("geqo = on\n")
    found = read(tmp_path, "include_dir = 'd'\ninclude_if_exists 'nothing'\n")
    assert found == {"jit": "off", "geqo": "off"}


def test_a_circle_of_includes_and_a_line_that_is_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="circle"):
        read(tmp_path, "include 'postgresql.conf'\n")
    with pytest.raises(EngineError, match="line 2 is no setting"):
        read(tmp_path, "jit = on\n= 3\n")
    with pytest.raises(EngineError, match="missing"):
        read(tmp_path, "include 'missing'\n")


@pytest.mark.parametrize(
    "name",
    ["port", "listen_addresses", "unix_socket_directories", "hba_file", "log_directory",
     "logging_collector", "restore_command", "recovery_target_time", "primary_conninfo",
     "archive_command", "archive_mode", "synchronous_standby_names", "ssl", "ssl_key_file",
     "krb_server_keyfile", "max_logical_replication_workers"],
)  # fmt: skip
def test_what_belongs_to_the_place_is_left_out_and_told(name: str) -> None:
    found = neutralise({name: "theirs", "work_mem": "8MB"})
    assert found.settings.get(name) == SET.get(name)
    assert found.settings["work_mem"] == "8MB"
    assert [(one.what, bool(one.why)) for one in found.neutralised] == [(name, True)]


@pytest.mark.parametrize(
    "name",
    ["shared_buffers", "wal_level", "wal_compression", "synchronous_commit"],
)
def test_what_decides_the_cost_stays(name: str) -> None:
    assert neutralise({name: "x"}).settings[name] == "x"


def test_a_library_goes_alone() -> None:
    found = Configuration({"shared_preload_libraries": 'a, "b" ,c'}).without_library("b", "why")
    assert found.settings["shared_preload_libraries"] == "a, c"
    assert found.neutralised[0].what == "b in shared_preload_libraries"


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    settings = {"x.y": "it's a \\ # 'thing'", "work_mem": "8MB"}
    assert read(tmp_path, Configuration(settings).text()) == settings


def test_the_file_of_debian_is_found_by_the_last_command_line(tmp_path: Path) -> None:
    elsewhere = tmp_path / "etc.conf"
    elsewhere.write_text("")
    options = f'/usr/lib/postgresql/18/bin/postgres "-D" "/x" "-c" "config_file={elsewhere}"\n'
    (tmp_path / "postmaster.opts").write_text(options)
    assert configuration_elsewhere(tmp_path) == elsewhere
    elsewhere.unlink()
    assert configuration_elsewhere(tmp_path) is None
