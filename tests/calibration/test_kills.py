"""The program that kills load machines sees what is lost, and what is left."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from validation import kills
from validation.kills import CLIENTS, MOMENTS, WHAT, Weighing, epochs_of, holds, missing, moments
from validation.pages import killed
from validation.results import Results

GOOD: dict[str, Any] = {
    "key": "driver/1", "what": "driver", "struck": True, "status": 0, "slices_on_disk": 90,
    "slices_gone": 0, "slices_few": 0, "drivers": 0, "survivors": 0, "sessions": 0, "same": True,
    "epochs": 10,
    "complete": 9, "judged": 9, "lost": ['failed: load machine "b": its Ray actor is gone'],
}  # fmt: skip


def test_forty_moments_have_seeds_of_their_own_and_are_mixed() -> None:
    every = list(moments())
    assert len(every) == MOMENTS * len(WHAT) == 40
    assert len({one.key for one in every}) == len({one.seed for one in every}) == 40
    assert {one.what for one in every[: len(WHAT)]} == set(WHAT)


def test_a_moment_holds_where_nothing_is_lost_or_left() -> None:
    assert holds(GOOD)


@pytest.mark.parametrize(
    "changes",
    [
        {"struck": False},
        {"survivors": 1},
        {"status": 3},
        {"slices_gone": 1},
        {"slices_few": 1},
        {"drivers": 1},
        {"sessions": 2},
        {"sessions after the kill": 1},
        {"same": False},
        {"judged": 8},
        {"complete": 0, "judged": 0},
        {"lost": ["crashed: control"]},
    ],
)
def test_a_moment_does_not_hold_where_anything_is(changes: dict[str, Any]) -> None:
    assert not holds({**GOOD, **changes})


def test_a_moment_at_which_nothing_was_struck_is_drawn_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    drawn: list[float] = []

    def once(moment: kills.Moment, draw: random.Random, *_: object) -> dict[str, Any]:
        drawn.append(draw.random())
        return {**GOOD, "struck": len(drawn) >= wanted}

    monkeypatch.setattr(kills, "attempt_kill", once)
    wanted = 3
    found = kills.run_moment(next(moments()), None, "", tmp_path)
    assert (found["struck"], found["draws"]) == (True, 3)
    assert len(set(drawn)) == 3
    drawn.clear()
    wanted = 1000
    found = kills.run_moment(next(moments()), None, "", tmp_path)
    assert (found["struck"], found["draws"]) == (False, kills.MOST_DRAWS)
    assert not holds(found)


def test_a_weighing_that_has_ended_is_not_struck(tmp_path: Path) -> None:
    one = object.__new__(Weighing)
    one.process = subprocess.Popen(["true"], text=True)
    one.process.wait()
    for moment in itertools.islice(moments(), len(WHAT)):
        assert not kills.strike(moment, random.Random(1), None, one)


def test_drivers_that_outlive_everything_are_found_wherever_their_parent_went(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kills, "GONE_S", 0.2)
    monkeypatch.setenv(kills.MARK, "of this test")
    assert kills.survivors() == 0
    lives = "import time; print(flush=True); time.sleep(600)"
    words = [sys.executable, "-c", lives, kills.DRIVER]
    left = subprocess.Popen(words, stdout=subprocess.PIPE)
    elsewhere = {**os.environ, kills.MARK: "of another"}
    other = subprocess.Popen(words, stdout=subprocess.PIPE, env=elsewhere)
    try:
        for one in (left, other):  # until then /proc may not tell its words
            assert one.stdout
            assert one.stdout.readline()
        assert kills.survivors() == 1
    finally:
        for one in (left, other):
            one.kill()
            one.communicate()


def test_lines_are_missed_that_went_or_changed() -> None:
    assert missing(["a", "b"], ["a", "b", "c"]) == 0
    assert missing(["a", "b"], ["a"]) == 1
    assert missing(["a", "b"], ["a", "x", "b"]) == 1


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """What is read of a record with these epochs and slices."""

    def read(epochs: list[dict[str, Any]], slices: list[dict[str, Any]]) -> dict[str, Any]:
        one = object.__new__(Weighing)
        one.record = tmp_path
        monkeypatch.setattr(Weighing, "verdict", lambda _: {"contrasts": [{"epochs": 2}]})
        for name, lines in (("telemetry", epochs), ("slices", slices)):
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (tmp_path / f"{name}.jsonl").write_text(text + '{"torn')
        return epochs_of(one)

    return read


def epoch(number: int, outcome: str = "complete") -> dict[str, Any]:
    return {"type": "epoch", "epoch": number, "outcome": outcome, "attempt": 1}


def one_slice(number: int, arm: str, clients: int = CLIENTS) -> dict[str, Any]:
    parts = [{"name": name, "clients": clients // 3} for name in "abc"]
    together = {"machines": parts}
    return {"epoch": number, "arm": arm, "kind": "measured", "attempt": 1, "together": together}


def test_complete_epochs_have_every_slice_by_every_machine(
    recorded: Callable[..., dict[str, Any]],
) -> None:
    epochs = [epoch(0), epoch(1), epoch(2, 'failed: load machine "b" is lost')]
    whole = [one_slice(n, arm) for n in (0, 1) for arm in "xy" for _ in range(3)]
    torn = [one_slice(2, "x")]  # of the lost epoch: kept, and not asked for
    found = recorded(epochs, [*whole, *torn])
    assert (found["epochs"], found["complete"], found["judged"]) == (3, 2, 2)
    assert found["slices_few"] == 0
    assert found["lost"] == ['failed: load machine "b" is lost']
    assert recorded(epochs, [*whole[1:], *torn])["slices_few"] == 1
    fewer = one_slice(0, "x", clients=3)
    assert recorded(epochs, [fewer, *whole[1:]])["slices_few"] == 1


def test_the_page_says_what_is_missing_and_what_did_not_hold(tmp_path: Path) -> None:
    results = Results(tmp_path / "kills.jsonl")
    assert "Not yet tried: 40 of 40 moments" in killed.section(results)
    results.add("driver/1", GOOD)
    results.add("driver/9", {**GOOD, "key": "driver/9", "struck": False})
    said = killed.section(results)
    assert "In all 1, " in said, "of those in which something was struck"
    assert "no slice lost, nothing left" in said
    assert "Not yet tried: 39 of 40 moments" in said
    results.add("driver/2", {**GOOD, "key": "driver/2", "sessions": 1})
    assert "Does not hold: driver/2." in killed.section(results)
