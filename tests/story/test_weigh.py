"""The whole story on the no-op engine, with a scripted driver and clock, keeps its promises."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steelyard.model.errors import ServerError, StudyError, WeighingError
from story.asked import Watcher, lines, study_of
from story.scripted import ScriptedWorld

Facts = dict[str, Any]
Weigh = Callable[..., Facts]


def test_equal_arms_are_not_told_apart(world: ScriptedWorld, weigh_in: Weigh) -> None:
    verdict = weigh_in(world)
    assert verdict["contrasts"][0]["verdict"] in ("equivalent", "inconclusive")
    assert verdict["contrasts"][0]["low_percent"] < 0 < verdict["contrasts"][0]["high_percent"]


def test_a_faster_arm_is_read_as_faster_within_its_interval(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    world.speed = lambda arm, life: 4200.0 if arm == "off" else 4000.0
    contrast = weigh_in(world)["contrasts"][0]
    assert contrast["verdict"] == "faster"
    assert contrast["low_percent"] < 5.0 < contrast["high_percent"]
    assert (contrast["arm"], contrast["control"]) == ("off", "on")


def test_every_arm_holds_every_slot_equally_often(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world)
    epochs = [line for line in lines(tmp_path, "telemetry.jsonl") if line["type"] == "epoch"]
    assert len(epochs) == 10
    assert sum(line["slots"]["off"] == 0 for line in epochs) == 5


def test_files_are_put_back_and_only_the_arm_without_checksums_is_switched(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    weigh_in(world)
    actions = [call.action for call in world.noop.calls]
    starts = actions.count("start")
    assert actions.count("clone") == 2
    assert actions.count("restore") == starts - 2  # the first two were cloned just before
    assert actions.count("protect") == starts // 2
    assert actions.count("discard") == starts  # what is put back is not shut down
    assert world.written_back == 1  # after the clones; what was put back is next to nothing


@pytest.mark.long
def test_the_same_seed_gives_the_same_plan_and_another_seed_another(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    plans = []
    for number, seed in enumerate((5, 5, 6)):
        weigh_in(ScriptedWorld(tmp_path / f"world{number}"), seed=seed, record=f"r{number}")
        plan = json.loads((tmp_path / f"r{number}" / "plan.json").read_text())
        orders = [
            (line["epoch"], line["block"], line["arm"])
            for line in lines(tmp_path, "slices.jsonl", f"r{number}")
        ]
        plans.append((plan["assignment"], plan["start_orders"], orders))
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


def test_arms_of_a_block_run_once_each_and_see_the_same_keys(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world)
    blocks: dict[tuple[int, int], list[str]] = {}
    for line in lines(tmp_path, "slices.jsonl"):
        if line["kind"] == "measured":
            blocks.setdefault((line["epoch"], line["block"]), []).append(line["arm"])
    assert blocks
    assert all(sorted(arms) == ["off", "on"] for arms in blocks.values())
    first_places = {arms[0] for arms in blocks.values()}
    assert first_places == {"on", "off"}
    seeds = [plan.seed for plan in world.plans_driven]
    assert len(set(seeds)) == len(seeds)


def test_symmetric_placement_pins_backend_k_alike_in_every_arm(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    weigh_in(world)
    placed = [call.arguments[0] for call in world.noop.calls if call.action == "place"]
    assert placed
    for pins in placed:
        assert isinstance(pins, dict)
        assert [pins[pid] for pid in sorted(pins)] == [(0,), (1,), (0,), (1,)]
    assert all(plan.processors == (0, 1) for plan in world.plans_driven)


def test_work_that_waits_for_the_disk_is_left_free_and_that_is_a_threat(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.waiting_share = 0.6
    verdict = weigh_in(world)
    assert verdict["placement"] == "free"
    assert "placement free" in [t["name"] for t in verdict["contrasts"][0]["threats"]]
    assert world.plans_driven[-1].processors is None


def test_whole_cost_freezes_idle_arms_and_charges_each_its_own_debt(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.writes = True
    weigh_in(world)
    measured = [x for x in lines(tmp_path, "slices.jsonl") if x["kind"] == "measured"]
    assert all(line["debt_ns"] == world.debt_ns for line in measured)
    actions = [call.action for call in world.noop.calls]
    assert actions.count("freeze") == actions.count("thaw") > len(measured)


def test_a_client_that_comes_back_is_placed_before_its_arm_is_held_still(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    """A server that is stopped answers no question about its threads."""
    world.writes = True
    world.distort = lambda answer: answer.update(reconnected=[[3, 77]])
    weigh_in(world)
    frozen, again = set(), 0
    for call in world.noop.calls:
        if call.action == "place":
            assert call.directory not in frozen
            again += call.arguments == ({77: (1,)},)
        elif call.action == "freeze":
            frozen.add(call.directory)
        else:
            frozen.discard(call.directory)
    assert again == world.slices


def test_debt_is_time_without_work(tmp_path: Path, weigh_in: Weigh) -> None:
    class OneArmPays(ScriptedWorld):
        def debt_of(self, instance: Any) -> int:
            return self.debt_ns if instance is self.running_arms["off"] else 0

    world = OneArmPays(tmp_path / "world", writes=True)
    contrast = weigh_in(world)["contrasts"][0]
    assert contrast["verdict"] == "slower"


def test_an_arm_that_dies_in_mid_slice_is_named_counted_and_started_again(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.events[400] = [lambda: world.running_arms["off"].crash()]  # noqa: PLW0108  stands later
    watcher = Watcher()
    verdict = weigh_in(world, progress=watcher)
    outcomes = [x["outcome"] for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "epoch"]
    assert outcomes.count("crashed: off") == 1
    assert outcomes.count("complete") == 9
    assert "an arm crashed" in [t["name"] for t in verdict["contrasts"][0]["threats"]]
    assert "an arm crashed" in watcher.threats
    assert list((tmp_path / "record").glob("server-epoch*-slot0.log"))


def test_an_arm_that_cannot_start_is_named_and_its_epoch_is_no_work_done(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    refusal = ServerError("could not start the server", detail="FATAL:  no room")
    world.events[400] = [lambda: world.noop.failures.__setitem__("start", [refusal])]
    verdict = weigh_in(world)
    outcomes = [x["outcome"] for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "epoch"]
    lost = [outcome for outcome in outcomes if outcome != "complete"]
    assert len(lost) == 1
    assert lost[0] in ("could not start: on", "could not start: off")
    [contrast] = verdict["contrasts"]
    assert None in contrast["details"]["d"]
    assert contrast["epochs"] == len(outcomes), "it counts as one that was survived does"
    without = contrast["low_percent" if lost[0].endswith("off") else "high_percent"]
    assert without is None


def test_three_lost_epochs_in_a_row_end_the_weighing_with_everything_kept(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(ScriptedWorld(tmp_path / "other"), record="other")
    pilot = sum(line["kind"] == "pilot" for line in lines(tmp_path, "slices.jsonl", "other"))
    world.noop.failures["start"] = []
    for number in range(pilot + 1, pilot + 4000):
        world.events[number] = [
            lambda: world.running_arms["on"].crash() if world.running_arms["on"].running else None
        ]
    with pytest.raises(WeighingError, match="3 epochs in a row were lost: crashed: on"):
        weigh_in(world)
    assert len([x for x in lines(tmp_path, "telemetry.jsonl") if x["type"] == "epoch"]) == 3
    assert (tmp_path / "record" / "verdict.json").is_file()
    assert (tmp_path / "record" / "report.html").is_file()


def test_a_setting_that_the_server_refuses_is_said_in_its_own_words(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    words = 'FATAL:  unrecognized configuration parameter "shared_bufers"'
    world.noop.failures["start"] = [ServerError("could not start", detail=words)]
    with pytest.raises(ServerError) as failure:
        weigh_in(world)
    assert failure.value.detail == words


def test_arms_that_differ_where_not_declared_are_refused(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    class Different(type(world)):  # type: ignore[misc]
        def slot(self, number: int) -> Any:
            return super().slot(number)

    original = world.noop.__class__
    study = study_of(settings={"work_mem": "4MB"})
    seen = iter(["4MB", "8MB"])

    def settings(self: Any) -> dict[str, str]:
        return {"work_mem": next(seen)}

    instance_class = type(original().create(Path("x"), protection="checksums"))
    patch = pytest.MonkeyPatch()
    patch.setattr(instance_class, "settings", settings)
    try:
        with pytest.raises(WeighingError, match="differ where the study does not declare it"):
            weigh_in(world, study)
    finally:
        patch.undo()
    assert not any(i.running for i in world.noop.journal.serving.values())


def test_a_debug_build_of_the_driver_makes_the_verdict_invalid(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    world.profile = "debug"
    world.speed = lambda arm, life: 5000.0 if arm == "off" else 4000.0
    assert weigh_in(world)["contrasts"][0]["verdict"] == "invalid"


def test_wrong_rows_and_broken_checks_make_the_verdict_invalid(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    rows = ScriptedWorld(tmp_path / "rows", wrong_rows={"off": 1})
    assert weigh_in(rows, record="rows")["contrasts"][0]["verdict"] == "invalid"
    sums = ScriptedWorld(tmp_path / "sums", broken={"on": ["sum(abalance) is 1 but 0"]})
    assert weigh_in(sums, record="sums")["contrasts"][0]["verdict"] == "invalid"


def test_different_plans_are_a_threat(world: ScriptedWorld, weigh_in: Weigh) -> None:
    world.plans_by_port = {54320: "Seq Scan"}
    names = [t["name"] for t in weigh_in(world)["contrasts"][0]["threats"]]
    assert "plans differ" in names


def test_what_the_machine_did_is_said_once(world: ScriptedWorld, weigh_in: Weigh) -> None:
    world.stolen_share = 0.09
    threats = weigh_in(world)["contrasts"][0]["threats"]
    assert [t["name"] for t in threats].count("steal or throttling") == 1


def test_files_that_cost_too_much_to_put_back_follow_their_arms_and_that_is_a_threat(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    class SlowCopies(ScriptedWorld):
        def slot(self, number: int) -> Any:
            self.clock.now += 1_000_000_000
            return super().slot(number)

    slow = SlowCopies(tmp_path / "slow")
    verdict = weigh_in(slow, record="slow")
    assert "data directory tied to the arm" in [
        t["name"] for t in verdict["contrasts"][0]["threats"]
    ]
    assert any(call.action == "move" for call in slow.noop.calls)


def test_an_inconclusive_weighing_repeated_is_counted_as_an_attempt(
    tmp_path: Path, weigh_in: Weigh
) -> None:
    names = []
    for number in range(2):
        world = ScriptedWorld(tmp_path / f"world{number}", noise=0.3)
        verdict = weigh_in(world, record=f"attempts/{number}")
        names.append([t["name"] for t in verdict["contrasts"][0]["threats"]])
    assert "weighed before" not in names[0]
    assert "weighed before" in names[1]


def test_a_report_and_every_file_of_the_record_are_there(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    weigh_in(world)
    expected = {
        "study.toml", "plan.json", "environment.json", "slices.jsonl",
        "telemetry.jsonl", "verdict.json", "report.html",
    }  # fmt: skip
    assert expected <= {file.name for file in (tmp_path / "record").iterdir()}


@pytest.mark.long
def test_an_open_ended_weighing_goes_past_its_plan_until_it_is_decided(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    world.speed = lambda arm, life: 4050.0 if arm == "off" else 4000.0
    verdict = weigh_in(world, study_of(decision={"open_ended": True}))
    plan = json.loads((tmp_path / "record" / "plan.json").read_text())
    assert plan["look"] is None
    assert verdict["contrasts"][0]["epochs"] > plan["epochs"]
    assert verdict["contrasts"][0]["verdict"] != "inconclusive"


def test_a_first_verdict_ends_the_weighing_at_the_early_look(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    world.speed = lambda arm, life: 4400.0 if arm == "off" else 4000.0
    world.noise = 0.05
    contrast = weigh_in(world, study_of(decision={"first_verdict": True}))["contrasts"][0]
    assert (contrast["verdict"], contrast["epochs"]) == ("faster", 8)


def test_how_long_it_took_holds_the_pilot_and_how_long_epochs_took_does_not(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    verdict = weigh_in(world)
    assert 0 < verdict["measured_seconds"] < verdict["seconds"] < verdict["whole_seconds"] - 1


def test_slices_of_so_many_executions_are_laid_out_as_the_study_says(
    world: ScriptedWorld, weigh_in: Weigh, tmp_path: Path
) -> None:
    counted = {"each": 50, "blocks": 3, "warmup": 2}
    study = study_of(budget={"measuring": "30s", "counted": counted})
    verdict = weigh_in(world, study)
    slices = lines(tmp_path, "slices.jsonl")
    epochs = [line for line in slices if line["epoch"] == 0]
    assert [line["kind"] for line in epochs] == ["warmup"] * 4 + ["measured"] * 6
    assert all(100 <= line["transactions"] <= 300 for line in epochs), "50 of each of 4 clients"
    assert verdict["contrasts"][0]["epochs"] == 10
    assert verdict["work"][0]["metric"] == "orders_per_minute"
    [on] = [row for row in lines(tmp_path, "telemetry.jsonl") if row.get("epoch") == 0][:1]
    own = [line for line in epochs if line["kind"] == "measured" and line["arm"] == "on"]
    minutes = sum(line["end_ns"] - line["start_ns"] + line.get("debt_ns", 0) for line in own) / 60e9
    # Six orders a slice of either arm, as the world counts them: 6 slices, and not the 4 that warm.
    assert on["arms"]["on"]["work_per_minute"]["orders"] == pytest.approx(6 * 6 / minutes)
    assert verdict["probes"][0]["median"] == 80_000


def test_a_workload_begins_on_every_server_before_its_clients_come(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    weigh_in(world)
    ports = [arm.endpoint.port for arm in world.plans_driven[0].arms]
    for life in range(world.lives):
        begun = [port for port, lives in world.begun if lives == life]
        assert set(begun) == set(ports), f"before driver {life}"


def test_more_clients_than_a_server_takes_are_refused_before_anything_is_loaded(
    world: ScriptedWorld, weigh_in: Weigh
) -> None:
    before = list(world.noop.calls)
    crowded = study_of(workload={"clients": 95}, settings={"max_connections": 100})
    with pytest.raises(StudyError, match="95 clients are more than arm") as refused:
        weigh_in(world, crowded)
    assert "--set settings.max_connections=105" in str(refused.value)
    few = [{"name": "off", "settings": {"max_connections": 100}}]
    own = study_of(workload={"clients": 95}, settings={"max_connections": 300}, arms=few)
    with pytest.raises(StudyError) as refused:
        weigh_in(world, own)
    assert "--set arm.settings.max_connections=105" in str(refused.value)
    assert list(world.noop.calls) == before
