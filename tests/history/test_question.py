"""Weighings of one study are one question, whatever was built and however long was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from history.made import change
from steelyard.history.index import read_history
from steelyard.history.question import question_name, questions_of
from steelyard.study.read import read_study

Keep = Callable[..., Path]


def test_builds_and_effort_do_not_make_another_question(keep: Keep, records: Path) -> None:
    keep(1)
    keep(2, measuring='"10m"', arm_build={"version": "18.5"}, epochs=10)
    keep(3, more='version = "17"\nbindir = "/opt/pg/bin"')
    [question] = questions_of(read_history(records).entries)
    assert question.label == "checksums: off against on"
    assert [point.entry.at[8:10] for point in question.points] == ["01", "02", "03"]
    assert question.newest.entry.at.startswith("2026-03-03")


def test_what_is_asked_makes_another_question_and_its_label_says_what(
    keep: Keep, records: Path
) -> None:
    keep(1)
    keep(2, clients=32)
    keep(3, more='settings = {wal_compression = "lz4"}')
    labels = [one.label for one in questions_of(read_history(records).entries)]
    assert labels == [
        "checksums: off against on, arm.settings.wal_compression = default, workload.clients = 32",
        "checksums: off against on, arm.settings.wal_compression = default, "
        "workload.clients = default",
        "checksums: off against on, arm.settings.wal_compression = lz4, workload.clients = default",
    ]


def test_a_label_has_no_more_keys_than_tell_the_questions_apart(keep: Keep, records: Path) -> None:
    keep(1)
    keep(2, clients=32, more='settings = {wal_compression = "lz4", jit = "off", work_mem = "8MB"}')
    labels = [one.label for one in questions_of(read_history(records).entries)]
    assert labels == [
        "checksums: off against on, workload.clients = 32",
        "checksums: off against on, workload.clients = default",
    ]


def test_the_name_of_a_question_is_fit_for_files_and_the_same_tomorrow(
    keep: Keep, records: Path
) -> None:
    keep(1)
    [question] = questions_of(read_history(records).entries)
    assert question.name == "checksums-off-against-on-" + question.name.rpartition("-")[2]
    assert len(question.name.rpartition("-")[2]) == 8
    again = questions_of(read_history(records, rebuild=True).entries)
    assert [one.name for one in again] == [question.name]


def test_arms_of_names_that_begin_alike_are_told_apart(keep: Keep, records: Path) -> None:
    more = '\n[[arm]]\nname = "off.2"\nchecksums = false\nsettings = {jit = "off"}\n'
    keep(1)
    directory = keep(2, more=more)
    change(directory / "plan.json", lambda plan: {**plan, "arms": ["on", "off", "off.2"]})
    assert len(questions_of(read_history(records).entries)) == 1


A, B = "host=db1 port=5432 dbname=shop", "host=db2 port=5432 dbname=shop"


def question(study: str, *changes: str) -> str:
    made = read_study(study, changes)
    return question_name(made, made.arms[0], "throughput", made.base_of(made.arms[0]))


@pytest.mark.parametrize(
    ("control", "arm", "more", "same"),
    [
        (A, B, [], True),
        ("postgresql://db1:5432/shop", "dbname=shop  host=DB2 port=5432", [], True),
        (f"{A} passfile=/a application_name=x", f"{B} connect_timeout=4", [], True),
        ("port=5432", "host=db2", ["address=host=db1 dbname=shop port=5432"], True),
        (A, B, ["control.name=old", "arm.name=new"], True),
        (B, A, [], False),
        (A, "host=db3 port=5432 dbname=shop", [], False),
        (A, "host=db2 port=5433 dbname=shop", [], False),
        (A, "host=db2 port=5432 dbname=other", [], False),
        (A, f"{B} user=app", [], False),
        (A, f"{B} sslmode=require", [], False),
        (A, B, ["arm.settings.jit=off"], False),
        (A, B, ["workload.clients=3"], False),
    ],
)
def test_a_question_is_one_for_all_weighings_at_the_same_addresses(
    control: str, arm: str, more: list[str], same: bool
) -> None:
    usual = question("addresses", f"control.address={A}", f"arm.address={B}")
    again = question("addresses", f"control.address={control}", f"arm.address={arm}", *more)
    assert (again == usual) == same


def test_sessions_at_one_address_are_known_by_their_settings() -> None:
    jit = "arm.settings.jit=off"
    usual = question("sessions", f"address={A}", jit)
    assert question("sessions", "address=postgresql://db1:5432/shop", jit) == usual
    assert question("sessions", f"address={A}", jit, "arm.name=mine") != usual
    assert question("sessions", f"address={B}", jit) != usual


def test_arms_that_share_an_address_of_their_own_are_told_apart_by_name() -> None:
    places = [f"control.address={A}", f"arm.address={A}", "arm.settings.jit=off"]
    names = {question("addresses", *places, f"arm.name={name}") for name in ("a", "b")}
    assert len(names) == 2


def copied(*changes: str) -> str:
    return question("checksums", "workload=pgbench", "workload.scale=1", *changes)


def test_copies_of_one_running_server_are_one_question() -> None:
    """Each base backup stands in a folder of its own, and is removed when it was taken in."""
    first, later, other = (
        [f"source.place=/cache/{place}/data", f"source.config=/cache/{place}.conf"]
        for place in ("backup-1", "backup-2", "backup-3")
    )
    server, reported = "source.server=host=db1 port=5432", "source.reported=true"
    usual = copied(*first, server, reported)
    assert copied(*later, server, reported, "source.digest=x") == usual
    assert copied(*later, "source.server=host=db2 port=5432", reported) != usual
    assert copied(*later, server, reported, "source.database=other") != usual
    assert copied(*first) != copied(*other)
    own = "source.config=/etc/postgresql.conf"
    assert copied(*first, server, own) == copied(*later, server, own) != usual
