"""Foreign configurations run nothing, reach nothing, and leave every other file as it was.

docs/reference/own-data.md promises that settings hold as far as the copy can have them, and that
what it cannot is left out by name; SAFETY.md that a copy listens on no network.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg
import pytest

from hostile.conftest import SECRET
from own_cache import own_run
from steelyard.engines.engine import Slot
from steelyard.engines.intake import ServerSettings, SettingsPlace
from steelyard.engines.postgres.intake.server_settings import read_server_settings
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.postgres import Postgres
from steelyard.engines.postgres.selection import find_postgres
from steelyard.model.errors import EngineError

Untouched = Callable[..., AbstractContextManager[None]]


@pytest.fixture
def data(open_home: Path) -> Path:
    """A data directory, as far as its settings are read."""
    directory = open_home / "theirs"
    directory.mkdir()
    (directory / "PG_VERSION").write_text("18\n")
    return directory


def read(data: Path, text: str | bytes) -> ServerSettings:
    content = text if isinstance(text, bytes) else text.encode()
    (data / "postgresql.conf").write_bytes(content)
    return read_server_settings(SettingsPlace(data, "data directory"))


RUN = "touch /tmp/steelyard-hostile-configuration"
RUNS_OR_REACHES = {
    "archive_command": RUN,
    "archive_mode": "always",
    "archive_library": "/tmp/evil.so",
    "restore_command": RUN,
    "recovery_end_command": RUN,
    "archive_cleanup_command": RUN,
    "ssl_passphrase_command": RUN,
    "ssl": "on",
    "primary_conninfo": "host=example.org password=x",
    "shared_preload_libraries": "/tmp/evil.so",
    "session_preload_libraries": "../../pg_stat/evil",
    "local_preload_libraries": "/tmp/evil",
    "dynamic_library_path": "/tmp",
    "extension_control_path": "/tmp",
    "jit_provider": "/tmp/evil",
    "extension_destdir": "/tmp",
    "pljava.libjvm_location": "/tmp/evil.so",
    "plperl.on_init": "system(q{touch /tmp/steelyard-hostile-configuration})",
    "oauth_validator_libraries": "evil",
    "listen_addresses": "*",
    "port": "5432",
    "unix_socket_directories": "/tmp",
    "log_directory": "/tmp/steelyard-hostile-log",
    "logging_collector": "on",
    "log_filename": "../../evil.log",
    "stats_temp_directory": "/tmp",
    "external_pid_file": "/tmp/steelyard-hostile.pid",
    "data_directory": "/",
    "config_file": "/etc/passwd",
    "hba_file": "/tmp/pg_hba.conf",
    "ident_file": "/tmp/pg_ident.conf",
    "cluster_name": "a\x1b]52;c;x\x07",
    "bonjour": "on",
    "synchronous_standby_names": "*",
    "krb_server_keyfile": "/etc/krb5.keytab",
}


@pytest.mark.parametrize("name", sorted(RUNS_OR_REACHES))
def test_a_setting_that_runs_a_program_or_reaches_elsewhere_is_left_out_by_its_name(
    data: Path, name: str
) -> None:
    value = RUNS_OR_REACHES[name]
    escaped = value.replace("\x1b", "\\033").replace("\x07", "\\007")
    found = read(data, f"{name.upper()} = '{escaped}'\nwork_mem = 7MB\n")
    assert found.settings == {"work_mem": "7MB"}
    assert [one.what.endswith(name) for one in found.neutralised] == [True]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("include 'postgresql.conf'\n", "circle"),
        ("include_dir '.'\n", "circle"),
        ("include '/dev/zero'\n", "not a regular file"),
        ("include '/'\n", "not a regular file"),
        ("include 'pipe'\n", "not a regular file"),
        ("include 'sparse'\n", "longer than"),
        ("include 'wide0.inc'\n", "more than"),
        ("my.x = 'a\n", "line 1 is no setting"),
        (b"work_mem = 1MB\nmy.x = 'a\0b'\n", "line 2 is no setting"),
        (b"\x7fELF\0\0\0", "line 1 is no setting"),
        ("work_mem 1MB 2MB\n", "line 1 is no setting"),
        ("include_if_exists ''\n", "line 1 includes nothing"),
    ],
)
def test_files_that_no_server_starts_with_are_refused_at_once(
    data: Path, text: str | bytes, words: str
) -> None:
    os.mkfifo(data / "pipe")
    with (data / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    for number in range(4):
        (data / f"wide{number}.inc").write_text(f"include 'wide{number + 1}.inc'\n" * 11)
    (data / "wide4.inc").write_text("jit = off\n")
    with pytest.raises(EngineError, match=words):
        read(data, text)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read what the owner may not")
@pytest.mark.parametrize("how", ["include", "link", "opts"])
def test_no_file_of_the_caller_is_read_for_the_owner_of_the_data(
    data: Path, victim: Path, untouched: Untouched, how: str
) -> None:
    os.chown(data, 12345, 12345)
    main = data / "postgresql.conf"
    if how == "include":
        main.write_text(f"include '{victim}'\n")
        os.chown(main, 12345, 12345)
    elif how == "link":
        main.symlink_to(victim)
    else:
        (data / "postmaster.opts").write_text(f'postgres "-c" "config_file={victim}"\n')
    with untouched(victim), pytest.raises(EngineError, match="may not read it") as refused:
        read_server_settings(SettingsPlace(data, "data directory"))
    assert SECRET not in f"{refused.value} {refused.value.detail}"


@pytest.fixture(scope="module")
def engine() -> Postgres:
    return find_postgres("18")


@pytest.fixture
def slot() -> Iterator[Slot]:
    with own_run() as run:
        yield run.slot(0)


@pytest.mark.long
@pytest.mark.postgres
def test_a_copy_with_all_of_them_runs_nothing_and_listens_nowhere(
    data: Path, engine: Postgres, slot: Slot
) -> None:
    traces = [Path("/tmp/steelyard-hostile-configuration"), Path("/tmp/steelyard-hostile-log"),
              Path("/tmp/steelyard-hostile.pid")]  # fmt: skip
    lines = [
        f"{name} = '{value}'" for name, value in RUNS_OR_REACHES.items() if "\x1b" not in value
    ]
    text = "\n".join([*lines, "work_mem = 7MB", "my.x = 'a\\nb\\033'"])
    accepted = engine.accepted(read(data, text + "\n"), slot, lambda _: None)
    cluster = engine.create(slot.path / "data", protection="checksums")
    try:
        cluster.configure(accepted.settings)
        cluster.start(slot, {})
        with psycopg.connect(conninfo_of(cluster.address), autocommit=True) as session:
            session.execute("SELECT pg_switch_wal()")
            shown = dict(session.execute("SELECT name, setting FROM pg_settings").fetchall())
            placeholder = session.execute("SHOW my.x").fetchone()
        listening = Path("/proc", str(cluster.pid), "net", "tcp").read_text()
        assert f":{slot.port:04X} " not in listening
    finally:
        cluster.stop()
        shutil.rmtree(cluster.directory)
    assert (shown["listen_addresses"], shown["archive_mode"], shown["ssl"]) == ("", "off", "off")
    assert (shown["work_mem"], placeholder) == ("7168", ("a\nb\x1b",))
    assert shown["shared_preload_libraries"] == shown["session_preload_libraries"] == ""
    assert [trace for trace in traces if trace.exists()] == []


@pytest.mark.postgres
def test_a_planted_link_in_place_of_the_configuration_is_not_written_through(
    engine: Postgres, slot: Slot, victim: Path, untouched: Untouched
) -> None:
    cluster = engine.create(slot.path / "data", protection="checksums")
    automatic = cluster.directory / "postgresql.auto.conf"
    automatic.unlink()
    automatic.symlink_to(victim)
    with untouched(victim), pytest.raises(OSError, match=r"links|Permission|loop"):
        cluster.configure({"my.x": "chosen by another"})
    shutil.rmtree(cluster.directory)
