"""A transaction's time is split into parts that add up to it, and the right one is named."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from steelyard.evaluation.transaction.time_parts import parts_of, time_parts, transaction_time
from steelyard.model.readings import (
    SESSION_CPU,
    SESSION_LOG,
    SESSION_QUEUE,
    ArmTotals,
    EpochTotals,
    Reading,
    SessionSamples,
)

CLIENTS, DONE = 4, 1000


def totals(arm: str, us: float, debt_us: float = 0.0) -> ArmTotals:
    """An arm whose transactions took so long, with what is charged."""
    return ArmTotals(
        arm=arm,
        slot=0,
        clients=CLIENTS,
        transactions=DONE,
        busy_ns=round((us + debt_us) * DONE * 1000),
        latency_sum_ns=round(us * DONE * 1000),
        debt_ns=round(debt_us * DONE * 1000 / CLIENTS),
    )


def readings(cpu: float, queue: float | None) -> dict[str, Reading]:
    values = {SESSION_CPU: cpu, SESSION_QUEUE: queue}
    return {
        name: Reading(name, "µs", None if us is None else us * DONE, measured=True)
        for name, us in values.items()
    }


def samples(**parts: int) -> SessionSamples:
    """100 looks at 4 sessions, of which so many did what."""
    return SessionSamples(100, 100 * CLIENTS, parts)  # type: ignore[arg-type]


def epoch(
    number: int = 0, **arms: tuple[float, float, float | None, dict[str, int]]
) -> EpochTotals:
    """Arm → (µs of a transaction, on a processor, waiting for one, looks by part)."""
    return EpochTotals(
        epoch=number,
        slots=dict.fromkeys(arms, 0),
        start_order=tuple(arms),
        arms={arm: totals(arm, told[0]) for arm, told in arms.items()},
        readings={arm: readings(told[1], told[2]) for arm, told in arms.items()},
        transactions_measured=dict.fromkeys(arms, DONE),
        waits={arm: samples(**told[3]) for arm, told in arms.items() if told[3]},
    )


def test_the_parts_add_up_to_the_time_of_a_transaction() -> None:
    one = epoch(on=(100.0, 20.0, 10.0, {"processor": 120, "wal": 160, "locks": 40}))
    found = parts_of(one, "on")
    assert found is not None
    assert found == pytest.approx(
        {
            "processor": 20,
            "queue": 10,
            "read": 0,
            "wal": 40,
            "locks": 10,
            "client": 20,
            "debt": 0,
        }
    )


def logged(us: float, cpu: float, queue: float, looks: dict[str, int]) -> dict[str, float]:
    """The parts of 100 µs where sessions were timed to write and sync the log for so long."""
    told = epoch(a=(100.0, cpu, queue, looks))
    told.readings["a"][SESSION_LOG] = Reading(  # type: ignore[index]
        SESSION_LOG, "µs", us * DONE, measured=True
    )
    found = parts_of(told, "a")
    assert found is not None
    assert sum(found.values()) == pytest.approx(100.0)
    return found


def test_a_processor_that_a_sync_keeps_busy_is_the_logs() -> None:
    # 100 µs: 30 on a processor, 10 in the queue; 60 are left, a quarter of them seen in the log.
    found = logged(40.0, 30.0, 10.0, {"wal": 100, "locks": 200})
    assert found["wal"] == pytest.approx(40.0)
    assert found["processor"] == pytest.approx(11.25)
    assert found["queue"] == pytest.approx(3.75)
    assert found["locks"] + found["client"] == pytest.approx(45.0)


def test_waiting_for_others_syncs_is_longer_than_the_own() -> None:
    found = logged(5.0, 30.0, 10.0, {"wal": 100, "locks": 200})
    assert found["wal"] == pytest.approx(15.0)  # as it was looked at
    assert found["processor"] == pytest.approx(30.0)


def test_who_waits_for_anothers_sync_waits_besides_his_own_calls() -> None:
    """Commits of a group: one syncs, and times it; the others wait, and time nothing."""
    # 60 µs are left, a third of them seen in the log, half of that behind another.
    looks = {"wal": 100, "locks": 200}
    told = epoch(a=(100.0, 30.0, 10.0, looks))
    told.readings["a"][SESSION_LOG] = Reading(  # type: ignore[index]
        SESSION_LOG, "µs", 20 * DONE, measured=True
    )
    behind = replace(told.waits["a"], behind_log=50)
    found = parts_of(replace(told, waits={"a": behind}), "a")
    assert found is not None
    # 15 µs in the log by looks, 7.5 of them behind another; 20 of its own.
    assert found["wal"] == pytest.approx(27.5)
    assert found["processor"] + found["queue"] == pytest.approx(40 - 12.5)
    assert sum(found.values()) == pytest.approx(100.0)


def test_no_more_is_taken_than_there_is() -> None:
    found = logged(500.0, 30.0, 10.0, {"wal": 100, "locks": 200})
    assert found["wal"] == pytest.approx(55.0)
    assert found["processor"] == pytest.approx(0.0)


def test_what_is_charged_is_a_part_of_its_own() -> None:
    one = epoch(on=(100.0, 20.0, 10.0, {"wal": 200}))
    arms = {"on": totals("on", 100.0, debt_us=30.0)}
    found = parts_of(EpochTotals(**{**vars(one), "arms": arms}), "on")
    assert found is not None
    assert (found["debt"], found["wal"]) == pytest.approx((30, 35))
    assert sum(found.values()) == pytest.approx(130)


def test_without_looks_at_sessions_only_two_parts_are_told_apart() -> None:
    found = parts_of(epoch(on=(100.0, 20.0, 10.0, {})), "on")
    assert found == pytest.approx({"processor": 20, "queue": 10, "debt": 0, "waits": 70})


def test_a_kernel_that_counts_no_time_in_the_queue_tells_no_parts() -> None:
    assert parts_of(epoch(on=(100.0, 20.0, None, {"wal": 4})), "on") is None


def test_an_arm_that_did_nothing_has_no_parts() -> None:
    one = epoch(on=(100.0, 20.0, 10.0, {"wal": 4}))
    idle = ArmTotals("on", 0, CLIENTS, 0, 0, 0)
    assert parts_of(EpochTotals(**{**vars(one), "arms": {"on": idle}}), "on") is None


def weighed(**changes: Any) -> list[EpochTotals]:
    """10 epochs in which the arm waits for the WAL 30 µs longer than the control."""
    rng = random.Random(3)
    made = []
    for number in range(10):
        extra = rng.gauss(0, 1)
        control = (100 + extra, 20 + rng.gauss(0, 0.2), 10.0 + rng.gauss(0, 0.2), {"wal": 160})
        arm = (130 + extra, 20 + rng.gauss(0, 0.2), 10.0 + rng.gauss(0, 0.2), {"wal": 216})
        made.append(epoch(number, on=control, off=changes.get("off", arm)))
    return made


def test_the_part_that_covers_the_difference_is_the_cause() -> None:
    told = time_parts(weighed(), "on", "off")
    assert told is not None
    assert told.cause is not None
    assert told.cause.part == "wal"
    assert told.arm_us - told.control_us == pytest.approx(30, abs=0.1)
    assert sum(one.difference_us for one in told.parts) == pytest.approx(30, abs=0.1)
    assert [one.part for one in told.parts] == ["processor", "queue", "wal", "client"]


def busier(cpu: float, rate: float) -> list[EpochTotals]:
    """10 epochs in which the arm needs so much processor time, and waits so long for each µs of
    it, where the control needs 20 µs and waits 2 for each."""
    rng = random.Random(4)
    made = []
    for number in range(10):
        extra = [rng.gauss(1, 0.01) for _ in range(2)]
        control = (20 * extra[0] * 3 + 10, 20 * extra[0], 40 * extra[0], {"wal": 0})
        arm = (cpu * extra[1] * (1 + rate) + 10, cpu * extra[1], cpu * rate * extra[1], {"wal": 0})
        made.append(epoch(number, on=control, off=arm))  # type: ignore[arg-type]
    return made


def test_the_queue_that_more_processor_time_makes_is_the_processors() -> None:
    told = time_parts(busier(22.0, 2.0), "on", "off")
    assert told is not None
    assert told.cause is not None
    assert told.cause.part == "processor"
    assert told.cause.difference_us == pytest.approx(6, rel=0.1), "2 µs, and 4 in the queue for it"
    shown = {one.part: one.difference_us for one in told.parts}
    assert shown["processor"] == pytest.approx(2, rel=0.1)


def test_longer_waiting_for_the_same_processor_time_is_a_cause_of_its_own() -> None:
    told = time_parts(busier(20.0, 4.0), "on", "off")
    assert told is not None
    assert told.cause is not None
    assert told.cause.part == "queue"


def with_driver(one: EpochTotals, arm: str, cpu_us: float, queue_share: float) -> None:
    """Of the arm's driver: time on a processor a transaction, and the share it waited for one."""
    one.arms[arm] = replace(  # type: ignore[index]
        one.arms[arm], driver_cpu_ns=round(cpu_us * DONE * 1000), driver_queue_share=queue_share
    )


