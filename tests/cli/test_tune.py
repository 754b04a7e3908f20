"""`steelyard tune` prints settings that a real server accepts, and changes nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from cli.conftest import Steelyard
from own_cache import own_server
from steelyard.engines.postgres.libpq.connection_string import conninfo_of
from steelyard.engines.postgres.sql.session import connect, read_allowed

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("version", ["18", pytest.param("16", marks=pytest.mark.long)])
def test_what_it_proposes_is_accepted_by_the_build(
    steelyard: Steelyard, tmp_path: Path, version: str
) -> None:
    asked = ("--memory", "4GB", "-c", "20", "--version", version)
    said = steelyard("tune", ".", *asked, "--json")
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    settings = {one["name"]: one["value"] for one in told["settings"]}
    assert settings["shared_buffers"] == "1GB"
    assert told["memory"]["total_bytes"] <= 4 << 30
    assert [one.name for one in tmp_path.iterdir()] == []
    arm = steelyard("tune", ".", *asked, "--format", "arm", "-o", "arm.toml")
    assert "settings written to arm.toml" in arm.stderr
    [made] = tomllib.loads((tmp_path / "arm.toml").read_text())["arm"]
    of_free_disk = {"max_wal_size", "min_wal_size"}  # which others take from meanwhile
    assert made["settings"].keys() == settings.keys()
    assert {name: made["settings"][name] for name in settings.keys() - of_free_disk} == {
        name: settings[name] for name in settings.keys() - of_free_disk
    }
    with own_server(version, settings) as instance:
        shown = instance.settings()
        assert shown["shared_buffers"] == "131072 8kB"
        assert shown["max_wal_size"].endswith(" MB")


def test_a_table_shows_reasons_sources_and_who_disagrees(steelyard: Steelyard) -> None:
    said = steelyard("tune", ".", "--memory", "2GB", "-c", "8", "--work", "mixed")
    assert said.returncode == 0, said.stderr
    for part in (
        "profile ours for PostgreSQL 18",
        "128MB → 512MB",
        "Source: PostgreSQL documentation",
        "others: ",
        "left alone",
        "durability is not traded",
        "memory at most: 512 MB shared",
        "* takes effect at the next start",
    ):
        assert part in said.stdout, said.stdout


@pytest.mark.long
def test_memory_that_does_not_hold_it_is_refused(steelyard: Steelyard) -> None:
    said = steelyard("tune", ".", "--memory", "300MB", "-c", "500")
    assert said.returncode == 2
    assert 'cannot make profile "ours" for 300 MB of memory and 500 clients' in said.stderr
    assert steelyard("tune", ".", "--memory", "much").returncode == 2


@pytest.mark.parametrize("version", ["18", "16"])
def test_what_a_build_accepts_is_what_psql_shows(version: str) -> None:
    with own_server(version) as instance:
        allowed = read_allowed(instance.address)
        query = "SELECT name, min_val, max_val, boot_val FROM pg_settings WHERE vartype = 'integer'"
        with connect(conninfo_of(instance.address)) as connection:
            shown = {name: rest for name, *rest in connection.execute(query).fetchall()}
    numbers = {name for name, known in allowed.items() if known.kind == "integer"}
    assert numbers == set(shown)
    for name, (low, high, default) in shown.items():
        known = allowed[name]
        assert (known.low, known.high, known.default) == (float(low), float(high), default)
    assert allowed["wal_compression"].values
    assert allowed["shared_buffers"].needs_restart
    assert not allowed["work_mem"].needs_restart


@pytest.mark.parametrize("name", ["postgresql.conf", "postgresql.auto.conf", "conf.d/memory.conf"])
def test_a_configuration_of_the_users_is_not_written_over(
    forked: Steelyard, tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("listen_addresses = '*'\n")
    said = forked("tune", ".", "--memory", "8GB", "--format", "conf", "-o", name)
    assert said.returncode == 2
    assert f'cannot write over "{name}"' in said.stderr
    assert "include = " in said.stderr
    assert file.read_text() == "listen_addresses = '*'\n"


@pytest.mark.long
def test_a_configuration_of_its_own_is_written_anew(steelyard: Steelyard, tmp_path: Path) -> None:
    asked = ("tune", ".", "-c", "20", "--format", "conf", "-o", "tuned.conf", "--memory")
    (tmp_path / "tuned.conf").touch()
    for memory, pool in (("4GB", "1GB"), ("8GB", "2GB")):
        said = steelyard(*asked, memory)
        assert said.returncode == 0, said.stderr
        assert f"shared_buffers = '{pool}'" in (tmp_path / "tuned.conf").read_text()


@pytest.mark.parametrize(
    ("of_data", "words", "said"),
    [
        ("16\n", (), "# ours for PostgreSQL 16."),
        ("16\n", ("--version", "16"), "# ours for PostgreSQL 16."),
        ("16\n", ("--version", "18"), '"data" holds data of PostgreSQL 16, and settings of 18.'),
        ("nonsense\n", (), "# ours for PostgreSQL 18."),
        (None, (), "# ours for PostgreSQL 18."),
    ],
)
def test_settings_are_for_the_version_of_the_data_in_the_directory(
    steelyard: Steelyard, tmp_path: Path, of_data: str | None, words: tuple[str, ...], said: str
) -> None:
    """io_workers, of 18, keeps a server of 16 from starting."""
    data = tmp_path / "data"
    data.mkdir()
    if of_data is not None:
        (data / "PG_VERSION").write_text(of_data)
    sized = ("--memory", "64GB", "--processors", "32", "--format", "conf")
    printed = steelyard("tune", "data", *sized, *words)
    refused = said.startswith('"')
    assert printed.returncode == (2 if refused else 0), printed.stderr
    assert said in (printed.stderr if refused else printed.stdout.splitlines()[0])
    assert ("io_workers" in printed.stdout) == (" 18." in said and not refused)
