"""Addresses in the words of libpq and of its programs."""

from __future__ import annotations

from dataclasses import replace

from steelyard.engines.postgres.libpq.connection_string import (
    GivenAddress,
    client_flags,
    connection_words,
    conninfo_of,
    read_target,
)
from steelyard.model.endpoint import Endpoint

HERE = Endpoint("/tmp/x", 6000, "u", "d", password="secret")


def test_what_is_written_is_read_as_the_same_address_without_the_password() -> None:
    assert read_target(conninfo_of(HERE)) == replace(HERE, password=None)
    assert client_flags(HERE) == ["-h", "/tmp/x", "-p", "6000", "-U", "u"]


def test_a_given_address_keeps_its_words_but_for_the_database() -> None:
    words = "host=/tmp/x port=6000 user=u dbname=d application_name=mine"
    given = GivenAddress("/tmp/x", 6000, "u", "other", words=words)
    expected = {**connection_words(words), "dbname": "other"}
    assert connection_words(conninfo_of(given)) == expected