def test_a_session_waits_for_a_processor_while_its_clients_thread_does() -> None:
    one = epoch(on=(100.0, 20.0, 10.0, {"wal": 40}))
    with_driver(one, "on", 5.0, 0.75)
    found = parts_of(one, "on")
    assert found == pytest.approx(
        {
            "processor": 20,
            "queue": 57.25,
            "read": 0,
            "wal": 7,
            "locks": 0,
            "client": 15.75,
            "debt": 0,
        }
    )


def shared_processors(session: float, client: float) -> list[EpochTotals]:
    """10 epochs on processors that never rest: 4 sessions and their clients take turns on one, so a
    transaction takes four times its own work. Control: 20 µs of the session, 5 of its client."""
    rng = random.Random(6)
    made = []
    for number in range(10):
        arms: dict[str, tuple[float, float, float | None, dict[str, int]]] = {}
        drivers = {}
        for arm, needed in {"on": (20.0, 5.0), "off": (session, client)}.items():
            server_us, driver_us = (us * rng.gauss(1, 0.001) for us in needed)
            # Three others in front of each: half of the time the session waits, half its client.
            ahead_us = 1.5 * (server_us + driver_us)
            arms[arm] = (4 * (server_us + driver_us), server_us, ahead_us, {"wal": 0})
            drivers[arm] = (driver_us, ahead_us / (ahead_us + driver_us))
        one = epoch(number, **arms)
        for arm, (cpu, share) in drivers.items():
            with_driver(one, arm, cpu, share)
        made.append(one)
    return made


