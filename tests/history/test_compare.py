"""Two records are compared by what differed, by both verdicts, and by their ratio if any."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from history.made import change
from steelyard.history.compare import compare_records, find_record
from steelyard.history.ratio import Refusal
from steelyard.model.errors import RecordError

Keep = Callable[..., Path]


def test_what_differed_and_what_was_the_same_is_named(keep: Keep) -> None:
    first = keep(1)
    second = keep(2, scale=100, arm_build={"version": "18.5"})
    found = compare_records(first, second)
    differ = {one.what: (one.first, one.second) for one in found.different}
    assert differ["workload.scale"] == ("50", "100")
    assert differ["build of off"] == ("18.4", "18.5")
    assert differ["seed"] == ("1", "2")
    assert "build of on" in found.same
    assert "machine" in found.same
    [pair] = found.pairs
    assert not pair.same_question
    assert isinstance(pair.ratio, Refusal)


def test_settings_as_the_servers_reported_them_are_compared(keep: Keep) -> None:
    first, second = keep(1), keep(2)

    def other(found: dict[str, dict[str, dict[str, dict[str, str]]]]) -> dict[str, object]:
        found["arms"]["off"]["settings"]["setting_5"] = "off"
        return {**found}

    change(second / "environment.json", other)  # type: ignore[arg-type]
    [only] = compare_records(first, second).settings
    assert (only.what, only.first, only.second) == ("off: setting_5", "on", "off")


def test_contrasts_of_one_question_are_paired(keep: Keep) -> None:
    [pair] = compare_records(keep(1), keep(2, epochs=10)).pairs
    assert pair.same_question
    assert pair.to_json()["ratio"]["confidence"] == 0.95


def test_a_record_without_a_verdict_is_compared_by_what_was_asked(keep: Keep) -> None:
    found = compare_records(keep(1), keep(2, verdict=False, clients=32))
    assert found.pairs == ()
    assert "workload.clients" in {one.what for one in found.different}


def test_what_is_no_record_is_refused(keep: Keep, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a record"):
        compare_records(keep(1), tmp_path)


def test_a_record_is_found_below_the_folder_or_by_its_own_path(keep: Keep, records: Path) -> None:
    directory = keep(1)
    assert find_record(records, "checksums/2026-03-01T120000Z") == directory
    assert find_record(records, str(directory)) == directory
