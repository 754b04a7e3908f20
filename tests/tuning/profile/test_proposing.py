"""A profile counts what is known of the server it is for, and nothing of this machine besides."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.model.errors import UsageError
from steelyard.model.identity import Identity
from steelyard.tuning.profile import proposing
from steelyard.tuning.profile.proposing import Accepting, ProfileRequest, propose
from tuning.profile.accepting import ALLOWED, GB

ACCEPTING = Accepting(
    Identity("postgres", "18.4", 180004, "gcc", "", "", "bundle", "/bin", False), ALLOWED
)
ELSEWHERE = ProfileRequest("ours", "oltp", clients=16, cap_bytes=64 * GB, processors=8)


@pytest.fixture(autouse=True)
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has 20 GB free."""
    monkeypatch.setattr(proposing, "free_disk", lambda _: 20 * GB)


def test_without_a_place_neither_disk_nor_probe_of_this_machine_count(tmp_path: Path) -> None:
    made = propose(ELSEWHERE, ACCEPTING, None, tmp_path)
    assert made.settings["max_wal_size"] == "8GB"
    assert made.basis.free_disk_bytes is None
    [left] = [one for one in made.left_alone if one.name.startswith("random_page_cost")]
    assert "no DIR names the device" in left.why
    here = propose(ELSEWHERE, ACCEPTING, tmp_path, tmp_path)
    [log] = [one for one in here.advice if one.name == "max_wal_size"]
    assert log.value == "2GB"
    assert f'a tenth of 20 GB, free where "{tmp_path}" is' in log.reason


def test_a_place_that_is_not_there_yet_names_the_disk_that_was_looked_at(tmp_path: Path) -> None:
    here = propose(ELSEWHERE, ACCEPTING, tmp_path / "pg" / "18", tmp_path)
    [log] = [one for one in here.advice if one.name == "max_wal_size"]
    assert f'free on "{tmp_path}", where "{tmp_path / "pg" / "18"}" would be made' in log.reason


@pytest.mark.parametrize("named", [False, True])
def test_the_room_is_that_of_the_log_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """As `initdb --waldir` leaves a data directory, and as arms have it."""
    data, log = tmp_path.resolve() / "data", tmp_path.resolve() / "log"
    data.mkdir()
    log.mkdir()
    rooms = {data: 100 * GB, log: 20 * GB}
    monkeypatch.setattr(proposing, "free_disk", lambda place: rooms[place])
    if not named:
        (data / "pg_wal").symlink_to("../log")
    wish = replace(ELSEWHERE, log_directory=log if named else None)
    [advice] = [
        one for one in propose(wish, ACCEPTING, data, tmp_path).advice if one.name == "max_wal_size"
    ]
    assert advice.value == "2GB"
    assert f'free where "{log}" is' in advice.reason


def test_a_log_in_the_data_directory_has_the_room_of_that(tmp_path: Path) -> None:
    (tmp_path / "pg_wal").mkdir()
    assert proposing._log_place(tmp_path) == (tmp_path, "")
    assert proposing._log_place(tmp_path / "not there") == (tmp_path / "not there", "")


def test_it_is_said_where_this_account_cannot_see_where_the_log_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.readlink

    def refuse(path: Path | str) -> str:
        if Path(path).name == "pg_wal":
            raise PermissionError(path)
        return real(path)

    monkeypatch.setattr(proposing.os, "readlink", refuse)
    [log] = [
        one
        for one in propose(ELSEWHERE, ACCEPTING, tmp_path, tmp_path).advice
        if one.name == "max_wal_size"
    ]
    assert "may not read whether its pg_wal leads elsewhere" in log.reason


def test_a_disk_that_is_named_counts_in_place_of_this_machines(tmp_path: Path) -> None:
    wish = ProfileRequest("ours", "oltp", clients=16, cap_bytes=64 * GB, disk_bytes=50 * GB)
    for place in (None, tmp_path):
        [log] = [
            one
            for one in propose(wish, ACCEPTING, place, tmp_path).advice
            if one.name == "max_wal_size"
        ]
        assert log.value == "5GB"
        assert "a tenth of 50 GB, as given" in log.reason


@pytest.mark.parametrize(
    ("memory", "clients", "words"),
    [
        (64 * GB, 97, "what 100 connections leave"),
        (2 * GB, 55, "all that its memory holds at work at once"),
    ],
)
def test_clients_that_are_not_named_are_those_that_connect_by_default_and_fit(
    memory: int, clients: int, words: str, tmp_path: Path
) -> None:
    made = propose(ProfileRequest("ours", "oltp", cap_bytes=memory), ACCEPTING, None, tmp_path)
    assert (made.basis.clients, made.basis.clients_from) == (clients, words)
    assert "max_connections" not in made.settings


def test_memory_that_holds_no_client_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="97 clients: it could take") as refused:
        propose(ProfileRequest("ours", "oltp", cap_bytes=200 << 20), ACCEPTING, None, tmp_path)
    assert refused.value.hint == (
        "Give it more --memory: it does not hold what PostgreSQL's defaults may take."
    )