def test_the_clients_waiting_that_a_sessions_work_makes_is_the_processors() -> None:
    told = time_parts(shared_processors(21.0, 5.0), "on", "off")
    assert told is not None
    assert told.cause is not None
    assert told.cause.part == "processor"
    assert told.cause.difference_us == pytest.approx(4, rel=0.1), "all that the transaction gained"
    shown = {one.part: one.difference_us for one in told.parts}
    assert sum(shown.values()) == pytest.approx(4, rel=0.1)
    assert shown["processor"] == pytest.approx(1, rel=0.2)


def test_the_waiting_that_a_servers_other_processes_make_is_the_processors() -> None:
    """4 µs more of the log writer for each transaction: no session runs longer, all wait longer."""
    rng = random.Random(7)
    epochs = []
    for number in range(10):
        queues = {"on": 60.0, "off": 72.0}
        arms: dict[str, tuple[float, float, float | None, dict[str, int]]] = {
            arm: (20 + queue + 5 + rng.gauss(0, 0.2), 20.0, queue + rng.gauss(0, 0.1), {"wal": 0})
            for arm, queue in queues.items()
        }
        one = epoch(number, **arms)
        for arm, queue in queues.items():
            with_driver(one, arm, 5.0, 0.0)
            beside = 5 + (queue - 60) / 3
            counted(one, arm, server=20 + beside, helper=beside, checkpoint=0.0)
        epochs.append(one)
    told = time_parts(epochs, "on", "off")
    assert told is not None
    assert told.cause is not None
    assert told.cause.part == "processor"
    assert {one.part: one.difference_us for one in told.parts}["processor"] == pytest.approx(0)


def counted(one: EpochTotals, arm: str, **us: float) -> None:
    """Processor times of an arm's processes, in µs a transaction."""
    for name, each in us.items():
        one.readings[arm][f"{name}_cpu_us"] = Reading(  # type: ignore[index]
            f"{name}_cpu_us", "µs", each * DONE, measured=True
        )


