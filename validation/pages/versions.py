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


def page(results: Sequence[Json], pair: Pair) -> str:
    """The whole page; `results` as a file of results has them."""
    if not results:
        return f"# PostgreSQL {pair.words}\n\nNot yet weighed.\n"
    across = [row for row in results if not _is_within(row)]
    within = [row for row in results if _is_within(row)]
    before, after = list((across or results)[0]["arms"].values())
    makers = dict.fromkeys(
        arm["builder"] for row in (across or results) for arm in row["arms"].values()
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
        f"Measured on {machines_words(weighing['machine'] for weighing in results)}.",
        table(
            ["workload", "step" if pair.between else pair.words, *_COLUMNS],
            [_row(row, stepwise=bool(pair.between)) for row in across],
        ),
    ]
    if within:
        sentence = "What one thing takes within each version, its arm against its control:"
        rows = [_row(row) for row in within]
        parts += [sentence, table(["study", "arm against control", *_COLUMNS], rows)]
    counts = [row for weighing in results for row in _count_rows(weighing)]
    parts += ["## Beside it", table(_COUNTS, counts)]
    parts += ["## How each was weighed", table(_HOW, [_weighed(weighing) for weighing in results])]
    return "\n\n".join(parts) + "\n"


def _is_within(weighing: Json) -> bool:
    """Whether both arms are of one version."""
    return len({arm["version"] for arm in weighing["arms"].values()}) == 1


def _row(line: Json, *, stepwise: bool = False) -> list[str]:
    step = f"{_step_of(line)}: " if stepwise else ""
    return [
        line["key"],
        f"{step}{format_percent(line['estimate_percent'], 1)} of {_metric(line)}",
        _interval(line),
        line["verdict"],
        _layout(line),
        str(line["epochs"]),
        f"{line['epoch_sd_percent']:.1f} %",
        ", ".join(dict.fromkeys(line["threats"])) or "none",
        f"{line['seconds'] / 60:.0f}",
    ]


def _step_of(row: Json) -> str:
    """`"17 against 16"`."""
    before, after = (str(arm["version"]).partition(".")[0] for arm in row["arms"].values())
    return f"{after} against {before}"


def _layout(line: Json) -> str:
    layout = line.get("layout", "slices")
    if line.get("time_scale") is None:
        return str(layout)
    distance = line["distance_seconds"]
    if distance is None:
        return f"{layout}, no checkpoint"
    return f"{layout}, a checkpoint every {distance:.0f} s (F = {line['time_scale']:g})"


def _metric(line: Json) -> str:
    return str(line["metric"]).replace("_", " ")


def _interval(line: Json) -> str:
    if line["low_percent"] is None or line["high_percent"] is None:
        return "unbounded"
    return f"{signed(line['low_percent'], 1)} … {signed(line['high_percent'], 1)} %"


def _weighed(line: Json) -> list[str]:
    """How it was weighed: a row of the last table."""
    workload = line["workload"]
    loads = line["loads"]["arms"].values()
    options = ", ".join(f"{name} {value}" for name, value in workload["options"].items())
    command = f"steelyard weigh {shlex.join(line['words'])}".replace("\n", " ").replace("|", "\\|")
    return [
        line["key"],
        line["sentence"],
        f"`{command}`",
        f"scale {workload['scale']}, {workload['clients']} clients"
        + (f" ({options})" if options else ""),
        ", ".join(f"{load['count']} in {load['seconds']:.0f} s" for load in loads),
        _by_load(line) or "–",
        f"{line['measured_seconds']:.0f}",
        f"{line['started']}, load average {line['load_before']}, commit {line['revision']}",
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


def _by_load(line: Json) -> str:
    """What the epochs of each load of the later version read by themselves, in the median, and how
    many they are: the luck of a load, where it shows; empty where all share one."""
    arm = list(line["arms"])[-1]
    readings: dict[int, list[float]] = {}
    if len(line["loads_of_epochs"]) == len(line["d"]):
        for loads, d in zip(line["loads_of_epochs"], line["d"], strict=True):
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
