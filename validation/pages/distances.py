"""What treatments that act through checkpoints cost, by distance: docs/results/by-distance.md."""

from __future__ import annotations

import math
import shlex
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.analysis.decision.t_interval import t_interval
from steelyard.model.units import percent_of_log
from steelyard.report.turns import other_ages
from steelyard.reproductions.reproduction import machine_words, machines_words
from validation.pages.table import paragraph, table

Json = Mapping[str, Any]
_HEAD = """
    A checkpoint makes the next change of every page an image again, so what such a treatment costs
    depends on how long ago the last one began. Arms were weighed over whole checkpoint cycles: in
    cycles ([METHODOLOGY, 2c](../method/layouts.md#2c-cycles)) all at once, each in its own time; in
    turns ([2a](../method/layouts.md#2a-turns), today `--set layout=turns`) one after the other.
    Written by `python -m validation.distances` from `validation/results/distances.jsonl`, of one
    small machine with a disk that others use too; your distance is what your `checkpoint_timeout`
    and `max_wal_size` give.
"""
_CURVE = """
    By the time since a checkpoint began, as measured; intervals hold jointly. Images and log are
    per transaction.
"""
_COMPUTED = """
    At a distance between checkpoints, computed from the curve: the work up to it against the time
    up to it. How writing is spread at another distance is not in it.
"""
_VALUES = ("off", "pglz")
_OF_A_VALUE = (
    ("tps", ",.0f", " tps"),
    ("distance_s", ".1f", " s"),
    ("wal_bytes", ",.0f", " bytes"),
    ("images", ".2f", ""),
)
_CHECKED = """
    What a curve gives for a distance is computed, so it was checked once: the same question was
    weighed in turns whose own limits bring checkpoints that near, with F = 1.
"""


_BY_HAND = """
    The same question by hand, at about the same distance (`validation/by_hand.py`): one server at a
    time on a fresh copy of the data, pairs in alternating order, transactions read from the
    server's own statistics between the ends of its checkpoints, and a paired t over the log ratios.
    Nothing of the layout, the reading or the decision of a weighing is in it.
"""


def page(
    results: Sequence[Json],
    expected: Sequence[str],
    checked: tuple[str, str],
    by_hand: Sequence[Json] = (),
) -> str:
    """The whole page; `results` as results/distances.jsonl has them, `expected`: all there will be,
    `checked`: one weighed at a distance, and the one from whose curve that is computed; `by_hand`:
    pairs as results/by_hand.jsonl has them, at that distance."""
    by_key = {result["key"]: result for result in results}
    parts = ["# By the distance from a checkpoint", paragraph(_HEAD).strip()]
    if results:
        head = ["weighing", "arm against control", "interval, 95 %", "verdict", "layout", "F",
                "distance", "epochs", "sd of an epoch", "doubts", "minutes"]  # fmt: skip
        parts.append(table(head, [_row(result) for result in results]))
    missing = [name for name in expected if name not in by_key]
    parts += [f"Not yet weighed: {'; '.join(missing)}."] if missing else []
    if by_key.keys() >= set(checked):
        parts += _compared(by_key[checked[0]], by_key[checked[1]])
    if checked[0] in by_key and len(by_hand) > 1:
        parts += _compared_by_hand(by_key[checked[0]], by_hand)
    for result in results:
        parts += _details(result)
    return "\n\n".join(parts) + "\n"


def _compared(direct: Json, other: Json) -> list[str]:
    """The effect as weighed at a distance beside those computed about it from the other's curve."""
    distance = direct["distance_seconds"]
    rows = [["weighed", f"{distance:.1f} s", f"{direct['estimate_percent']:+.1f} %",
             _interval(direct)]]  # fmt: skip
    rows += [
        ["computed", f"{row['seconds']:g} s", f"{row['estimate_percent']:+.1f} %", _interval(row)]
        for row in other["by_distance"]
    ]
    head = ["", "a checkpoint every", "effect", "interval, 95 %"]
    return ["## Computed and weighed", paragraph(_CHECKED).strip(), table(head, rows)]