def background_us(turns: bool = False, debt_us: float = 0.0) -> float:
    """Of a server with 20 µs of a session, 3 of readers for it, 5 of a checkpoint, 4 of others."""
    one = epoch(on=(100.0, 20.0, 10.0, {"wal": 40}))
    one = replace(one, arms={"on": totals("on", 100.0, debt_us)})
    with_driver(one, "on", 5.0, 0.5)
    counted(one, "on", server=32.0, helper=3.0, checkpoint=5.0)
    if turns:
        one = replace(one, turns={"on": object()})
    found = transaction_time(one, "on")
    assert found is not None
    return found.beside_cpu_us


def test_what_a_server_does_beside_its_sessions_counts_where_they_wait_meanwhile() -> None:
    assert background_us() == pytest.approx(3), "in the slices of others nobody of this arm waits"
    assert background_us(debt_us=30.0) == pytest.approx(7), "a charged checkpoint has no sessions"
    assert background_us(turns=True) == pytest.approx(12)


def test_a_dearer_checkpoint_is_the_debts_and_not_the_processors() -> None:
    rng = random.Random(8)
    epochs = []
    for number in range(10):
        arms: dict[str, tuple[float, float, float | None, dict[str, int]]] = {
            arm: (900 + rng.gauss(0, 1), 200.0, 600 + rng.gauss(0, 1), {"wal": 40})
            for arm in ("on", "off")
        }
        one = epoch(number, **arms)
        debts = {"on": 150.0, "off": 180.0}
        one = replace(one, arms={arm: totals(arm, arms[arm][0], debts[arm]) for arm in debts})
        for arm, checkpoint in {"on": 10.0, "off": 22.0}.items():
            with_driver(one, arm, 40.0, 0.5)
            counted(one, arm, server=200 + checkpoint, helper=0.0, checkpoint=checkpoint)
        epochs.append(one)
    told = time_parts(epochs, "on", "off")
    assert told is not None
    assert told.cause is not None
    assert told.cause.part == "debt"
    [processor] = [one for one in told.with_queue if one.part == "processor"]
    assert abs(processor.difference_us) < 5


def test_an_epoch_without_looks_leaves_the_others_their_parts() -> None:
    blind = epoch(10, on=(100.0, 20.0, 10.0, {}), off=(130.0, 20.0, 10.0, {}))
    told = time_parts([*weighed(), blind], "on", "off")
    assert told is not None
    assert told.epochs == 10
    assert told.cause is not None
    assert told.cause.part == "wal"


def test_arms_of_which_one_has_no_queue_of_its_driver_are_not_compared() -> None:
    epochs = weighed()
    for one in epochs[:9]:
        with_driver(one, "on", 5.0, 0.5)
    assert time_parts(epochs, "on", "off") is None


def test_a_client_that_has_more_to_do_is_the_cause() -> None:
    told = time_parts(shared_processors(20.0, 6.0), "on", "off")
    assert told is not None
    assert told.cause is not None
    assert told.cause.part == "client"


@pytest.mark.parametrize("arms", [("off",), ("on", "off")])
def test_an_arm_whose_running_is_all_the_logs_still_has_parts(arms: tuple[str, ...]) -> None:
    """Reads that each commit durably: syncs were timed for longer than all that ran."""
    epochs = weighed()
    for one in epochs:
        for arm in arms:
            one.readings[arm][SESSION_LOG] = Reading(  # type: ignore[index]
                SESSION_LOG, "µs", 500 * DONE, measured=True
            )
    told = time_parts(epochs, "on", "off")
    assert told is not None
    found = {one.part: one for one in told.parts}
    running = [found[name].arm_us for name in ("processor", "queue") if name in found]
    assert running == ([0.0, 0.0] if len(arms) == 1 else [])
    assert sum(one.difference_us for one in told.parts) == pytest.approx(30, abs=0.1)


def test_what_cannot_be_told_apart_is_never_named() -> None:
    rng = random.Random(5)
    blind = [
        epoch(
            n,
            on=(100.0 + rng.gauss(0, 1), 20.0, 10.0, {}),
            off=(160.0 + rng.gauss(0, 1), 20.0, 10.0, {}),
        )
        for n in range(10)
    ]
    told = time_parts(blind, "on", "off")
    assert told is not None
    [waits] = [one for one in told.parts if one.part == "waits"]
    assert waits.low_us is not None
    assert waits.low_us > 50
    assert told.cause is None


def test_one_epoch_tells_nothing() -> None:
    assert time_parts(weighed()[:1], "on", "off") is None
    assert time_parts([], "on", "off") is None
