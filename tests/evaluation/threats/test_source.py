"""Data weighed with other settings than its server's is a doubt, and what changed is counted."""

from __future__ import annotations

from steelyard.evaluation.threats.inspection import (
    SettingReplaced,
    SettingsMissing,
    source_notes,
    source_threats,
)
from steelyard.record.environment import NeutralisedFact, ReplacedFact, SourceFacts

TAKEN = SourceFacts(kind="base backup", name="monday", database="shop", database_bytes=1)


def replaced(name: str, theirs: str) -> ReplacedFact:
    return ReplacedFact(name=name, theirs=theirs, used="1GB", why="the study says so")


def test_settings_that_are_not_the_servers_are_a_doubt_with_what_to_type() -> None:
    [threat] = source_threats(TAKEN.model_copy(update={"settings_missing": "type --config X"}))
    assert threat == SettingsMissing("type --config X")
    assert not threat.invalidates


def test_other_shared_buffers_than_the_servers_are_a_doubt_and_other_settings_are_not() -> None:
    changed = (replaced("shared_buffers", "64GB"), replaced("work_mem", "4MB"))
    [threat] = source_threats(TAKEN.model_copy(update={"replaced": changed}))
    assert threat == SettingReplaced("shared_buffers", "64GB", "1GB", "the study says so")
    default = (replaced("shared_buffers", "default"),)
    assert list(source_threats(TAKEN.model_copy(update={"replaced": default}))) == []


def test_data_as_it_was_and_data_of_our_own_raise_nothing() -> None:
    assert [*source_threats(TAKEN), *source_threats(None)] == []
    assert [*source_notes(TAKEN), *source_notes(None)] == []


def test_what_was_changed_is_one_line_and_each_doubt_another() -> None:
    gone = tuple(NeutralisedFact(what=f"a{n}", why="") for n in range(13))
    changed = tuple(replaced("work_mem", "4MB") for _ in range(4))
    altered = TAKEN.model_copy(update={"neutralised": gone, "replaced": changed, "doubts": ("x",)})
    first, second = source_notes(altered)
    assert "13 settings left out, 4 replaced" in first
    assert second == "x"


def test_the_database_is_named_where_the_data_say_it() -> None:
    assert TAKEN.of_database == "database shop"
    assert TAKEN.model_copy(update={"kind": "dump", "database": ""}).of_database == ""
