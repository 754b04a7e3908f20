"""Weighings of one study are one question, whatever was built and however long was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from history.made import change
from steelyard.history.index import read_history
from steelyard.history.question import questions_of

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
