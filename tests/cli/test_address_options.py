"""`--address` and `address=` as overrides of a study; passwords are kept nowhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from own_cache import own_cache
from steelyard.cli.options.address_options import (
    address_changes,
    address_password,
    require_agreed,
    with_addresses,
    with_own_workload,
    with_read_only_sessions,
    without_passwords,
)
from steelyard.cli.options.source_options import SourceOptions, back_up_whole
from steelyard.engines.account import Account, choose_account
from steelyard.engines.postgres.intake import running
from steelyard.engines.postgres.intake.running import RunningServer
from steelyard.model.errors import UsageError
from steelyard.study.read import read_study
from steelyard.workloads.reading.resolved import resolve_workload


@pytest.fixture(autouse=True)
def _no_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "")


def test_without_an_address_nothing_is_changed() -> None:
    assert address_changes(None, "conf=prod.conf", "/opt/bin") == []


def test_two_addresses_are_those_of_the_arms() -> None:
    changes = address_changes(None, "address=host=db1", "address=host=db2")
    study = read_study("addresses", changes)
    assert (study.control.address, study.arms[0].address) == ("host=db1", "host=db2")


def test_one_address_is_the_studys_and_its_servers_settings_are_left_to_it() -> None:
    changes = [*address_changes("host=db1 dbname=shop", None, None), "arm.settings.jit=off"]
    study = read_study("settings", changes)
    assert study.address == "host=db1 dbname=shop"
    assert study.settings == {}
    assert study.arms[0].settings == {"jit": "off"}


@pytest.mark.parametrize(
    ("changes", "settings", "arm"),
    [
        (["settings.work_mem=64MB"], {"work_mem": "64MB"}, {}),
        (["settings.Work_Mem=64MB"], {"work_mem": "64MB"}, {}),
        (["settings={ jit = false }"], {"jit": "off"}, {}),
        (["settings.shared_buffers=1GB"], {"shared_buffers": "1GB"}, {}),
        (["settings.jit=off", "arm.settings.work_mem=1GB"], {"jit": "off"}, {"work_mem": "1GB"}),
        ([], {}, {}),
    ],
)
@pytest.mark.parametrize(
    "options",
    [
        ("host=db1", None, None),
        (None, "address=host=db1", "address=host=db2"),
        ("host=db1", "address=user=a", "address=user=b"),
    ],
)
def test_settings_of_the_command_are_those_of_the_sessions_at_an_address(
    options: tuple[str | None, str | None, str | None],
    changes: list[str],
    settings: dict[str, str],
    arm: dict[str, str],
) -> None:
    study = read_study("settings", with_addresses(changes, *options))
    assert study.is_external
    assert study.workload.name == "own"
    assert study.settings == settings
    assert study.settings_of(study.arms[0]) == {**settings, **arm}


_STUDY = 'title = "t?"\nquestion = "q?"\n[control]\n[arm]\nsettings = { jit = "off" }\n'


@pytest.mark.parametrize(
    ("more", "changes", "settings", "shown"),
    [
        ("[settings]\nwork_mem = '8MB'\n'my.x' = 1\n", [], {"work_mem": "8MB", "my.x": "1"}, True),
        ("[settings]\nwork_mem = '8MB'\n", ["settings.work_mem=1MB"], {"work_mem": "1MB"}, True),
        ("[settings]\nshared_buffers = '1GB'\n", ["settings={}"], {}, False),
        ("[settings]\n", [], {}, False),
        ("", [], {}, False),
    ],
)
@pytest.mark.parametrize(
    "options",
    [("host=db1", None, None), (None, "address=host=db1", "address=host=db2")],
)
def test_settings_of_ones_own_file_are_those_of_the_sessions_at_an_address_and_that_is_said(
    options: tuple[str | None, str | None, str | None],
    more: str,
    changes: list[str],
    settings: dict[str, str],
    shown: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(_STUDY + more)
    study = read_study(str(file), with_addresses(changes, *options, str(file)))
    assert study.settings == settings
    assert study.settings_of(study.arms[0]) == {**settings, "jit": "off"}
    assert study.workload.name == "own"
    said = capsys.readouterr().err
    assert ("--set 'settings={}'" in said) == shown
    assert all(name in said for name in settings)


@pytest.mark.parametrize(
    ("workload", "changes", "name", "clients", "shown"),
    [
        ("name = 'own'\nclients = 16\n", ["workload.scripts={ a = 1 }"], "own", 16, False),
        ("clients = 16\n", ["workload.scripts={ a = 1 }"], "own", 16, False),
        ("name = 'pgbench'\nclients = 16\n", ["workload.scripts={ a = 1 }"], "own", 16, True),
        ("name = 'pgbench'\nclients = 16\n", ["workload=tproc-c"], "tproc-c", 16, False),
        (
            "name = 'pgbench'\nclients = 16\n",
            ["workload.clients=3", "workload=tproc-c"],
            "tproc-c",
            3,
            False,
        ),
        ("name = 'pgbench'\nclients = 16\n", ["workload.scale=3"], "pgbench", 16, False),
    ],
)
def test_the_workload_of_ones_own_file_is_driven_on_ones_data_or_said_to_be_left_out(
    workload: str,
    changes: list[str],
    name: str,
    clients: int,
    shown: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f"{_STUDY}[workload]\n{workload}")
    source = SourceOptions(str(tmp_path), None, None, agreed=False)
    for given in (
        lambda: with_addresses(changes, "host=db1", None, None, str(file)),
        lambda: source.changes(changes, str(file)),
    ):
        study = read_study(str(file), given())
        assert (study.workload.name, study.workload.clients) == (name, clients)
        assert ("--set workload=pgbench" in capsys.readouterr().err) == shown


def test_a_setting_that_is_called_after_an_address_gives_no_arm_one() -> None:
    with pytest.raises(UsageError, match="--control has none"):
        with_addresses(["settings.listen_addresses=*"], None, None, "address=host=db2")
    changes = ['control={ address = "host=db1" }']
    assert changes[0] in with_addresses(changes, None, None, "address=host=db2")


def test_settings_that_are_given_as_one_table_do_not_lie_beneath_those_of_a_copied_server() -> None:
    study = read_study("settings", ["source=/data", "settings={ max_connections = 100 }"])
    assert study.settings == {"max_connections": "100"}
    assert study.source is not None
    assert study.source.beneath == {}


def test_a_password_goes_to_the_environment_and_into_no_study() -> None:
    addresses = ("postgresql://app:secret@db1/shop", None, "address=user=b")
    changes, password = address_changes(*addresses), address_password(*addresses)
    assert os.environ["PGPASSWORD"] == "", "nothing but `export` hands it on"
    assert password is not None
    password.export()
    assert os.environ["PGPASSWORD"] == "secret"
    assert "secret" not in repr(password)
    assert "secret" not in str(changes)
    assert "user=app" in str(changes)


def test_a_sql_server_keeps_the_studys_workload_and_its_password_goes_to_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SQLCMDPASSWORD", "")
    uri = "sqlserver://sa:s%40cret@db1:1444/?encrypt=strict"
    study = read_study("page-verify-sqlserver", with_addresses([], uri, None, None))
    assert study.address == "sqlserver://sa@db1:1444/?encrypt=strict"
    assert study.workload.name == "select-insert"
    assert study.arms[1].settings == {"page_verify": "NONE"}
    password = address_password(uri, None, None)
    assert password is not None
    password.export()
    assert os.environ["SQLCMDPASSWORD"] == "s@cret"
    assert without_passwords(["--address", uri]) == ["--address", study.address]


def test_arms_of_a_sql_server_have_no_address_of_their_own() -> None:
    with pytest.raises(UsageError, match="databases on one server: give --address alone"):
        with_addresses([], "sqlserver://sa@db1", None, "address=sqlserver://sa@db2")


@pytest.mark.parametrize(("host", "asks"), [("127.0.0.1", False), ("db1", True)])
def test_databases_are_made_on_another_machine_only_where_that_was_agreed_to(
    host: str, asks: bool
) -> None:
    changes = with_addresses([], f"sqlserver://sa@{host}", None, None)
    study = resolve_workload(read_study("page-verify-sqlserver", changes))
    require_agreed(study, agreed=True)
    if asks:
        with pytest.raises(UsageError, match=r'3 databases would be made .* server at "db1"'):
            require_agreed(study, agreed=False)
    else:
        require_agreed(study, agreed=False)


def test_two_passwords_are_refused() -> None:
    with pytest.raises(UsageError, match="two passwords"):
        address_password(None, "address=host=a password=x", "address=host=b password=y")


def test_a_command_is_kept_without_its_passwords() -> None:
    given = ["weigh", "--control", "address=host=a password=x", "--address", "postgres://u:x@b/d"]
    kept = without_passwords(given)
    assert kept[:2] == ["weigh", "--control"]
    assert kept[2] == "address=host=a"
    assert "x" not in kept[4]
    for option in ("--from=", "--address=", "--arm=address="):
        assert without_passwords([f"{option}host=a password=secret"]) == [f"{option}host=a"]
    assert without_passwords(["--from", "/data", "-f", "q.sql"]) == [
        "--from",
        "/data",
        "-f",
        "q.sql",
    ]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("--address=sqlserver://sa:my secret@db1", "--address=sqlserver://sa@db1"),
        ("sqlserver://sa:@secret@db1", "sqlserver://sa@db1"),
        ("sqlserver://sa:se/cret@db1", "sqlserver://…@db1"),
        ("sqlserver://sa@db1?password=secret", "sqlserver://…@db1?password=…"),
        ("mysql://u:secret@h/d", "mysql://…@h/d"),
        ("--arm=address=mariadb://u:se/cret@h/d", "--arm=address=mariadb://…@h/d"),
        ("postgresql://u:se/cret@h/d", "postgresql://…@h/d"),
        ("host=h password='secret", "host=h password=…"),
    ],
)
def test_a_password_is_kept_nowhere_even_where_its_end_is_not_clear(given: str, kept: str) -> None:
    assert without_passwords([given]) == [kept]


@pytest.mark.parametrize("target", ["mysql://u:secret@h/d", "postgresql://u:se/cret@h/d"])
def test_a_uri_that_cannot_be_copied_from_is_not_shown_with_its_password(target: str) -> None:
    with pytest.raises(UsageError, match="invalid connection string") as refused:
        SourceOptions(target, None, None, agreed=True).changes([])
    assert "cret" not in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has other accounts")
@pytest.mark.parametrize("account", [None, "nobody"])
def test_a_copy_of_a_server_is_the_servers_accounts(
    account: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners: list[Account] = []
    server = RunningServer("host=db1", None, "18.4", 1, (), (("d", 1),), "postgres", {})
    monkeypatch.setattr(running, "ask_running", lambda target: server)
    monkeypatch.setattr(
        running, "back_up", lambda server, directory, owner, report: owners.append(owner)
    )
    with own_cache():
        changes = SourceOptions("host=db1", None, None, True, account).changes([])
        assert any(change.startswith("source.place=") for change in changes)
        assert 'source.server="host=db1"' in changes
        back_up_whole("host=db1", account, agreed=True)
    assert owners == [choose_account(account)] * 2


def test_scripts_of_the_user_are_driven_unless_a_workload_is_named() -> None:
    assert with_own_workload(["budget.measuring=1m"])[0] == "workload=own"
    assert with_own_workload(["workload=pgbench"]) == ["workload=pgbench"]


def test_who_writes_at_an_address_must_agree(tmp_path: Path) -> None:
    writes, reads = tmp_path / "w.sql", tmp_path / "r.sql"
    writes.write_text("UPDATE t SET a = 1;\n")
    reads.write_text("SELECT 1;\n")
    address = ["workload=own", *address_changes("host=db1", None, None)]

    def of(file: Path, *more: str) -> list[str]:
        return [*address, f'workload.scripts={{"{file}" = 1}}', *more]

    study = resolve_workload(read_study("sessions", of(writes)))
    with pytest.raises(UsageError, match="writes into the database") as caught:
        require_agreed(study, agreed=False)
    assert "--yes" in str(caught.value.hint)
    require_agreed(study, agreed=True)
    require_agreed(resolve_workload(read_study("sessions", of(reads))), agreed=False)
    loaded = read_study("sessions", ["workload=pgbench", *address_changes("host=db1", None, None)])
    require_agreed(resolve_workload(loaded), agreed=False)  # Steelyard made it


def test_reads_are_driven_in_sessions_that_begin_read_only(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "call.sql").write_text("SELECT place_order();\n")
    (tmp_path / "scripts" / "put.sql").write_text("UPDATE t SET a = 1;\n")
    described = 'name = "ours"\ntitle = "captured"\nloaded = false\ntried_first = true\n'
    described += "[scripts.call]\nwrites = false\n[scripts.put]\nwrites = true\n"
    (tmp_path / "workload.toml").write_text(described)

    def settings(*changes: str, agreed: bool) -> dict[str, str]:
        address = [f"workload={tmp_path}", *address_changes("host=db1", None, None)]
        study = resolve_workload(read_study("sessions", [*address, *changes]))
        return with_read_only_sessions(study, agreed=agreed).settings

    reads, both = 'workload.scripts={"call" = 1}', 'workload.scripts={"call" = 1, "put" = 1}'
    begin = {"default_transaction_read_only": "on"}
    assert settings(reads, agreed=False) == begin
    assert settings(reads, "settings.jit=off", agreed=False) == {**begin, "jit": "off"}
    assert settings(reads, agreed=True) == {}
    assert settings(both, agreed=True) == settings(both, agreed=False) == {}
    file = f'workload.scripts={{"{tmp_path}/scripts/call.sql" = 1}}'
    own = ["workload=own", *address_changes("host=db1", None, None), file]
    study = resolve_workload(read_study("sessions", own))
    assert with_read_only_sessions(study, agreed=False).settings == begin, "functions may write"
    assert with_read_only_sessions(study, agreed=True) is study
    loaded = read_study("sessions", ["workload=pgbench", *address_changes("host=db1", None, None)])
    assert with_read_only_sessions(loaded, agreed=False) is loaded, "Steelyard made its data"
    may_write = "settings.default_transaction_read_only=off"
    for change in (may_write, f"arm.{may_write}", f"control.{may_write}"):
        with pytest.raises(UsageError, match="would not begin read-only") as refused:
            settings(reads, change, agreed=False)
        assert "--yes" in str(refused.value.hint)
        settings(reads, change, agreed=True)
    assert settings(reads, may_write.replace("off", "on"), agreed=False) == begin
