"""One major version of PostgreSQL against another by workload: docs/results/18-against-16.md."""

from __future__ import annotations

import math
import shlex
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.reproductions.reproduction import machines_words
from validation.pages.table import paragraph, table

Json = Mapping[str, Any]
_HEAD = """
    One weighing of each workload, {what}, {made}, settings
    that changed their defaults set alike. This page is written by `{command}` from
    `validation/results/{results}`: nothing on it was typed. It says what these weighings saw on one
    small machine, and not what an upgrade does on yours: `steelyard weigh versions --set
    workload=NAME` tells that.

    Transactions that write are weighed over whole checkpoint cycles, at the distance that stands
    beside it: in turns each version alone ([METHODOLOGY, 2a](../method/layouts.md#2a-turns)), in
    cycles both at once, each in its own time ([2c](../method/layouts.md#2c-cycles)). A row that
    says slices only reads, counts single statements, or is of the seconds after a checkpoint.

    Major versions cannot share data: each has loads of its own, which the epochs take in turn, so
    that the luck of one load is not taken for the version's. With two or three loads of each it is
    still the least known part; the interval has it only as far as the loads differ.
"""
_COLUMNS = (
    "interval, 95 %", "verdict", "layout", "epochs", "sd of an epoch", "doubts",
    "minutes, all in all",
)  # fmt: skip
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
        f"Measured on {machines_words(one['machine'] for one in found)}.",
        table(
            ["workload", "step" if pair.between else pair.words, *_COLUMNS],
            [_row(row, stepwise=bool(pair.between)) for row in across],
        ),
    ]
    if within:
        words = "What one thing takes within each version, its arm against its control:"
        rows = [_row(row) for row in within]
        parts += [words, table(["study", "arm against control", *_COLUMNS], rows)]
    for one in found:
        parts += _details(one, pair)
    return "\n\n".join(parts) + "\n"


def _is_within(weighing: Json) -> bool:
    """Whether both arms are of one version."""
    return len({arm["version"] for arm in weighing["arms"].values()}) == 1


def _row(one: Json, *, stepwise: bool = False) -> list[str]:
    step = f"{_step_of(one)}: " if stepwise else ""
    return [
        f"[{one['key']}](#{one['key']})",
        f"{step}{one['estimate_percent']:+.1f} % of {_metric(one)}",
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
    return f"{one['low_percent']:+.1f} … {one['high_percent']:+.1f} %"


def _details(one: Json, pair: Pair) -> list[str]:
    workload = one["workload"]
    loads = one["loads"]["arms"].values()
    options = ", ".join(f"{name} {value}" for name, value in workload["options"].items())
    told = [
        f"Scale {workload['scale']}, {workload['clients']} clients"
        + (f" ({options})" if options else "")
        + ". Loads of each version: "
        + ", ".join(f"{load['count']} in {load['seconds']:.0f} s" for load in loads)
        + f". Under load {one['measured_seconds']:.0f} s. Started {one['started']}, load average "
        f"{one['load_before']} before; commit {one['revision']}."
    ]
    rows = [*one["work"], *_strongest(one["causes"])]
    shown = table(
        ["beside it", *_sides(one, pair), "interval, 95 %"],
        [
            [
                f"{_metric(row)}, {row['unit']}",
                _number(row["control_value"]),
                _number(row["arm_value"]),
                f"{row['estimate_percent']:+.1f} %",
                _interval(row),
            ]
            for row in rows
        ],
    )
    return [
        f"## {one['key']}",
        f"{one['sentence']}.",
        f"```\nsteelyard weigh {shlex.join(one['words'])}\n```",
        *told,
        *_by_load(one, pair),
        *([shown] if rows else []),
    ]


def _sides(weighing: Json, pair: Pair) -> tuple[str, str, str]:
    """Headings of control, arm, and the change."""
    if not _is_within(weighing) and not pair.between:
        return pair.before, pair.after, pair.words
    if pair.between:
        after, _, before = _step_of(weighing).partition(" against ")
        return before, after, f"{after} against {before}"
    control, arm = weighing["arms"]
    return control, arm, f"{arm} against {control}"


def _by_load(one: Json, pair: Pair) -> list[str]:
    """What the epochs of each load of the later version read by themselves: the luck of a load,
    where it shows."""
    arm = list(one["arms"])[-1]
    readings: dict[int, list[float]] = {}
    if len(one["loads_of_epochs"]) == len(one["d"]):
        for loads, d in zip(one["loads_of_epochs"], one["d"], strict=True):
            readings.setdefault(loads[arm], []).append(d)
    if len(readings) < 2:
        return []
    told = (
        f"{100 * math.expm1(statistics.median(readings[load])):+.1f} % ({len(readings[load])})"
        for load in sorted(readings)
    )
    after = _step_of(one).partition(" ")[0] if pair.between else pair.after
    return [f"By the load of {after}, median of its epochs (how many): {', '.join(told)}."]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"


def _strongest(causes: Sequence[Json]) -> list[Json]:
    """The causes whose interval lies furthest from nothing, measured in its own width."""
    known = [
        row
        for row in causes
        if None not in (row["estimate_percent"], row["low_percent"], row["high_percent"])
        and row["high_percent"] > row["low_percent"]
    ]
    return sorted(known, key=_strength, reverse=True)[:_CAUSES]


def _strength(row: Json) -> float:
    width = float(row["high_percent"] - row["low_percent"])
    return abs(float(row["estimate_percent"])) / width
