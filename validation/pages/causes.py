"""Which cause was named where it is known, with its figures: docs/results/causes.md."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.report.time_parts import PART_NAMES
from steelyard.reproductions.reproduction import machine_words
from validation.pages.folded import WHOLE
from validation.pages.table import paragraph, table

Json = Mapping[str, Any]
KnownCauses = Mapping[str, tuple[Sequence[str], str]]
"""Weighing → the parts that are right, and why."""
_HEAD = """
    Studies whose cause is known before they are weighed: what was named, and the mean time of a
    transaction in its parts, which sum to it, by which the naming can be checked. A part is named
    where its joint 95 % interval excludes 0 and it covers at least half of the difference, after
    the time in the queue was given to the part whose processor time makes it
    ([METHODOLOGY, 7a](../method/causes.md#7a-causes)). Else none is. This page is written by
    `python -m validation.causes` from `validation/results/causes.jsonl`: nothing on it was typed.
"""
_WATCHING = """
    The last is the cost of watching itself: sessions looked at, waits sampled and blocks timed in
    one arm, nothing of it in the other.
"""


def page(results: Sequence[Json], known: KnownCauses) -> str:
    """The whole page; `results` as results/causes.jsonl has them."""
    by_key = {result["key"]: result for result in results}
    parts = ["# Causes that are known", paragraph(_HEAD).strip()]
    rows = [_row(by_key[name], known[name]) for name in known if name in by_key]
    if rows:
        head = ["weighing", "arm against control", "interval, 95 %", "verdict", "named", "right is",
                "as expected"]  # fmt: skip
        parts += [WHOLE + table(head, rows), paragraph(_WATCHING).strip()]
    missing = [name for name in known if name not in by_key]
    parts += [f"Not yet weighed: {', '.join(missing)}."] if missing else []
    done = [name for name in known if name in by_key]
    if done:
        of_parts = [row for name in done for row in _parts(by_key[name])]
        weighed = [_weighed(by_key[name], known[name]) for name in done]
        parts += ["## The parts", table(_OF_A_PART, of_parts)]
        parts += ["## How each was weighed", table(_OF_A_WEIGHING, weighed)]
    return "\n\n".join(parts) + "\n"


def judged(line: Json, causes: Sequence[str]) -> str:
    """Whether the naming is right: silence is, where the arms were not told apart."""
    if not line["parts"]:
        return "one arm is not watched"
    differs = line["verdict"] in ("slower", "faster") or bool(line["nonzero"])
    if line["cause"] is None:
        return "silent" if differs else "yes: nothing to name"
    if line["cause"] in causes:
        return "yes"
    return "no"


def _row(line: Json, known: tuple[Sequence[str], str]) -> list[str]:
    return [
        line["key"],
        f"{line['arm']} against {line['control']}: {line['estimate_percent']:+.1f} %",
        _interval(line["low_percent"], line["high_percent"], " %", 1),
        line["verdict"],
        line["cause"] or "none",
        " or ".join(known[0]),
        judged(line, known[0]),
    ]


def _interval(low: float | None, high: float | None, unit: str, digits: int) -> str:
    ends = ["unbounded" if end is None else f"{end:+.{digits}f}" for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]{unit}"


def _weighed(line: Json, known: tuple[Sequence[str], str]) -> list[str]:
    """How it was weighed, and what it read."""
    bottlenecks = "; ".join(
        f"{each['arm']} by {each['kind']} ({each['evidence']})" for each in line["bottlenecks"]
    )
    return [
        line["key"],
        f"`{shlex.join(['steelyard', 'weigh', *line['words']])}`",
        line["sentence"],
        f"{line['epochs']} in {line['layout']}",
        f"{line['seconds'] / 60:.0f}",
        f"{line['epoch_sd_percent']:.1f} %",
        ", ".join(dict.fromkeys(line["threats"])) or "none",
        known[1],
        bottlenecks or "–",
        _processor(line) or _checkpointer(line),
        machine_words(line["machine"]),
    ]


_OF_A_WEIGHING = ("weighing", "command", "verdict", "epochs", "minutes under load",
                  "sd of an epoch", "doubts", "expected", "held up", "processor time a transaction",
                  "machine")  # fmt: skip
_OF_A_PART = ("weighing", "part of a transaction", "control, µs", "arm, µs", "difference, µs",
              "difference, joint 95 %", "with its queue, µs",
              "with its queue, joint 95 %")  # fmt: skip


def _parts(line: Json) -> list[list[str]]:
    """The parts of a transaction's time in both arms, and their sum."""
    rows = [
        [
            line["key"],
            PART_NAMES.get(part["part"], part["part"]),
            f"{part['control_us']:.1f}",
            f"{part['arm_us']:.1f}",
            f"{part['difference_us']:+.2f}",
            _interval(part["low_us"], part["high_us"], "", 2),
            f"{with_queue['difference_us']:+.2f}",
            _interval(with_queue["low_us"], with_queue["high_us"], "", 2),
        ]
        for part, with_queue in zip(line["parts"], line["with_queue"], strict=True)
    ]
    if not rows:
        return []
    difference = f"{line['arm_us'] - line['control_us']:+.2f}"
    ends = (f"{line['control_us']:.1f}", f"{line['arm_us']:.1f}")
    return [*rows, [line["key"], "all", *ends, difference, "", difference, ""]]


def _processor(line: Json) -> str:
    """What the servers used, where one arm is not watched and there are no parts."""
    if line["parts"]:
        return ""
    cpu = line["processor"]
    return (
        f"of the servers {cpu['control_value']:.2f} µs in {line['control']}, "
        f"{cpu['arm_value']:.2f} µs in {line['arm']}: {cpu['estimate_percent']:+.2f} % "
        f"{_interval(cpu['low_percent'], cpu['high_percent'], ' %', 2)}"
    )


def _checkpointer(line: Json) -> str:
    """What to check charged background work by, where there is some."""
    used = line["checkpointer"]
    if used is None or all(part["part"] != "debt" for part in line["parts"]):
        return "–"
    difference = used["arm_us"] - used["control_us"]
    return (
        f"of the checkpointer {used['control_us']:.2f} µs in {line['control']}, "
        f"{used['arm_us']:.2f} µs in {line['arm']}: {difference:+.2f} "
        f"{_interval(used['low_us'], used['high_us'], ' µs', 2)}; what is charged is the time of a "
        f"checkpoint for each of {line['clients']} clients"
    )