def _compared_by_hand(direct: Json, pairs: Sequence[Json]) -> list[str]:
    """The effect as weighed beside that of pairs, the control first in each."""
    control, arm = _VALUES
    ratios = np.array([math.log(pair[arm]["tps"] / pair[control]["tps"]) for pair in pairs])
    interval = t_interval(ratios)
    low, high = percent_of_log(interval.low), percent_of_log(interval.high)
    change = percent_of_log(float(ratios.mean()))
    ends = [direct["low_percent"], direct["high_percent"]]
    apart = None not in ends and (low > ends[1] or high < ends[0])
    agree = "do not overlap" if apart else "overlap"
    rows = [
        ["in turns", _distance(direct), f"{direct['epochs']} epochs",
         f"{direct['estimate_percent']:+.1f} %", _interval(direct)],
        ["by hand", f"{statistics.fmean(pair[control]['distance_s'] for pair in pairs):.1f} s",
         f"{len(pairs)} pairs", f"{change:+.1f} %", f"{low:+.1f} … {high:+.1f} %"],
    ]  # fmt: skip
    costs = [
        [value, *(f"{statistics.fmean(pair[value][what] for pair in pairs):{form}}{unit}"
                  for what, form, unit in _OF_A_VALUE)]
        for value in _VALUES
    ]  # fmt: skip
    return [
        "## By hand",
        paragraph(_BY_HAND).strip(),
        f"Measured on {machines_words(pair['machine'] for pair in pairs)}.",
        table(["", "a checkpoint every", "of", "effect", "interval, 95 %"], rows),
        f"The intervals {agree}. By hand, in the mean of the pairs:",
        table(["", "throughput", "a checkpoint every", "log a transaction",
               "images a transaction"], costs),
    ]  # fmt: skip


def _distance(line: Json) -> str:
    distance = line["distance_seconds"]
    return "none made" if distance is None else f"{distance:.1f} s"


def _row(line: Json) -> list[str]:
    distance = line["distance_seconds"]
    return [
        line["key"],
        f"{line['arm']} against {line['control']}: {line['estimate_percent']:+.1f} %",
        _interval(line),
        line["verdict"],
        line.get("layout", "turns"),
        f"{line['time_scale']:g}",
        "none made" if distance is None else f"{distance:.0f} s",
        str(line["epochs"]),
        f"{line['epoch_sd_percent']:.1f} %",
        ", ".join(dict.fromkeys(line["threats"])) or "none",
        f"{line['seconds'] / 60:.0f}",
    ]


def _interval(line: Json) -> str:
    ends = [line["low_percent"], line["high_percent"]]
    return " … ".join("unbounded" if end is None else f"{end:+.1f}" for end in ends) + " %"


def _details(line: Json) -> list[str]:
    command = f"steelyard weigh {shlex.join(line['words'])}"
    sentence = f"Measured on {machine_words(line['machine'])}:"
    parts = [f"## {line['key']}", sentence, f"```\n{command}\n```"]
    if line["curve"]:
        head = ["s since it began", "effect", "interval", "images, control", "images, arm",
                "log, control", "log, arm"]  # fmt: skip
        parts += [paragraph(_CURVE).strip(), table(head, [_bin(row) for row in line["curve"]])]
        cycles = {row["arm"]: row["cycle_seconds"] for row in line["sums"]}
        ages = other_ages((line["control"], line["arm"]), cycles)
        parts += [ages] if ages else []
    if line["by_distance"]:
        head = ["a checkpoint every", "effect", "interval"]
        rows = [
            [f"{row['seconds']:g} s", f"{row['estimate_percent']:+.1f} %", _interval(row)]
            for row in line["by_distance"]
        ]
        parts += [paragraph(_COMPUTED).strip(), table(head, rows)]
    return parts


def _bin(row: Json) -> list[str]:
    return [
        f"{row['from_seconds']:g}–{row['to_seconds']:.3g}",
        f"{row['estimate_percent']:+.1f} %",
        _interval(row),
        *(f"{row[name]:.2f}" for name in ("control_images", "arm_images")),
        *(f"{row[name]:,.0f} bytes" for name in ("control_wal_bytes", "arm_wal_bytes")),
    ]
