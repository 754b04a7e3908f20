"""Sessions of the driver are asked whether they begin read-only, behind poolers too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from driver.pooling import pooling
from driver.served import Server
from steelyard import _core
from steelyard.driver.read_only import ON, READ_ONLY, why_not_read_only
from steelyard.engines.postgres.adapter import session_address
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError

ANYWHERE = Endpoint("db1", 5432, "app", "shop", settings=((READ_ONLY, ON),))


@pytest.mark.parametrize(
    ("rows", "begins"), [([["on"]], True), ([["off"]], False), ([], False), ([[None]], False)]
)
def test_only_a_session_that_says_so_begins_read_only(
    rows: list[list[str | None]], begins: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_core, "ask", lambda arm, sql: rows)
    assert (why_not_read_only(ANYWHERE) is None) == begins


@pytest.mark.parametrize(
    ("detail", "raised"),
    [
        (f"unsupported startup parameter: {READ_ONLY} (SQLSTATE 08P01)", False),
        ("unsupported startup parameter: options (SQLSTATE 08P01)", False),
        (f'parameter "{READ_ONLY}" cannot be changed', False),
        ("connection refused", True),
        (None, True),
    ],
)
def test_a_refusal_of_the_setting_is_the_reason_and_another_one_is_raised(
    detail: str | None, raised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(arm: str, sql: str) -> list[list[str]]:
        raise DriverError("could not connect", detail=detail)

    monkeypatch.setattr(_core, "ask", refuse)
    if not raised:
        assert why_not_read_only(ANYWHERE) == detail
        return
    with pytest.raises(DriverError, match="could not connect"):
        why_not_read_only(ANYWHERE)


@pytest.mark.postgres
@pytest.mark.parametrize("value", ["on", "off"])
def test_a_server_is_asked_by_a_session_with_the_settings_of_the_load(
    server: Server, value: str
) -> None:
    address = session_address(server.conninfo, None, {READ_ONLY: value}, None)
    assert (why_not_read_only(address) is None) == (value == ON)


@pytest.mark.postgres
def test_behind_a_pooler_that_ignores_settings_no_session_begins_read_only(server: Server) -> None:
    with pooling(server.address) as pooler:
        address = session_address(pooler.conninfo, None, {READ_ONLY: ON}, None)
        assert why_not_read_only(address)
        assert why_not_read_only(replace(address, settings=((READ_ONLY, ON),)))
