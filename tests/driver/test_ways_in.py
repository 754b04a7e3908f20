"""Connection strings lead where libpq would go: files, several hosts, IPv6, options."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from driver.served import PASSWORD, Server
from steelyard.driver.client import Driver
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.engines.postgres.libpq.connection_string import (
    GivenAddress,
    conninfo_of,
    read_target,
)
from steelyard.engines.postgres.libpq.connection_words import connection_words
from steelyard.engines.postgres.sql.database import connected
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, ServerError
from steelyard.model.secrets.secret import Secret
from thinned import thinned


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOST", "HOSTADDR", "PORT", "USER", "DATABASE", "PASSWORD", "SERVICE", "OPTIONS"):
        monkeypatch.delenv(f"PG{name}", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pgpass"))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))


def _drives(target: Endpoint, sql: str = "SELECT 1;") -> None:
    plan = DrivePlan(
        arms=(DriveArm("target", target, 2),),
        scripts=(DriveScript("one", sql, rows=1),),
    )
    with Driver.start(plan) as driver:
        (driven,) = driver.run([SliceRequest(arm=0, count=5)])
    assert (driven.transactions, driven.errors) == (5, {})


def test_a_service_file_is_read_by_libpq(tmp_path: Path) -> None:
    services = tmp_path / "services"
    services.write_text("[mine]\nhost=/tmp/x\nport=7001\nuser=u\ndbname=d\noptions=-c a.b=c\n")
    expected = Endpoint("/tmp/x", 7001, "u", "d", options="-c a.b=c")
    for target in (read_target("service=mine"), read_target("postgresql:///?service=mine")):
        assert target == GivenAddress(**vars(expected), words=target.words)


@pytest.mark.parametrize(
    "conninfo", ["host=127.0.0.9 port=1 user=u dbname=d", "host='127.0.0.9' port=1 user=u dbname=d"]
)
def test_a_password_file_is_read_by_libpq(conninfo: str, tmp_path: Path) -> None:
    passwords = tmp_path / "pgpass"
    passwords.write_text("elsewhere:*:*:*:no\n127.0.0.9:1:d:u:se\\:cret\n")
    passwords.chmod(0o600)
    assert read_target(conninfo).password == Secret("se:cret")


def test_ipv6_is_a_host_like_others() -> None:
    target = read_target("postgresql://u@[::1]:5433/d")
    assert (target.host, target.port, target.user, target.database) == ("::1", 5433, "u", "d")


@pytest.mark.postgres
@thinned("user", ["scram_user", "md5_user", "cleartext_user"], 1)
def test_every_password_method_takes_the_password_of_the_file(
    server: Server, user: str, tmp_path: Path
) -> None:
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:*:{user}:{PASSWORD}\n")
    passwords.chmod(0o600)
    port, database = server.address.port, server.address.database
    _drives(read_target(f"host=127.0.0.1 port={port} user={user} dbname={database}"))


@pytest.mark.postgres
def test_a_password_is_not_sent_in_a_way_that_is_not_accepted(server: Server) -> None:
    port = server.address.port
    for user, accepted, refused in (
        ("scram_user", "scram-sha-256", "password,md5"),
        ("md5_user", "md5", "!md5"),
        ("cleartext_user", "!scram-sha-256", "scram-sha-256,md5"),
        ("postgres", "none", "scram-sha-256"),
    ):
        quoted = PASSWORD.replace("'", "\\'")
        where = f"host=127.0.0.1 port={port} user={user} dbname=postgres password='{quoted}'"
        _drives(read_target(f"{where} require_auth={accepted}"))
        with connected(read_target(f"{where} require_auth={accepted}")) as session:
            assert session.execute("SELECT current_user").fetchone() == (user,)
        with pytest.raises(ServerError), connected(read_target(f"{where} require_auth={refused}")):
            pass
        with pytest.raises(DriverError, match="authentication method requirement"):
            _drives(read_target(f"{where} require_auth={refused}"))


@pytest.mark.postgres
def test_of_several_hosts_the_one_that_answers_is_driven(server: Server) -> None:
    address = server.address
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # nobody listens there
        nobody = taken.getsockname()[1]
        hosts = f"host=127.0.0.1,{address.host} port={nobody},{address.port}"
        target = read_target(f"{hosts} user={address.user} dbname={address.database}")
        assert (target.host, target.port) == (address.host, address.port)
        assert connection_words(conninfo_of(target))["port"] == str(address.port)
        with pytest.raises(DriverError, match="could not connect to any of the hosts"):
            read_target(f"host=127.0.0.1,127.0.0.1 port={nobody},{nobody}")
    _drives(target)


@pytest.mark.postgres
def test_a_server_is_reached_by_ipv6(server: Server) -> None:
    address = server.address
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.connect(("::1", address.port))
        except OSError as error:
            pytest.skip(f"this machine has no IPv6: {error}")
    sql = "SELECT 1 WHERE family(inet_client_addr()) = 6;"
    _drives(read_target(f"postgresql://{address.user}@[::1]:{address.port}/postgres"), sql)
    _drives(read_target(f"host=::1 port={address.port} user={address.user} dbname=postgres"), sql)


@pytest.mark.postgres
def test_a_connection_that_takes_too_long_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        target = read_target(f"host=127.0.0.1 port={port} user=u dbname=d connect_timeout=1")
        with pytest.raises(DriverError, match="no answer within 1 s"):
            _drives(target)


@pytest.mark.postgres
def test_a_statement_timeout_is_a_word_of_the_connection(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=5ms")
    plan = DrivePlan(
        arms=(DriveArm("target", read_target(server.conninfo), 1),),
        scripts=(DriveScript("slow", "SELECT pg_sleep(10);"),),
    )
    with Driver.start(plan) as driver:
        (driven,) = driver.run([SliceRequest(arm=0, count=3)])
    assert driven.errors == {"57014": 3}


@pytest.mark.postgres
def test_options_reach_the_session(server: Server) -> None:
    target = read_target(f"{server.conninfo} options='-c steel.yard=42' application_name=mine")
    _drives(
        target,
        "SELECT 1 WHERE current_setting('steel.yard') = '42' "
        "AND current_setting('application_name') = 'mine';",
    )
