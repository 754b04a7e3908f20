"""The settings of a place are those that its server would have: files, then command line."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from own_cache import open_directory
from steelyard.engines.account import choose_account
from steelyard.engines.intake import PlaceKind, ServerSettings, SettingsPlace
from steelyard.engines.postgres.intake import server_settings
from steelyard.engines.postgres.intake.server_settings import (
    configuration_elsewhere,
    read_server_settings,
)
from steelyard.model.errors import EngineError

MAIN, AUTOMATIC = "postgresql.conf", "postgresql.auto.conf"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    directory = tmp_path / "monday"
    directory.mkdir()
    (directory / "PG_VERSION").write_text("15\n")
    return directory


def read(data: Path, config: Path | None = None) -> ServerSettings:
    return read_server_settings(SettingsPlace(data, "data directory", config))


def test_the_command_line_counts_more_than_automatic_settings_and_these_than_the_file(
    data: Path,
) -> None:
    (data / MAIN).write_text("work_mem = 1MB\njit = off\nshared_buffers = 1MB\nport = 5433\n")
    (data / AUTOMATIC).write_text("work_mem = '2MB'\nshared_buffers = '2MB'\n")
    (data / "postmaster.opts").write_text('postgres "-B" "384" "--archive-command=x"\n')
    found = read(data)
    assert found.settings == {"jit": "off", "work_mem": "2MB", "shared_buffers": "384"}
    assert [one.what for one in found.neutralised] == ["port", "archive_command"]
    assert found.missing == ""


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (MAIN, "work_mem = 2MB\ninclude 'more.conf'\n"),
        ("more.conf", "jit = on\n"),
        (AUTOMATIC, "geqo = off\n"),
        ("postmaster.opts", 'postgres "-c" "work_mem=3MB"\n'),
    ],
)
def test_an_edit_changes_the_digest_wherever_it_is_made_and_nothing_else_does(
    data: Path, file: str, text: str
) -> None:
    (data / MAIN).write_text("work_mem = 1MB\ninclude 'more.conf'\n")
    (data / "more.conf").write_text("jit = off\n")
    before = read(data).digest
    (data / MAIN).write_text("# a comment\nwork_mem = '1MB'\ninclude 'more.conf'\n")
    (data / MAIN).rename(data / "elsewhere.conf")
    assert read(data, data / "elsewhere.conf").digest == before
    (data / "elsewhere.conf").rename(data / MAIN)
    (data / file).write_text(text)
    assert read(data).digest != before


def test_the_file_that_the_last_command_line_names_is_read_as_with_debians_packages(
    data: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "etc" / MAIN
    elsewhere.parent.mkdir()
    elsewhere.write_text("work_mem = 7MB\n")
    options = f'/usr/lib/postgresql/15/bin/postgres "-D" "/x" "-c" "config_file={elsewhere}"\n'
    (data / "postmaster.opts").write_text(options)
    (data / MAIN).write_text("work_mem = 1MB\n")
    assert read(data).settings == {"work_mem": "7MB"}
    elsewhere.unlink()
    assert f'no postgresql.conf is at "{elsewhere}"' in read(data).missing
    assert read(data).settings == {}


def test_a_configuration_outside_of_the_data_is_named_and_one_inside_is_not(
    data: Path, tmp_path: Path
) -> None:
    place = SettingsPlace(data, "data directory")
    assert configuration_elsewhere(place) is None
    (data / MAIN).write_text("work_mem = 1MB\n")
    assert configuration_elsewhere(place) is None
    elsewhere = tmp_path / "etc" / MAIN
    elsewhere.parent.mkdir()
    elsewhere.write_text("work_mem = 7MB\n")
    for config, outside in ((elsewhere, elsewhere), (data / MAIN, None)):
        assert configuration_elsewhere(replace(place, configuration=config)) == outside
    (data / "postmaster.opts").write_text(f'postgres "-c" "config_file={elsewhere}"\n')
    assert configuration_elsewhere(place) == elsewhere
    reported = replace(place, configuration=elsewhere, reported=True)
    assert configuration_elsewhere(reported) is None


def ran_with(directory: Path, *limits: int, state: int = 6) -> None:
    """Give it a control file of 18 with these LIMITS."""
    (directory / "global").mkdir(exist_ok=True)
    content = struct.pack("=QIII", 7, 1800, 202506291, state).ljust(180, b"\0")
    content += struct.pack("=5i", *limits)
    (directory / "global" / "pg_control").write_bytes(content.ljust(8192, b"\0"))


USUAL = (100, 8, 10, 0, 64)


@pytest.mark.parametrize(
    ("text", "limits", "words"),
    [
        ("", USUAL, None),
        ("max_connections = 300\n", (300, *USUAL[1:]), None),
        ("max_connections = 100\n", (300, *USUAL[1:]), "with max_connections = 300, which"),
        ("", (300, 8, 10, 50, 64),
         "with max_connections = 300, max_prepared_transactions = 50, which"),
        ("", (*USUAL[:4], 128), None),
        ("max_locks_per_transaction = 64\n", (*USUAL[:4], 128), "max_locks_per_transaction = 128"),
    ],
)  # fmt: skip
def test_a_command_line_that_a_backup_does_not_hold_shows_in_its_control_file(
    data: Path, text: str, limits: tuple[int, ...], words: str | None
) -> None:
    """`docker run postgres -c max_connections=300 -c shared_buffers=8GB`: neither is in a file."""
    (data / MAIN).write_text(text)
    ran_with(data, *limits)
    missing = read(data).missing
    assert (words or "") in missing
    assert ("type --config FILE" in missing) == bool(missing) == (words is not None)
    for state in (2, 5):  # a standby's are those of its primary
        ran_with(data, *limits, state=state)
        assert read(data).missing == ""
    ran_with(data, *limits)
    (data / "postmaster.opts").write_text('postgres "-D" "/x"\n')
    assert read(data).missing == "", "its files were changed since, and that is what counts"


BY_PG_UPGRADE = (
    '/usr/lib/postgresql/18/bin/postgres "-D" "/new" "-p" "50432" "-b" "-c" '
    '"synchronous_commit=off" "-c" "fsync=off" "-c" "full_page_writes=off" "-c" '
    '"max_slot_wal_keep_size=-1" "-c" "listen_addresses=" "-c" "unix_socket_permissions=0700"'
)


def test_what_pg_upgrade_started_a_server_with_is_not_what_the_server_had(
    data: Path, tmp_path: Path
) -> None:
    (data / MAIN).write_text("work_mem = 1MB\nsynchronous_commit = remote_apply\n")
    (data / AUTOMATIC).write_text("jit = off\n")
    (data / "postmaster.opts").write_text(f"{BY_PG_UPGRADE}\n")
    result = read(data)
    assert result.settings == {
        "work_mem": "1MB", "synchronous_commit": "remote_apply", "jit": "off",
    }  # fmt: skip
    [omitted] = result.neutralised
    assert (omitted.what, "pg_upgrade" in omitted.why) == ("the last command line", True)
    elsewhere = tmp_path / "etc.conf"
    elsewhere.write_text("work_mem = 9MB\nfsync = off\n")
    options = f'{BY_PG_UPGRADE} "-c" "config_file={elsewhere}" "-c" "data_directory={data}"\n'
    (data / "postmaster.opts").write_text(options)
    assert read(data).settings == {"work_mem": "9MB", "fsync": "off", "jit": "off"}


@dataclass(frozen=True)
class Machine:
    """A configuration outside of the data, and another data directory."""

    data: Path
    config: Path
    other: Path

    def started_with(self, *options: str, says: str = "") -> ServerSettings:
        """The settings of data whose last server was started by it."""
        self.config.write_text(f"work_mem = 7MB\n{says}\n")
        words = " ".join(f'"{option}"' for option in ("-c", f"config_file={self.config}", *options))
        (self.data / "postmaster.opts").write_text(f"/bin/postgres {words}\n")
        return read(self.data)


def identify(directory: Path, identifier: int) -> None:
    """Give it the first bytes of a control file."""
    (directory / "global").mkdir(parents=True, exist_ok=True)
    content = identifier.to_bytes(8, "little") + bytes(512)
    (directory / "global" / "pg_control").write_bytes(content)


@pytest.fixture
def machine(data: Path, tmp_path: Path) -> Machine:
    identify(data, 1)
    (tmp_path / "etc").mkdir()
    return Machine(data, tmp_path / "etc" / MAIN, tmp_path / "var" / "main")


WAYS = {
    "data_directory of the file": lambda home: ((), f"data_directory = '{home}'"),
    "-D of the line": lambda home: (("-D", str(home)), ""),
    "data_directory of the line": lambda home: (
        ("-c", f"data_directory={home}", "-D", "/etc"), "data_directory = '/nothing'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("identifier", "weighed", "words"),
    [
        (1, True, ""),
        (2, False, "is the file of another cluster here"),
        (None, True, "cannot be seen here"),
    ],
)
def test_a_file_of_another_cluster_of_this_machine_is_not_that_of_the_data(
    machine: Machine, way: str, identifier: int | None, weighed: bool, words: str
) -> None:
    if identifier is not None:
        identify(machine.other, identifier)
    options, says = WAYS[way](machine.other)
    result = machine.started_with(*options, says=says)
    assert result.settings == ({"work_mem": "7MB"} if weighed else {})
    assert (words in result.missing, bool(result.missing)) == (True, bool(words))
    assert not words or f'"{machine.other}"' in result.missing
    assert not words or "type --config" in result.missing
    named = read(machine.data, machine.config)
    assert (named.settings, named.missing) == ({"work_mem": "7MB"}, "")


@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_names_the_data_by_whatever_links_is_theirs(
    machine: Machine, tmp_path: Path, way: str
) -> None:
    link = tmp_path / "linked"
    link.symlink_to(machine.data)
    for home in (machine.data, link, f"{machine.data}/.", f"{machine.data}/../monday"):
        options, says = WAYS[way](home)
        result = machine.started_with(*options, says=says)
        assert (result.settings, result.missing) == ({"work_mem": "7MB"}, "")


@pytest.mark.parametrize("says", ["", "data_directory = 'relative'", "data_directory = ''"])
def test_a_file_that_names_no_data_is_theirs(machine: Machine, says: str) -> None:
    result = machine.started_with(says=says)
    assert (result.settings, result.missing) == ({"work_mem": "7MB"}, "")


def test_a_file_within_the_data_is_theirs_whatever_it_names(machine: Machine) -> None:
    identify(machine.other, 2)
    inside = Machine(machine.data, machine.data / "conf" / MAIN, machine.other)
    inside.config.parent.mkdir()
    result = inside.started_with(says=f"data_directory = '{machine.other}'")
    assert (result.settings, result.missing) == ({"work_mem": "7MB"}, "")


def test_data_without_a_configuration_say_what_to_type(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_settings, "DEBIAN", tmp_path / "etc")
    (data / AUTOMATIC).write_text("work_mem = 3MB\n")
    found = read(data)
    assert found.settings == {"work_mem": "3MB"}
    assert 'no postgresql.conf is in "monday"' in found.missing
    usual = tmp_path / "etc" / "15" / "main" / MAIN
    assert found.missing.endswith(
        f"bring {usual} of that server (where Debian and Ubuntu keep it) and type --config {usual}"
    )
    shop = tmp_path / "etc" / "15" / "shop" / MAIN
    shop.parent.mkdir(parents=True)
    shop.write_text("")
    assert read(data).missing.endswith(f"; type --config {shop}")
    usual.parent.mkdir()
    usual.write_text("jit = off\n")
    assert read(data).missing.endswith(f"; type --config {usual}")
    assert read(data, usual) == ServerSettings({"jit": "off", "work_mem": "3MB"})


def test_a_dump_has_the_settings_of_a_named_file_alone(data: Path, tmp_path: Path) -> None:
    (data / MAIN).write_text("work_mem = 1MB\n")
    file = tmp_path / "named.conf"
    file.write_text("jit = off\n")
    assert "holds no settings" in read_server_settings(SettingsPlace(data, "dump")).missing
    found = read_server_settings(SettingsPlace(data, "dump", file))
    assert found == ServerSettings({"jit": "off"})


def test_what_a_running_server_reported_is_read_alone(data: Path, tmp_path: Path) -> None:
    (data / MAIN).write_text("work_mem = 1MB\n")
    file = tmp_path / "reported.conf"
    file.write_text("jit = off\n")
    place = SettingsPlace(data, "base backup", file, reported=True)
    assert read_server_settings(place) == ServerSettings({"jit": "off"})


def test_a_named_file_that_is_not_there_is_refused(data: Path) -> None:
    with pytest.raises(EngineError, match="there is no configuration file"):
        read(data, data / "nothing.conf")


@pytest.mark.parametrize(
    ("kind", "named"),
    [*((kind, named) for kind in ("data directory", "base backup") for named in (False, True)),
     ("dump", True)],
)  # fmt: skip
def test_a_file_that_is_included_if_it_exists_and_does_not_exist_here_is_said_with_what_to_type(
    data: Path, tmp_path: Path, kind: PlaceKind, named: bool
) -> None:
    main = tmp_path / "etc.conf" if named else data / MAIN
    absent = tmp_path / "etc" / "tuned.conf"
    for value in (str(absent), os.path.relpath(absent, main.parent), "../etc/tuned.conf"):
        main.write_text(f"jit = off\ninclude_if_exists '{value}'\n")
        result = read_server_settings(SettingsPlace(data, kind, main if named else None))
        assert result.settings == {"jit": "off"}
        assert "tuned.conf" in result.missing
        assert f"{main.name} includes" in result.missing
        assert "type --config FILE" in result.missing
    for number in range(5):
        with main.open("a") as file:
            file.write(f"include_if_exists '{tmp_path}/{number}.conf'\n")
    result = read_server_settings(SettingsPlace(data, kind, main if named else None))
    assert result.missing.count("tuned.conf") == 1
    assert " and 3 more if it exists" in result.missing
    main.write_text("jit = off\n")
    result = read_server_settings(SettingsPlace(data, kind, main if named else None))
    assert result == ServerSettings({"jit": "off"})


def test_what_is_not_there_within_the_data_was_not_there_either(data: Path, tmp_path: Path) -> None:
    named = tmp_path / "etc.conf"
    for main in (data / MAIN, named):
        lines = (data / "tuned.conf", data / "conf.d" / "more.conf", tmp_path / "here.conf")
        (tmp_path / "here.conf").write_text("geqo = off\n")
        main.write_text("".join(f"include_if_exists '{path}'\n" for path in lines))
        result = read(data, named if main == named else None)
        assert (result.settings, result.missing) == ({"geqo": "off"}, "")


@pytest.mark.parametrize("line", ["include_dir '{}'", "include '{}/x.conf'"])
@pytest.mark.parametrize(("identifier", "another"), [(1, False), (2, True), (None, False)])
def test_included_files_of_another_cluster_of_this_machine_are_said_to_be_its(
    machine: Machine, line: str, identifier: int | None, another: bool
) -> None:
    if identifier is not None:
        identify(machine.other, identifier)
    folder = machine.config.parent / "conf.d"
    folder.mkdir()
    (folder / "x.conf").write_text("work_mem = 7MB\n")
    machine.config.write_text(f"data_directory = '{machine.other}'\n")
    (machine.data / MAIN).write_text(f"{line.format(folder)}\n")
    result = read(machine.data)
    assert result.settings == {"work_mem": "7MB"}
    assert (f'"{folder / "x.conf"}", of another cluster here' in result.missing) == another
    assert bool(result.missing) == another
    machine.config.write_text("= no setting, and none of ours\n")
    assert read(machine.data).missing == ""


DENIED = {
    "named": lambda shut: (shut / "x.conf", "", ""),
    "of the command line": lambda shut: (None, f'postgres "-c" "config_file={shut}/x.conf"\n', ""),
    "included": lambda shut: (None, "", f"include '{shut}/x.conf'\n"),
    "included if it exists": lambda shut: (None, "", f"include_if_exists '{shut}/x.conf'\n"),
    "a directory": lambda shut: (None, "", f"include_dir '{shut}/conf.d'\n"),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("how", DENIED)
def test_a_file_in_a_directory_that_may_not_be_entered_is_refused_with_what_to_do(
    how: str, inside: bool
) -> None:
    with open_directory() as home:
        data, shut = home / "data", home / "shut"
        for folder in (data, shut):
            folder.mkdir()
        (data / "PG_VERSION").write_text("15\n")
        configuration, options, text = DENIED[how](shut)
        (data / MAIN).write_text(f"jit = off\n{text}")
        (data / "postmaster.opts").write_text(options or "postgres\n")
        if inside:
            (shut / "x.conf").write_text("geqo = off\n")
        shut.chmod(0)
        place = SettingsPlace(data, "data directory", configuration)
        account = choose_account()
        try:
            with pytest.raises(EngineError, match="could not read configuration file") as refused:
                account.call(lambda: str(read_server_settings(place)))
        finally:
            shut.chmod(0o700)
    assert "Permission denied" in refused.value.primary
    assert str(shut) in refused.value.primary
    assert "--config FILE" in str(refused.value.hint)
