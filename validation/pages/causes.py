"""Which cause was named where it is known, with its figures: docs/results/causes.md."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.report.time_parts import PART_NAMES
from steelyard.reproductions.reproduction import machine_words
from validation.pages.table import paragraph, table

Json = Mapping[str, Any]
Told = Mapping[str, tuple[Sequence[str], str]]
"""Weighing → the parts that are right, and why."""
_HEAD = """
    Studies whose cause is known before they are weighed: what was named, and the mean time of a
    transaction in its parts, which sum to it, by which the naming can be checked. A part is named
    where its joint 95 % interval excludes 0 and it covers at least half of the difference, after
    the time in the queue was given to the part whose processor time makes it: the last two columns
    ([METHODOLOGY.md](../../METHODOLOGY.md), 7a). Else none is. This page is written by
    `python -m validation.causes` from `validation/results/causes.jsonl`: nothing on it was typed.
"""
_WATCHING = """
    The last is the cost of watching itself: sessions looked at, waits sampled and blocks timed in
    one arm, nothing of it in the other.
"""


def page(found: Sequence[Json], told: Told) -> str:
    """The whole page; `found` as results/causes.jsonl has them."""
    known = {one["key"]: one for one in found}
    parts = ["# Causes that are known", paragraph(_HEAD).strip()]
    rows = [_row(known[name], told[name]) for name in told if name in known]
    if rows:
        head = ["weighing", "arm against control", "interval, 95 %", "verdict", "named", "right is",
                "as expected"]  # fmt: skip
        parts += [table(head, rows), paragraph(_WATCHING).strip()]
    missing = [name for name in told if name not in known]
    parts += [f"Not yet weighed: {', '.join(missing)}."] if missing else []
    for name in told:
        if name in known:
            parts += _details(known[name], told[name])
    return "\n\n".join(parts) + "\n"


def judged(one: Json, causes: Sequence[str]) -> str:
    """Whether the naming is right: silence is, where the arms were not told apart."""
    if not one["parts"]:
        return "one arm is not watched"
    differs = one["verdict"] in ("slower", "faster") or bool(one["nonzero"])
    if one["cause"] is None:
        return "silent" if differs else "yes: nothing to name"
    if one["cause"] in causes:
        return "yes"
    return "no"


def _row(one: Json, told: tuple[Sequence[str], str]) -> list[str]:
    return [
        one["key"],
        f"{one['arm']} against {one['control']}: {one['estimate_percent']:+.1f} %",
        _interval(one["low_percent"], one["high_percent"], " %", 1),
        one["verdict"],
        one["cause"] or "none",
        " or ".join(told[0]),
        judged(one, told[0]),
    ]


def _interval(low: float | None, high: float | None, unit: str, digits: int) -> str:
    ends = ["unbounded" if end is None else f"{end:+.{digits}f}" for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]{unit}"


def _details(one: Json, told: tuple[Sequence[str], str]) -> list[str]:
    command = shlex.join(["steelyard", "weigh", *one["words"]])
    doubts = ", ".join(dict.fromkeys(one["threats"])) or "none"
    said = (
        f"`{command}`: {one['sentence']}. {one['epochs']} epochs in {one['layout']}, "
        f"{one['seconds'] / 60:.0f} min under load, sd of an epoch "
        f"{one['epoch_sd_percent']:.1f} %, on {machine_words(one['machine'])}. Doubts: {doubts}. "
        f"Expected: {told[1]}."
    )
    rows = [
        [
            PART_NAMES.get(part["part"], part["part"]),
            f"{part['control_us']:.1f}",
            f"{part['arm_us']:.1f}",
            f"{part['difference_us']:+.2f}",
            _interval(part["low_us"], part["high_us"], "", 2),
            f"{with_queue['difference_us']:+.2f}",
            _interval(with_queue["low_us"], with_queue["high_us"], "", 2),
        ]
        for part, with_queue in zip(one["parts"], one["with_queue"], strict=True)
    ]
    if not rows:
        cpu = one["processor"]
        used = (
            f"Processor time of the servers a transaction: {cpu['control_value']:.2f} µs in "
            f"{one['control']}, {cpu['arm_value']:.2f} µs in {one['arm']}: "
            f"{cpu['estimate_percent']:+.2f} % "
            f"{_interval(cpu['low_percent'], cpu['high_percent'], ' %', 2)}."
        )
        return [f"## {one['key']}", said, used]
    difference = one["arm_us"] - one["control_us"]
    rows.append(
        ["all", f"{one['control_us']:.1f}", f"{one['arm_us']:.1f}", *[f"{difference:+.2f}", ""] * 2]
    )
    head = ["part of a transaction, µs", one["control"], one["arm"], "difference", "joint 95 %",
            "with its queue", "joint 95 %"]  # fmt: skip
    held = "; ".join(
        f"{each['arm']} is held up by {each['kind']} ({each['evidence']})"
        for each in one["bottlenecks"]
    )
    below = [f"{held}."] if held else []
    if any(part["part"] == "debt" for part in one["parts"]):
        below += _checkpointer(one)
    return [f"## {one['key']}", said, table(head, rows), *below]


def _checkpointer(one: Json) -> list[str]:
    """What to check charged background work by."""
    used = one["checkpointer"]
    if used is None:
        return []
    difference = used["arm_us"] - used["control_us"]
    return [
        f"Processor time of the checkpointer a transaction: {used['control_us']:.2f} µs in "
        f"{one['control']}, {used['arm_us']:.2f} µs in {one['arm']}: {difference:+.2f} "
        f"{_interval(used['low_us'], used['high_us'], ' µs', 2)}. What is charged is the time of a "
        f"checkpoint for each of {one['clients']} clients."
    ]
