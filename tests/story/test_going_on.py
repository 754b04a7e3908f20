"""A weighing that was interrupted goes on from its record, and says what was seen before."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import RecordError, UsageError, WeighingError
from steelyard.record.record import Record
from steelyard.running.measuring import settling
from story.asked import Watcher, lines, study_of
from story.scripted import ScriptedWorld
from thinned import thinned

Facts = dict[str, Any]
Weigh = Callable[..., Facts]


def test_ctrl_c_judges_what_there_is_and_keeps_the_record(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.speed = lambda arm, life: 4400.0 if arm == "off" else 4000.0

    def interrupt() -> None:
        raise KeyboardInterrupt

    epoch_slices = 2 * 30 + 20
    world.events[epoch_slices * 12] = [interrupt]
    verdict = weigh_in(world)
    assert verdict["interrupted"]
    assert 0 < verdict["contrasts"][0]["epochs"] < 10
    assert not any(instance.running for instance in world.noop.journal.serving.values())
    assert (tmp_path / "record" / "verdict.json").is_file()


@pytest.mark.parametrize(("epoch", "looked"), [(5, 0), (9, 1)])
def test_a_weighing_that_goes_on_after_its_interval_was_shown_says_so(
    tmp_path: Path, weigh_in: Weigh, epoch: int, looked: int
) -> None:
    class Interrupting(Watcher):
        def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
            super().epoch(n, total, contrasts, seconds_left)
            if n == epoch:
                raise KeyboardInterrupt

    world = ScriptedWorld(tmp_path / "first", noise=0.1)
    shown = weigh_in(world, record="seen", progress=Interrupting())
    assert shown["interrupted"]
    again = ScriptedWorld(tmp_path / "again", noise=0.1)
    [contrast] = weigh_in(again, resume=tmp_path / "seen")["contrasts"]
    told = [t["seen"] for t in contrast["threats"] if t["name"] == "looked at before its end"]
    assert told == ["it was interrupted and judged once before it went on"] * looked


def test_a_weighing_that_goes_on_after_it_was_given_up_and_judged_says_so(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    class Striking(Watcher):
        """From the seventh epoch on every arm "on" dies."""

        def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
            super().epoch(n, total, contrasts, seconds_left)
            if n == 6:
                for number in range(world.slices + 1, world.slices + 1000):
                    world.events[number] = [strike]

    def strike() -> None:
        if world.running_arms["on"].running:
            world.running_arms["on"].crash()

    world = ScriptedWorld(tmp_path / "first", noise=0.1)
    with pytest.raises(WeighingError, match="3 epochs in a row were lost"):
        weigh_in(world, record="seen", progress=Striking())
    again = ScriptedWorld(tmp_path / "again", noise=0.1)
    [contrast] = weigh_in(again, resume=tmp_path / "seen")["contrasts"]
    assert "looked at before its end" in {threat["name"] for threat in contrast["threats"]}


@pytest.mark.long
def test_an_open_ended_weighing_is_extended_until_it_is_settled_and_no_look_counts_against_it(
    tmp_path: Path, weigh_in: Weigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "OPEN_ENDED_FACTOR", 1)
    study = study_of(decision={"open_ended": True, "margin": "0.001%"})
    names = ("first", "again", "third")
    lengths = []
    for place in names:
        world = ScriptedWorld(tmp_path / place, noise=0.1)
        given = {"record": "open"} if place == "first" else {"resume": tmp_path / "open"}
        verdict = weigh_in(world, study, **given)
        [contrast] = verdict["contrasts"]
        assert (contrast["verdict"], verdict["interrupted"]) == ("inconclusive", False)
        assert contrast["details"]["look"] == ("last" if place == "first" else "open")
        lengths.append(contrast["epochs"])
        assert not {t["name"] for t in contrast["threats"]} & {"looked at before its end"}
    planned = json.loads((tmp_path / "open" / "plan.json").read_text())["epochs"]
    assert lengths == [planned, 2 * planned, 3 * planned]
    plain = ScriptedWorld(tmp_path / "settled", noise=0.0)
    plain.speed = lambda arm, life: 4400.0 if arm == "off" else 4000.0
    weigh_in(plain, study, resume=tmp_path / "open")
    with pytest.raises(UsageError, match="complete already"):
        weigh_in(ScriptedWorld(tmp_path / "fifth"), study, resume=tmp_path / "open")


def test_a_weighing_killed_in_an_epoch_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    class Killed(BaseException):
        """What kill -9 is to the code: no handler of ours sees it."""

    def kill() -> None:
        raise Killed

    whole = ScriptedWorld(tmp_path / "whole", noise=0.0)
    weigh_in(whole, record="whole")
    torn = ScriptedWorld(tmp_path / "torn", noise=0.0)
    torn.events[500] = [kill]
    with pytest.raises(Killed):
        weigh_in(torn, record="torn")
    done = [x for x in lines(tmp_path, "telemetry.jsonl", "torn") if x["type"] == "epoch"]
    assert 0 < len(done) < 8
    again, watcher = ScriptedWorld(tmp_path / "again", noise=0.0), Watcher()
    verdict = weigh_in(again, resume=tmp_path / "torn", progress=watcher)
    assert verdict["resumed"]
    assert watcher.recalls == [verdict["contrasts"][0]["details"]["d"][: len(done)]]
    assert watcher.epochs[0] == len(done) + 1
    events = [x for x in lines(tmp_path, "telemetry.jsonl", "torn") if x["type"] == "event"]
    assert events == [{"type": "event", "epoch": len(done), "event": "resumed"}]
    expected = json.loads((tmp_path / "whole" / "verdict.json").read_text())
    assert verdict["contrasts"][0]["details"]["d"] == expected["contrasts"][0]["details"]["d"]


def test_a_weighing_killed_after_its_last_epoch_is_judged_when_it_is_resumed(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    class Killed(BaseException):
        """What kill -9 is to the code: no handler of ours sees it."""

    class Killing(Watcher):
        def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
            if n == total:
                raise Killed

    with pytest.raises(Killed):
        weigh_in(ScriptedWorld(tmp_path / "first"), record="torn", progress=Killing())
    assert not (tmp_path / "torn" / "verdict.json").exists()
    verdict = weigh_in(ScriptedWorld(tmp_path / "again"), resume=tmp_path / "torn")
    assert verdict["contrasts"][0]["epochs"] == 10
    whole = weigh_in(ScriptedWorld(tmp_path / "whole"), record="whole/record")
    assert verdict["contrasts"][0]["details"]["d"] == whole["contrasts"][0]["details"]["d"]
    with pytest.raises(UsageError, match="complete already"):
        weigh_in(ScriptedWorld(tmp_path / "third"), resume=tmp_path / "torn")


def test_a_verdict_of_an_earlier_sitting_is_not_that_of_epochs_measured_since(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    class Killed(BaseException):
        """What kill -9 is to the code: no handler of ours sees it."""

    class Killing(Watcher):
        def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
            if n == total:
                raise Killed

    resume = tmp_path / "record"
    shown = weigh_in(ScriptedWorld(tmp_path / "first"), progress=interrupted_after(5))
    with pytest.raises(Killed):
        weigh_in(ScriptedWorld(tmp_path / "second"), resume=resume, progress=Killing())
    verdict = weigh_in(ScriptedWorld(tmp_path / "third"), resume=resume)
    assert [each["contrasts"][0]["epochs"] for each in (shown, verdict)] == [5, 10]
    with pytest.raises(UsageError, match="complete already"):
        weigh_in(ScriptedWorld(tmp_path / "fourth"), resume=resume)


def test_what_another_process_weighs_into_is_not_resumed_beside_it(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    class Interrupting(Watcher):
        def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
            raise KeyboardInterrupt

    weigh_in(ScriptedWorld(tmp_path / "first"), progress=Interrupting())
    other = Record.open(tmp_path / "record")
    other.hold()
    before = {file: file.read_bytes() for file in (tmp_path / "record").iterdir()}
    for _ in range(2):
        with pytest.raises(RecordError, match="record is in use"):
            weigh_in(ScriptedWorld(tmp_path / "again"), resume=tmp_path / "record")
    assert {file: file.read_bytes() for file in (tmp_path / "record").iterdir()} == before
    other.close()
    verdict = weigh_in(ScriptedWorld(tmp_path / "again"), resume=tmp_path / "record")
    assert verdict["contrasts"][0]["epochs"] == 10
    with pytest.raises(UsageError, match="complete already"):  # and holds it no longer
        weigh_in(ScriptedWorld(tmp_path / "third"), resume=tmp_path / "record")


BUILD = {"kind": "postgres", "version": "18.4", "builder": "gcc", "bindir": "/a/bin"}
HERE: Facts = {
    "steelyard": {"version": "1.0"},
    "machine": {"hostname": "here"},
    "files": {"script scripted": "5ca1e", "template pg_control": "1oad"},
    "arms": {name: {"build": BUILD} for name in ("on", "off")},
}


def stands_in(directory: Path, **changes: Any) -> ScriptedWorld:
    """A world whose environment is as HERE but for the changes."""

    class Described(ScriptedWorld):
        def environment(self) -> Mapping[str, Any]:
            return {**HERE, **changes}

    return Described(directory)


def interrupted_after(epoch: int) -> Watcher:
    class Interrupting(Watcher):
        def epoch(self, n: int, total: int, contrasts: Any, seconds_left: float | None) -> None:
            if n == epoch:
                raise KeyboardInterrupt

    return Interrupting()


@thinned(
    ("changes", "said"),
    [
        ({"files": {"script scripted": "07he5"}}, 'script "scripted" is not what it was'),
        ({"files": {}}, 'script "scripted" is not what it was'),
        (
            {"files": {**HERE["files"], "script another": "07he5"}},
            'script "another" is not what it was',
        ),
        (
            {"arms": {**HERE["arms"], "off": {"build": {**BUILD, "version": "18.5"}}}},
            'the build of arm "off" is another one: its version was "18.4", is "18.5"',
        ),
    ],
    1,
)
def test_a_weighing_is_not_resumed_with_other_work_than_it_began_with(
    tmp_path: Path, weigh_in: Weigh, changes: Facts, said: str
) -> None:
    weigh_in(stands_in(tmp_path / "first"), progress=interrupted_after(3))
    with pytest.raises(UsageError, match=said) as refused:
        weigh_in(stands_in(tmp_path / "other", **changes), resume=tmp_path / "record")
    assert f"weigh anew: steelyard weigh {tmp_path / 'record' / 'study.toml'}" in str(
        refused.value.hint
    )
    moved = {"arms": {name: {"build": {**BUILD, "bindir": "/b/bin"}} for name in ("on", "off")}}
    loaded = {"files": {**HERE["files"], "template pg_control": "anew"}}
    again = stands_in(tmp_path / "again", **moved, **loaded)
    verdict = weigh_in(again, resume=tmp_path / "record")
    assert verdict["contrasts"][0]["epochs"] == 10


@thinned(
    ("changes", "said"),
    [
        ({"machine": {"hostname": "there"}}, "hostname was here, is there"),
        ({"steelyard": {"version": "1.1"}}, "Steelyard was 1.0, is 1.1"),
    ],
    1,
)
def test_a_sitting_elsewhere_is_a_doubt_to_the_end(
    tmp_path: Path, weigh_in: Weigh, changes: Facts, said: str
) -> None:
    weigh_in(stands_in(tmp_path / "first"), progress=interrupted_after(3))
    elsewhere = stands_in(tmp_path / "elsewhere", **changes)
    weigh_in(elsewhere, resume=tmp_path / "record", progress=interrupted_after(5))
    verdict = weigh_in(stands_in(tmp_path / "back"), resume=tmp_path / "record")
    [contrast] = verdict["contrasts"]
    assert [t["seen"] for t in contrast["threats"] if t["name"] == "machine changed"] == [said]


def test_data_loaded_anew_between_two_sittings_are_a_doubt_to_the_end(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    def standing_on(name: str, control: str) -> ScriptedWorld:
        files = {**HERE["files"], "template pg_control": control}
        return stands_in(tmp_path / name, files=files)

    weigh_in(standing_on("first", "1oad"), progress=interrupted_after(3))
    anew = weigh_in(standing_on("second", "anew"), resume=tmp_path / "record",
                    progress=interrupted_after(5))  # fmt: skip
    verdict = weigh_in(standing_on("third", "1oad"), resume=tmp_path / "record")
    for sitting in (anew, verdict):
        threats = sitting["contrasts"][0]["threats"]
        seen = [each["seen"] for each in threats if each["name"] == "machine changed"]
        assert seen == ["the data were loaded anew"]
