"""Settings are refused before any data is loaded where a server would take them otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.mysql.fake_help import listing
from steelyard.engines.account import Account
from steelyard.engines.capabilities.settings import OptionalSettings
from steelyard.engines.mysql.mysql import Mysql, validate_settings
from steelyard.model.errors import UsageError
from steelyard.model.identity import Identity

VARIABLES = {"innodb_buffer_pool_size": "134217728", "innodb_doublewrite": "TRUE"}
REMOVED = (
    "2026-11-28 21:00:00 0 [Warning] 'innodb-buffer-pool-instances' was removed. It does nothing "
    "now and exists only for compatibility with old my.cnf files.\n"
    "2026-11-28 21:00:00 0 [Warning] Could not open mysql.plugin table: \"Table 'mysql.plugin' "
    "doesn't exist\". Some options may be missing from the help text"
)
NAME = "MariaDB 10.11.19"


@pytest.mark.parametrize("name", ["innodb_buffer_pool_instances", "Innodb-Buffer-Pool-Instances"])
def test_a_setting_that_does_nothing_any_more_is_refused(
    place: Path, account: Account, name: str
) -> None:
    """MariaDB takes it and does not report it: arms that differ in it alone would be weighed."""
    build = listing(place, VARIABLES, REMOVED)
    with pytest.raises(UsageError, match="does nothing in MariaDB 10") as refused:
        validate_settings(NAME, build, account, {name: "8", "innodb_doublewrite": "ON"})
    assert refused.value.primary == (
        f'setting "innodb_buffer_pool_instances" does nothing in {NAME}: it was removed'
    )
    assert "loose_innodb_buffer_pool_instances" in (refused.value.hint or "")


def test_a_setting_that_may_do_nothing_is_taken(place: Path, account: Account) -> None:
    settings = {"loose_innodb_buffer_pool_instances": "8"}
    validate_settings(NAME, listing(place, VARIABLES, REMOVED), account, settings)


def test_an_error_of_the_server_is_its_reason(place: Path, account: Account) -> None:
    log = "2026-11-23T23:22:47.1Z 0 [ERROR] [MY-000067] [Server] unknown variable 'foo=1'."
    with pytest.raises(UsageError, match='unrecognized setting: "foo"'):
        validate_settings(NAME, listing(place, VARIABLES, log), account, {"foo": "1"})


def test_a_warning_of_what_need_not_be_known_is_no_refusal(place: Path, account: Account) -> None:
    """my_getopt.c reports it as a warning; a weighing says it, or refuses arms that are equal."""
    warning = "2026-11-28 21:00:00 0 [Warning] mysqld: unknown variable 'loose-foo=1'"
    error = "2026-11-28 21:00:00 0 [ERROR] mysqld: unknown variable 'bar=1'"
    settings = {"loose_foo": "1"}
    validate_settings(NAME, listing(place / "a", VARIABLES, warning), account, settings)
    with pytest.raises(UsageError, match='unrecognized setting: "bar"'):
        validate_settings(
            NAME, listing(place / "b", VARIABLES, f"{warning}\n{error}"), account, settings
        )


def test_an_engine_names_what_does_nothing_in_its_servers(place: Path, account: Account) -> None:
    identity = Identity("mariadb", "10.11.19", 101119, "", "", "", "npm", "/x", False)
    engine = Mysql(listing(place, VARIABLES, REMOVED), identity, account)
    settings = {"loose_innodb_buffer_pool_instances": "8", "loose-innodb-doublewrite": "ON"}
    assert engine.unknown(settings) == {"loose_innodb_buffer_pool_instances"}
    assert engine.unknown({"innodb_doublewrite": "ON"}) == frozenset()
    assert isinstance(engine, OptionalSettings)
