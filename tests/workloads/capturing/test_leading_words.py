"""A statement is known by its first words, whatever blanks and comments stand between them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.workloads.capturing.leading_words import (
    ending_words,
    is_local,
    leading_words,
    setting_of_session,
)
from steelyard.workloads.capturing.transactions import effect_of, first_word
from thinned import thinned

BETWEEN = st.lists(
    st.sampled_from(
        [" ", "\n", "\t", "/* and chain */", "/* a /* to */ b */", "-- to x\n", "--\r\n", "/**/"]
    ),
    min_size=1,
    max_size=40,
).map("".join)
# "--" behind a word begins a comment, and "/**/" parts two words.


@given(blanks=st.lists(BETWEEN, min_size=5, max_size=5), upper=st.booleans(), data=st.data())
def test_blanks_and_comments_part_words_and_are_none(
    blanks: list[str], upper: bool, data: st.DataObject
) -> None:
    text, opens = data.draw(
        st.sampled_from(
            [
                ("commit", False), ("end transaction", False), ("rollback work", False),
                ("commit and chain", True), ("rollback work and chain", True),
                ("abort and no chain", False), ("end and no chain", False),
                ("rollback to a", True), ("abort transaction to savepoint a", True),
                ("begin work", True), ("start transaction", True), ("select to", True),
            ]
        )
    )  # fmt: skip
    words = text.upper().split() if upper else text.split()
    woven = "".join(blank + word for blank, word in zip(blanks, words, strict=False))
    assert leading_words(woven) == tuple(text.split())
    assert effect_of(f"{woven}{blanks[0]}", is_open=True).is_open is opens


@pytest.mark.parametrize("comment", ["-- c{0},\n", " /* c{0}, */\n", "/* /* c{0} */ */", " \t"])
@thinned("first", ["SELECT", "COMMIT", "SET", "ROLLBACK"], 1)
def test_many_comments_take_no_time(comment: str, first: str) -> None:
    text = f"{first} " + "".join(comment.format(n) for n in range(20_000)) + "* FROM t"
    begun = time.monotonic()
    assert first_word(text) == first.lower()
    assert not is_local(text)
    assert effect_of(text, is_open=False).begins is False
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("text", "words", "after_end"),
    [
        ("", (), ()), ("/* open", (), ()), ("-- alone", (), ()), ("(SELECT 1)", (), ()),
        ("COMMIT;", ("commit",), ()), ("rollback to\"x\"", ("rollback", "to"), ("to",)),
        ("COMMIT /* supply and chain */", ("commit",), ()),
        ("COMMIT PREPARED 'and chain'", ("commit", "prepared"), ("prepared",)),
        ("set_x local", ("set_x", "local"), ()),
        ("select*from t", ("select",), ()),
    ],
)  # fmt: skip
def test_words_end_where_none_follows(
    text: str, words: tuple[str, ...], after_end: tuple[str, ...]
) -> None:
    assert leading_words(text) == words
    assert ending_words(text) == after_end


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("SET LOCAL a = 1", True), ("set/**/transaction read only", True), ("SET a = 1", False),
        ("SET CONSTRAINTS ALL DEFERRED", True), ("SET -- local\n a = 1", False),
        ("SET localtime = 1", False), ("SHOW local", False),
    ],
)  # fmt: skip
def test_what_lasts_for_a_transaction(text: str, local: bool) -> None:
    assert is_local(text) is local


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("SET search_path TO tenant_7, public", "search_path"),
        ("/* app */ set session search_path = tenant_7", "search_path"),
        ("SET SCHEMA 'tenant_7'", "search_path"),
        ("SET ROLE reader", "role"),
        ("SET SESSION AUTHORIZATION 'reader'", "session authorization"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
         "session characteristics"),
        ("SET app.tenant = '7'", "app.tenant"),
        ("SET enable_seqscan=off", "enable_seqscan"),
        ("SET datestyle TO 'SQL, DMY'", "datestyle"), ("SET DateStyle=ISO,DMY", "datestyle"),
        ("set session IntervalStyle = sql_standard", "intervalstyle"),
        ("SET standard_conforming_strings = off;", "standard_conforming_strings"),
        ("SET LOCAL search_path TO tenant_7", ""),
        ("SET TRANSACTION READ ONLY", ""),
        ("SET CONSTRAINTS ALL DEFERRED", ""),
        *((text, "") for text in (
            "SET TIME ZONE 'UTC'", "SET timezone TO 'UTC'", "SET SESSION TIME ZONE LOCAL",
            "SET NAMES 'UTF8'", "SET client_encoding = 'UTF8'", "SET extra_float_digits = 3",
            "SET application_name = 'a'", "SET statement_timeout = 5000", "SET DateStyle = 'ISO'",
            "SET datestyle TO ISO, MDY;", "SET DATESTYLE TO DEFAULT", "SET intervalstyle=iso_8601",
            "set standard_conforming_strings to 'on'; -- as it is",
            "SET client_min_messages TO warning", "RESET search_path", "SHOW search_path",
            "SELECT 1", "settle",
        )),
    ],
)  # fmt: skip
def test_what_a_set_leaves_to_its_session_is_named_where_it_matters(text: str, name: str) -> None:
    assert setting_of_session(text) == name
