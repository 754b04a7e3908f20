"""What belongs to a server's place, users and followers leaves its settings by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.engines.postgres.intake.configuration import (
    SET,
    Configuration,
    neutralise,
    read_file,
)

SECRET = "S3cret-of-theirs"


@pytest.mark.parametrize(
    "name",
    ["port", "listen_addresses", "unix_socket_directories", "hba_file", "ident_file",
     "external_pid_file", "data_directory", "cluster_name", "log_directory", "logging_collector",
     "lc_messages", "restore_command", "recovery_target_time", "recovery_end_command",
     "archive_cleanup_command", "primary_conninfo", "archive_command", "archive_mode",
     "archive_library", "synchronous_standby_names", "ssl", "ssl_key_file",
     "ssl_passphrase_command", "krb_server_keyfile", "oauth_validator_libraries",
     "dynamic_library_path", "extension_control_path", "jit_provider", "stats_temp_directory",
     "max_logical_replication_workers", "idle_session_timeout", "pre_auth_delay",
     "extension_destdir", "pljava.libjvm_location", "pljava.vmoptions", "plperl.on_init",
     "plperl.on_plperlu_init"],
)  # fmt: skip
def test_what_belongs_to_the_place_is_left_out_by_its_name_alone(name: str) -> None:
    found = neutralise({name: SECRET, "work_mem": "8MB"})
    assert dict(found.settings) == {"work_mem": "8MB"}
    assert [(one.what, bool(one.why)) for one in found.neutralised] == [(name, True)]
    assert SECRET not in repr(found)


@pytest.mark.parametrize(
    "name",
    ["shared_buffers", "wal_level", "wal_compression", "synchronous_commit", "fsync", "jit",
     "random_page_cost", "log_min_duration_statement", "my.setting"],
)  # fmt: skip
def test_what_decides_the_cost_stays(name: str) -> None:
    assert neutralise({name: "x"}).settings == {name: "x"}


@pytest.mark.parametrize(
    "name",
    ["pgaudit.log_directory", "pgaudit.log_filename", "basebackup_to_shell.command",
     "pgsodium.getkey_script", "vault.getkey_script", "their.alert_command"],
)  # fmt: skip
def test_what_an_extension_writes_elsewhere_or_runs_is_left_out_by_its_name(name: str) -> None:
    found = neutralise({name: "/srv/theirs", "work_mem": "8MB"})
    assert dict(found.settings) == {"work_mem": "8MB"}
    assert [each.what for each in found.neutralised] == [name]


@pytest.mark.parametrize(
    "name",
    ["log_replication_commands", "plperl.use_strict", "pljava.enable",
     "pgaudit.log", "pgaudit.log_level", "auto_explain.log_verbose",
     "their.scripts", "search_path", "cron.log_run"],
)  # fmt: skip
def test_what_only_sounds_like_it_stays(name: str) -> None:
    assert neutralise({name: "on"}).settings == {name: "on"}


@pytest.mark.parametrize("value", ["fatal", "PANIC"])
def test_a_log_that_says_no_reason_is_not_kept(value: str) -> None:
    assert neutralise({"log_min_messages": value}).settings == {}
    assert neutralise({"log_min_messages": "warning"}).settings == {"log_min_messages": "warning"}


@pytest.mark.parametrize("library", ["pg_stat/evil.so", "/tmp/evil", "../evil", "$libdir/../evil"])
def test_a_library_at_a_path_of_its_own_goes_alone(library: str) -> None:
    found = neutralise({"shared_preload_libraries": f'auto_explain, "{library}" ,$libdir/other'})
    assert found.settings["shared_preload_libraries"] == "auto_explain, $libdir/other"
    assert [one.what for one in found.neutralised] == [f"{library} in shared_preload_libraries"]


def test_control_characters_of_foreign_names_are_spelt_out() -> None:
    found = Configuration({"session_preload_libraries": "a\x1b[31m"})
    gone = found.without_library("a\x1b[31m", "why")
    assert gone.settings == {}
    assert gone.neutralised[0].what == r"a\x1b[31m in session_preload_libraries"


def test_a_file_of_an_arm_loses_what_is_set_for_every_copy(tmp_path: Path) -> None:
    file = tmp_path / "arm.conf"
    file.write_text("".join(f"{name} = 'x'\n" for name in SET) + "work_mem = 8MB\n")
    assert read_file(file).settings == {"work_mem": "8MB"}


def test_a_file_of_an_arm_says_which_files_that_it_includes_do_not_exist(tmp_path: Path) -> None:
    file = tmp_path / "arm.conf"
    file.write_text("include_if_exists 'tuned.conf'\nwork_mem = 8MB\n")
    result = read_file(file)
    assert result.settings == {"work_mem": "8MB"}
    [omitted] = result.neutralised
    assert omitted.what == f"include_if_exists '{tmp_path / 'tuned.conf'}'"
    (tmp_path / "tuned.conf").write_text("jit = off\n")
    assert read_file(file) == Configuration({"jit": "off", "work_mem": "8MB"})
