"""What a server takes of the machine's memory, by its own reading of its settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engines.mysql.fake_help import listing
from steelyard.engines.account import Account
from steelyard.engines.mysql.mysql import dedicated_pool_bytes, memory_need
from steelyard.engines.mysql.settings import SETTING_RULES

GB = 1 << 30
DEFAULT = 128 << 20
VARIABLES = {
    "innodb_buffer_pool_size": str(DEFAULT),
    "innodb_dedicated_server": "FALSE",
    "large_pages": "FALSE",
}


@pytest.mark.parametrize(
    ("memory_bytes", "pool_bytes"),
    [
        (GB - 1, DEFAULT),
        (GB, GB // 2),
        (4 * GB, 2 * GB),
        (16 * GB, 12 * GB),
    ],
)
def test_a_dedicated_server_takes_a_share_of_the_machine(
    memory_bytes: int, pool_bytes: int
) -> None:
    assert dedicated_pool_bytes(memory_bytes, DEFAULT) == pool_bytes


@pytest.mark.parametrize(
    ("settings", "dedicated"),
    [
        ({}, False),
        ({"innodb_dedicated_server": "ON"}, True),
        ({"innodb-dedicated-server": "ON"}, True),
        ({"loose_innodb_dedicated_server": "ON"}, True),
        ({"innodb_dedicated_server": "OFF"}, False),
    ],
)
def test_the_pool_is_what_the_server_makes_of_itself(
    place: Path, account: Account, settings: dict[str, str], dedicated: bool
) -> None:
    """`--verbose --help` lists the default: a dedicated server computes the size as it starts."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    need = memory_need(listing(place, VARIABLES), account, settings)
    whole = dedicated_pool_bytes(memory_bytes, DEFAULT)
    assert need.pool_bytes == (whole if dedicated else DEFAULT)
    assert need.huge_pages == "off"


@pytest.mark.parametrize(
    "name",
    ["innodb_buffer_pool_size", "Innodb-Buffer-Pool-Size", "loose_innodb_buffer_pool_size"],
)
def test_a_dedicated_server_keeps_a_pool_that_was_set(
    place: Path, account: Account, name: str
) -> None:
    settings = {"innodb_dedicated_server": "ON", name: str(96 << 20)}
    assert memory_need(listing(place, VARIABLES), account, settings).pool_bytes == 96 << 20


def test_what_is_typed_for_less_memory_is_in_the_servers_words(
    place: Path, account: Account
) -> None:
    need = memory_need(listing(place, VARIABLES), account, {"large_pages": "ON"})
    assert need.huge_pages == "on"
    assert need.settings.huge_pages == "large_pages"
    assert need.settings.pool_of(60) == "innodb_buffer_pool_size=60M"


@pytest.mark.parametrize(
    "name",
    [
        *("innodb_buffer_pool_size", "innodb_buffer_pool_instances", "innodb_page_cleaners"),
        *("innodb_redo_log_capacity", "innodb_log_file_size", "innodb_flush_method"),
    ],
)
def test_what_a_dedicated_server_computes_follows_from_that(name: str) -> None:
    assert SETTING_RULES.follows((name, "1", "8"), {"innodb_dedicated_server"})
    assert not SETTING_RULES.follows((name, "1", "8"), {"innodb_io_capacity"})
