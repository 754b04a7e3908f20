"""A file of results has each case once, whenever what writes it is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from validation.results import Results


def test_a_result_takes_the_place_of_the_one_of_its_case(tmp_path: Path) -> None:
    results = Results(tmp_path / "kept.jsonl")
    for key in ("a", "b"):
        results.add(key, {"reading": 1})
    results.replace("a", {"reading": 2})
    results.replace("c", {"reading": 3})
    assert {row["key"]: row["reading"] for row in results} == {"a": 2, "b": 1, "c": 3}
    assert len(list(results)) == 3


def test_what_is_interrupted_while_it_replaces_a_result_leaves_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = Results(tmp_path / "kept.jsonl")
    results.add("a", {"reading": 1})

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stopped)
    with pytest.raises(KeyboardInterrupt):
        results.replace("a", {"reading": 2})
    assert [row["reading"] for row in results] == [1]


def test_what_is_not_wanted_goes(tmp_path: Path) -> None:
    results = Results(tmp_path / "kept.jsonl")
    for key in ("a", "b"):
        results.add(key, {})
    results.keep(lambda row: row["key"] == "b")
    assert results.answered_keys() == {"b"}
