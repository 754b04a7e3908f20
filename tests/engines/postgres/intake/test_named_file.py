"""Of a configuration file that a user named it is known what is weighed as it says it."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from steelyard.engines.intake import ServerSettings, SettingsPlace
from steelyard.engines.postgres.intake import server_settings
from steelyard.engines.postgres.intake.configuration_file import ConfigurationReader
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.model.errors import EngineError

MAIN, AUTOMATIC = "postgresql.conf", "postgresql.auto.conf"
TEXT = "work_mem = 64MB\nshared_buffers = 8GB\njit = off\nport = 5433\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "monday"
    directory.mkdir()
    (directory / "PG_VERSION").write_text("18\n")
    (directory / MAIN).write_text("work_mem = 1MB\n")
    return directory


def read(data: Path, text: str, *, kind: str = "data directory") -> ServerSettings:
    file = data.parent / "mine.conf"
    file.write_text(text)
    return read_server_settings(SettingsPlace(data, kind, file))  # type: ignore[arg-type]


def test_it_is_what_nothing_above_it_says_otherwise(data: Path) -> None:
    assert read_server_settings(SettingsPlace(data, "data directory")).named is None
    (data / AUTOMATIC).write_text("work_mem = '4MB'\njit = 'off'\ngeqo = 'off'\n")
    (data / "postmaster.opts").write_text('postgres "-c" "shared_buffers=256MB"\n')
    for kind, names in (
        ("data directory", {"jit", "port"}),
        ("dump", {"work_mem", "shared_buffers", "jit", "port"}),
    ):
        named = read(data, TEXT, kind=kind).named
        assert named is not None
        assert (named.path.name, named.names) == ("mine.conf", names)
    file = data.parent / "mine.conf"
    reported = SettingsPlace(data, "base backup", file, reported=True)
    assert read_server_settings(reported).named is None


def ran_with(directory: Path, *limits: int) -> None:
    """Give it a control file of 18 with these limits."""
    (directory / "global").mkdir()
    content = struct.pack("=QIII", 7, 1800, 202506291, 6).ljust(180, b"\0")
    content += struct.pack("=5i", *limits)
    (directory / "global" / "pg_control").write_bytes(content.ljust(8192, b"\0"))


def overridden(settings: ServerSettings) -> dict[str, tuple[str, str]]:
    return {each.name: (each.value, each.by) for each in settings.overridden}


def test_what_the_data_say_above_it_counts_more_and_is_listed_with_the_files_value(
    data: Path,
) -> None:
    (data / AUTOMATIC).write_text("work_mem = '4MB'\njit = 'off'\nport = '1'\n")
    (data / "postmaster.opts").write_text('postgres "-c" "shared_buffers=256MB" "-p" "2"\n')
    result = read(data, TEXT)
    assert result.settings == {"work_mem": "4MB", "shared_buffers": "256MB", "jit": "off"}
    assert overridden(result) == {
        "work_mem": ("64MB", f"{AUTOMATIC} of the data"),
        "shared_buffers": ("8GB", "the command line of their last server (postmaster.opts)"),
    }
    assert overridden(read(data, "work_mem = 4MB\njit = off\n")) == {}
    assert overridden(read(data, TEXT, kind="dump")) == {}
    assert overridden(read_server_settings(SettingsPlace(data, "data directory"))) == {}


@pytest.mark.parametrize("where", ["in the data", "of the command line", "of Debian"])
def test_above_the_file_that_its_server_starts_with_it_is_what_the_server_has(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(server_settings, "DEBIAN", tmp_path / "etc")
    (data / AUTOMATIC).write_text("work_mem = '4MB'\n")
    folder = tmp_path / ("etc" if where == "of Debian" else "conf") / "18" / "main"
    main = data / MAIN if where == "in the data" else folder / MAIN
    main.parent.mkdir(parents=True, exist_ok=True)
    main.write_text("work_mem = 64MB\n")
    if where == "of the command line":
        (data / "postmaster.opts").write_text(f'postgres "-c" "config_file={main}"\n')
    result = read_server_settings(SettingsPlace(data, "data directory", main))
    assert (result.settings, result.overridden) == ({"work_mem": "4MB"}, ())
    mine = main.with_name("mine.conf")
    mine.write_text(main.read_text())
    result = read_server_settings(SettingsPlace(data, "data directory", mine))
    assert overridden(result).keys() == {"work_mem"}


def test_what_the_control_file_shows_of_a_lost_command_line_ends_its_doubt_once_the_file_says_it(
    data: Path,
) -> None:
    """The advice was in vain where ALTER SYSTEM had set the same."""
    (data / AUTOMATIC).write_text("max_connections = '200'\nwork_mem = '4MB'\n")
    ran_with(data, 300, 8, 10, 0, 64)
    backup = SettingsPlace(data, "base backup")
    assert "with max_connections = 300, which" in read_server_settings(backup).missing
    result = read(data, "max_connections = 300\nwork_mem = 64MB\n", kind="base backup")
    assert result.settings == {"max_connections": "300", "work_mem": "4MB"}
    assert (result.missing, overridden(result).keys()) == ("", {"work_mem"})
    result = read(data, "max_connections = 250\n", kind="base backup")
    assert result.settings["max_connections"] == "200"
    assert "with max_connections = 300, which" in result.missing


@pytest.mark.parametrize(
    ("name", "words", "typed"),
    [
        ("nothing.conf", "there is no configuration file", "--config FILE"),
        ("monday", "not a regular file", "monday/postgresql.conf by --config"),
        ("empty", "not a regular file", "empty/FILE by --config"),
        ("pipe", "not a regular file", "write it into a file"),
        ("/dev/fd/63", "not a regular file", "in place of <(...)"),
    ],
)
def test_what_is_named_and_is_no_file_is_refused_with_what_to_type(
    data: Path, name: str, words: str, typed: str
) -> None:
    os.mkfifo(data.parent / "pipe")
    (data.parent / "empty").mkdir()
    for kind in ("data directory", "dump"):
        place = SettingsPlace(data, kind, data.parent / name)  # type: ignore[arg-type]
        with pytest.raises(EngineError, match=words) as refused:
            read_server_settings(place)
        assert typed in str(refused.value.hint)
    if not name.startswith(("nothing", "/")):
        with pytest.raises(EngineError, match="not a regular file") as refused:
            ConfigurationReader().settings(data.parent / name)
        assert typed.removesuffix(" by --config") in str(refused.value.hint)
