"""The connection string of an arm's sessions: whose words count, and how settings go with them."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from steelyard.driver.plan import DriveArm
from steelyard.engines.postgres.adapter import session_address
from steelyard.engines.postgres.external_server import refusal_hint
from steelyard.model.errors import UsageError


def test_the_arms_words_count_before_the_studys() -> None:
    found = session_address("host=db1 user=a dbname=shop", "user=b", {}, None)
    assert (found.host, found.user, found.database) == ("db1", "b", "shop")


def test_a_uri_is_completed_by_words() -> None:
    found = session_address(
        "postgresql://a@db1:5433/shop?sslmode=disable", "dbname=other", {}, None
    )
    assert (found.host, found.port, found.database) == ("db1", 5433, "other")
    assert conninfo_to_dict(found.words)["sslmode"] == "disable"


def test_the_database_that_was_loaded_counts_before_all() -> None:
    assert session_address("host=db1 dbname=shop", None, {}, "steelyard").database == "steelyard"


def test_settings_stand_behind_the_options_that_were_given() -> None:
    found = session_address("host=db1 options='-c geqo=off'", None, {"jit": "on"}, None)
    assert found.options == "-c geqo=off -c jit=on"
    assert conninfo_to_dict(found.words)["options"] == found.options


def test_an_arms_encoding_is_its_sessions() -> None:
    """By its address or by a setting: arms that differ by nothing else are not equal."""
    by_word = session_address("host=db1", "client_encoding=LATIN1", {}, None)
    by_setting = session_address("host=db1", None, {"client_encoding": "LATIN1"}, None)
    expected = (("client_encoding", "LATIN1"),)
    assert by_word.settings == by_setting.settings == expected
    sent = DriveArm("one", by_word, 1).to_json()["settings"]
    assert sent == [["client_encoding", "LATIN1"]]


def test_an_arms_settings_count_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGGEQO", "off")
    monkeypatch.setenv("PGTZ", "Asia/Tokyo")
    found = session_address("host=db1", None, {"geqo": "on"}, None)
    assert found.options == "-c geqo=on"
    assert found.settings == (("timezone", "Asia/Tokyo"),)


def test_a_space_and_a_backslash_in_a_value_are_escaped() -> None:
    found = session_address("host=db1", None, {"search_path": "a, b\\"}, None)
    assert found.options == "-c search_path=a,\\ b\\\\"


def test_what_is_no_name_of_a_setting_is_refused() -> None:
    with pytest.raises(UsageError, match="no setting has the name"):
        session_address("host=db1", None, {"jit=on -c geqo": "off"}, None)


def test_what_is_no_connection_string_is_refused() -> None:
    with pytest.raises(UsageError, match="invalid connection string"):
        session_address("host=db1 prot=5432", None, {}, None)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            'FATAL: parameter "shared_buffers" cannot be changed without restarting the server',
            "weigh a copy: steelyard weigh settings --from",
        ),
        ('FATAL: permission denied to set parameter "wal_compression"', "GRANT SET ON PARAMETER"),
        ('FATAL: unrecognized configuration parameter "randm_page_cost"', "SHOW ALL"),
        ("fe_sendauth: no password supplied", "PGPASSWORD or ~/.pgpass"),
        ('FATAL: database "shop" does not exist', "dbname="),
    ],
)
def test_a_refused_session_says_what_to_type(words: str, hint: str) -> None:
    assert hint in (refusal_hint(words, "shop") or "")


def test_of_other_words_nothing_is_known() -> None:
    assert refusal_hint("Datenbank »shop« existiert nicht", "shop") is None
