"""One major version of PostgreSQL against another by workload: docs/results/18-against-16.md."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.model.units import format_percent, percent_of_log
from steelyard.reproductions.reproduction import machines_words
from validation.pages.table import paragraph, signed, table

Json = Mapping[str, Any]
_HEAD = """
    One weighing of each workload, {what}, {made}, settings that changed their defaults set alike.
    Written by `{command}` from `validation/results/{results}`. It says what these weighings saw on
    one small machine; what an upgrade does on yours, `steelyard weigh versions` tells.

    What writes is weighed over whole checkpoint cycles, at the distance that stands beside it: in
    [turns](../method/layouts.md#2a-turns) or in [cycles](../method/layouts.md#2c-cycles). A row
    that says slices only reads, counts single statements, or is of the seconds after a checkpoint.
    Major versions cannot share data: each has loads of its own, which the epochs take in turn; the
    luck of a load is in the interval only as far as two or three loads differ.
"""
_COLUMNS = (
    "interval, 95 %", "verdict", "layout", "epochs", "sd of an epoch", "doubts",
    "minutes, all in all",
)  # fmt: skip
_HOW = (
    "weighed", "verdict", "command", "size", "loads of each version", "by load of the arm (epochs)",
    "seconds under load", "started",
)  # fmt: skip
_COUNTS = ("weighed", "counted", "control", "arm", "change", "interval, 95 %")
_CAUSES = 4
"""How many causes are shown: those that read furthest from nothing."""


@dataclass(frozen=True)
class Pair:
    """Which version is compared with which, and where that is said."""

    before: str  # "16"
    after: str
    command: str = "python -m validation.versions"
    results: str = "versions.jsonl"
    between: tuple[str, ...] = ()
    """Versions between the two: every weighing is of one step."""

    @property
    def words(self) -> str:
        """`"18 against 16"`; of steps `"16 → 17 → 18"`."""
        if self.between:
            return " → ".join((self.before, *self.between, self.after))
        return f"{self.after} against {self.before}"


def page(found: Sequence[Json], pair: Pair) -> str:
    """The whole page; `found` as a file of results has them."""
    if not found:
        return f"# PostgreSQL {pair.words}\n\nNot yet weighed.\n"
    across = [row for row in found if not _is_within(row)]
    within = [row for row in found if _is_within(row)]
    before, after = list((across or found)[0]["arms"].values())
    makers = dict.fromkeys(
        arm["builder"] for row in (across or found) for arm in row["arms"].values()
    )
    head = _HEAD.format(
        what=f"each step of PostgreSQL {pair.words}"
        if pair.between
        else f"PostgreSQL {before['version']} (control) against {after['version']}",
        made=f"both by one builder ({before['builder']})"
        if len(makers) == 1
        else f"**builds differ** ({' and '.join(makers)})",
        command=pair.command,
        results=pair.results,
    )
    parts = [
        f"# PostgreSQL {pair.words}, workload by workload",
        paragraph(head).strip(),
        f"Measured on {machines_words(weighing['machine'] for weighing in found)}.",
        table(
            ["workload", "step" if pair.between else pair.words, *_COLUMNS],
            [_row(row, stepwise=bool(pair.between)) for row in across],
        ),
    ]
    if within:
        sentence = "What one thing takes within each version, its arm against its control:"
        rows = [_row(row) for row in within]
        parts += [sentence, table(["study", "arm against control", *_COLUMNS], rows)]
    counts = [row for weighing in found for row in _count_rows(weighing)]
    parts += ["## Beside it", table(_COUNTS, counts)]
    parts += ["## How each was weighed", table(_HOW, [_weighed(weighing) for weighing in found])]
    return "\n\n".join(parts) + "\n"


def _is_within(weighing: Json) -> bool:
    """Whether both arms are of one version."""
    return len({arm["version"] for arm in weighing["arms"].values()}) == 1


def _row(one: Json, *, stepwise: bool = False) -> list[str]:
    step = f"{_step_of(one)}: " if stepwise else ""
    return [
        one["key"],
        f"{step}{format_percent(one['estimate_percent'], 1)} of {_metric(one)}",
        _interval(one),
        one["verdict"],
        _layout(one),
        str(one["epochs"]),
        f"{one['epoch_sd_percent']:.1f} %",
        ", ".join(dict.fromkeys(one["threats"])) or "none",
        f"{one['seconds'] / 60:.0f}",
    ]


def _step_of(row: Json) -> str:
    """`"17 against 16"`."""
    before, after = (str(arm["version"]).partition(".")[0] for arm in row["arms"].values())
    return f"{after} against {before}"


def _layout(one: Json) -> str:
    layout = one.get("layout", "slices")
    if one.get("time_scale") is None:
        return str(layout)
    distance = one["distance_seconds"]
    if distance is None:
        return f"{layout}, no checkpoint"
    return f"{layout}, a checkpoint every {distance:.0f} s (F = {one['time_scale']:g})"


def _metric(one: Json) -> str:
    return str(one["metric"]).replace("_", " ")


def _interval(one: Json) -> str:
    if one["low_percent"] is None or one["high_percent"] is None:
        return "unbounded"
    return f"{signed(one['low_percent'], 1)} … {signed(one['high_percent'], 1)} %"


def _weighed(one: Json) -> list[str]:
    """How it was weighed: a row of the last table."""
    workload = one["workload"]
    loads = one["loads"]["arms"].values()
    options = ", ".join(f"{name} {value}" for name, value in workload["options"].items())
    command = f"steelyard weigh {shlex.join(one['words'])}".replace("\n", " ").replace("|", "\\|")
    return [
        one["key"],
        one["sentence"],
        f"`{command}`",
        f"scale {workload['scale']}, {workload['clients']} clients"
        + (f" ({options})" if options else ""),
        ", ".join(f"{load['count']} in {load['seconds']:.0f} s" for load in loads),
        _by_load(one) or "–",
        f"{one['measured_seconds']:.0f}",
        f"{one['started']}, load average {one['load_before']}, commit {one['revision']}",
    ]


def _count_rows(weighing: Json) -> list[list[str]]:
    """What was counted beside it: rows of a table."""
    return [
        [
            weighing["key"],
            f"{_metric(row)}, {row['unit']}",
            _number(row["control_value"]),
            _number(row["arm_value"]),
            format_percent(row["estimate_percent"], 1),
            _interval(row),
        ]
        for row in (*weighing["work"], *_strongest(weighing["causes"]))
    ]


def _by_load(one: Json) -> str:
    """What the epochs of each load of the later version read by themselves, in the median, and how
    many they are: the luck of a load, where it shows; empty where all share one."""
    arm = list(one["arms"])[-1]
    readings: dict[int, list[float]] = {}
    if len(one["loads_of_epochs"]) == len(one["d"]):
        for loads, d in zip(one["loads_of_epochs"], one["d"], strict=True):
            readings.setdefault(loads[arm], []).append(d)
    if len(readings) < 2:
        return ""
    medians = {load: percent_of_log(statistics.median(logs)) for load, logs in readings.items()}
    return ", ".join(
        f"{format_percent(medians[load], 1)} ({len(readings[load])})" for load in sorted(readings)
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def _strongest(causes: Sequence[Json]) -> list[Json]:
    """The causes whose interval lies furthest from nothing, measured in its own width."""
    bounded = [
        row
        for row in causes
        if None not in (row["estimate_percent"], row["low_percent"], row["high_percent"])
        and row["high_percent"] > row["low_percent"]
    ]
    return sorted(bounded, key=_strength, reverse=True)[:_CAUSES]


def _strength(row: Json) -> float:
    width = float(row["high_percent"] - row["low_percent"])
    return abs(float(row["estimate_percent"])) / width
