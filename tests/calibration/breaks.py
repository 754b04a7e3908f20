"""Ways to break the balance in memory: each changes what the scripted driver answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from story.scripted import ScriptedWorld

Answer = dict[str, Any]
Break = Callable[[ScriptedWorld], None]
"""Breaks a world in which the arms "on" (the control) and "off" are equal."""

STALL_NS = 200_000_000
STALLED_SLICES = 8
"""One slice of the arm in so many meets a stall."""


def _by_answer(change: Callable[[ScriptedWorld, Answer], None]) -> Break:
    """A break that looks at each answer of the driver."""

    def breaks(world: ScriptedWorld) -> None:
        world.distort = lambda answer: change(world, answer)

    return breaks


def _slow(answer: Answer, factor: float) -> None:
    answer["transactions"] = answer["rows"] = round(answer["transactions"] * factor)


@_by_answer
def throttled_slot(world: ScriptedWorld, answer: Answer) -> None:
    """Whoever stands in slot 0 has 90 % of the processor."""
    _slow(answer, 0.9 if world.slot_of(answer["arm"]) == 0 else 1.0)


@_by_answer
def start_order(world: ScriptedWorld, answer: Answer) -> None:
    """Who was started first has the better memory."""
    _slow(answer, 1.0 if world.started_first() == answer["arm"] else 0.9)


@_by_answer
def carry_over(world: ScriptedWorld, answer: Answer) -> None:
    """The control pays for what the arm left behind, and never the other way round."""
    _slow(answer, 0.8 if (world.previous, answer["arm"]) == ("off", "on") else 1.0)


@_by_answer
def carry_over_alike(world: ScriptedWorld, answer: Answer) -> None:
    """Both pay alike for what the other left: no contrast is moved."""
    _slow(answer, 0.8 if world.previous != answer["arm"] else 1.0)


@_by_answer
def asleep_under_one_arm(world: ScriptedWorld, answer: Answer) -> None:
    """The machine is suspended now and then, only while the arm is under load."""
    if answer["arm"] == "off" and world.slices % 20 == 0:
        world.slept_ns += 1_000_000_000


@_by_answer
def asleep_under_both(world: ScriptedWorld, answer: Answer) -> None:
    """The machine is suspended as often, whoever is under load."""
    if world.slices % 19 == 0:
        world.slept_ns += 1_000_000_000


@_by_answer
def retries(world: ScriptedWorld, answer: Answer) -> None:
    """One transaction in fifty of the arm is done again."""
    if answer["arm"] == "off":
        answer["retries"] = answer["transactions"] // 50


@_by_answer
def given_up(world: ScriptedWorld, answer: Answer) -> None:
    """A client of the arm is given up in one slice of ten."""
    answer["capped"] = int(answer["arm"] == "off" and world.slices % 10 == 0)


@_by_answer
def given_up_in_both(world: ScriptedWorld, answer: Answer) -> None:
    """A client is given up in one slice of ten."""
    answer["capped"] = int(world.slices % 10 == 0)


@_by_answer
def nothing_in_one_arm(world: ScriptedWorld, answer: Answer) -> None:
    """The arm's table is empty: it is fast, and finds nothing."""
    if answer["arm"] == "off":
        answer["rows"] = 0


@_by_answer
def nothing_at_all(world: ScriptedWorld, answer: Answer) -> None:
    """The script's WHERE matches no row in either arm."""
    answer["rows"] = 0


@_by_answer
def rows_missing(world: ScriptedWorld, answer: Answer) -> None:
    """The arm finds two rows of a hundred less."""
    answer["rows"] *= 98 if answer["arm"] == "off" else 100


@_by_answer
def stalls(world: ScriptedWorld, answer: Answer) -> None:
    """A client of the arm stalls across the bell: it is charged, and the slice waits for it."""
    if answer["arm"] == "off" and world.slices % STALLED_SLICES == 0:
        # It did nothing from a moment in the middle of the slice on.
        answer["transactions"] -= answer["transactions"] // (2 * answer["clients"])
        answer["rows"] = answer["transactions"]
        answer["end_ns"] += STALL_NS
        answer["busy_ns"] += STALL_NS
        answer["latency_sum_ns"] += STALL_NS


@_by_answer
def hidden_stalls(world: ScriptedWorld, answer: Answer) -> None:
    """The same stalls, and a border that leaves out what was under way at the bell."""
    if answer["arm"] == "off" and world.slices % STALLED_SLICES == 0:
        answer["end_ns"] += STALL_NS


def debug_driver(world: ScriptedWorld) -> None:
    """The driver was built without optimisation."""
    world.profile = "debug"


def other_plan(world: ScriptedWorld) -> None:
    """One of the servers reads the whole table for every row."""
    world.plans_by_port = {54320: "Seq Scan"}
