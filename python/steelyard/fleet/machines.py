"""Ranks machines by what they carried, and by what that cost, from the records of several.

Only machines that did the same are ranked among themselves: the same workload, scripts, scale and
clients, version and settings, layout and metric. Each gives its newest valid record. Every machine
is held against the first by the t interval of two means of log throughput over epochs (Welch,
Biometrika 34 (1947) 28), all of a group jointly (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.analysis.decision.sign_flip import Floats
from steelyard.analysis.decision.t_interval import t_interval, welch
from steelyard.fleet.hosts import host_names
from steelyard.history.entry import Entry, KnownBuild, KnownReading
from steelyard.history.question import of_server, place_of_arm, without_copies
from steelyard.model.estimate import Interval
from steelyard.model.latency_goal import higher_is_better
from steelyard.model.price import Price, parse_price
from steelyard.model.units import percent_of_log
from steelyard.record.contrast import ArmValues

ALPHA = 0.05
FEWEST_EPOCHS = 2
_NOT_OF_THE_WORK = frozenset(
    {
        *("name", "title", "question", "placement", "workload.threads", "workload.loads"),
        *("source.digest", "source.settings_digest", "source.partial", "source.backup", "needs"),
    }
)
_OF_ARMS_OR_EFFORT = ("control.", "arm[", "budget.", "decision.")
_TEXTS = "texts of the scripts"
_NOT_OF_THE_ARM = ("name", "role", "price", "version", "bindir", "address")
Configuration = tuple[tuple[str, str], ...]
"""Key → value of what was done, sorted."""


@dataclass(frozen=True)
class Machine:
    """What one machine carried."""

    name: str
    kind: str
    """Of host; empty: not known."""
    record: str
    at: str
    values: ArmValues
    price: Price | None
    doubts: tuple[str, ...]

    @property
    def logs(self) -> Floats:
        """Of its throughput, by epoch."""
        logs: Floats = np.log(np.array(self.values.epoch_throughput))
        return logs

    @property
    def throughput(self) -> float:
        """Transactions a second, the geometric mean over epochs."""
        return float(np.exp(self.logs.mean()))

    @property
    def throughput_ends(self) -> tuple[float | None, float | None]:
        """95 % t interval over epochs; None: unbounded."""
        ends = t_interval(self.logs)
        low, high = (math.exp(end) if math.isfinite(end) else None for end in (ends.low, ends.high))
        return low, high

    @property
    def cost(self) -> float | None:
        """Of a million transactions; None: it has no price."""
        return None if self.price is None else self.price.per_million(self.throughput)

    @property
    def cost_ends(self) -> tuple[float | None, float | None]:
        """95 % ends; None: unbounded, or no price."""
        slow, fast = self.throughput_ends
        low, high = (
            None if self.price is None or end is None else self.price.per_million(end)
            for end in (fast, slow)
        )
        return low, high


@dataclass(frozen=True)
class Ranked:
    """A machine at its place in a ranking."""

    machine: Machine
    against_first: tuple[float, float, float] | None
    """Percent of the first's, with joint 95 % ends; None: it is the first, or has no interval."""
    apart: bool
    """Whether its interval leaves zero out."""


@dataclass(frozen=True)
class MachineGroup:
    """Machines that did the same."""

    configuration: Configuration
    metric: str
    by_throughput: tuple[Ranked, ...]
    by_cost: tuple[Ranked, ...]
    """Of those that have a price, the cheapest first."""

    @property
    def words(self) -> str:
        """What they did, in keys: `"PostgreSQL 18.4; workload.scale = 50"`."""
        return "; ".join(f"{key} = {value}" for key, value in self.configuration if key != _TEXTS)

    @property
    def without_price(self) -> tuple[str, ...]:
        """Machines that are in no ranking by cost."""
        return tuple(item.machine.name for item in self.by_throughput if item.machine.price is None)

    @property
    def currencies(self) -> tuple[str, ...]:
        """Of its machines' prices; of several there is no ranking by cost."""
        prices = [item.machine.price for item in self.by_throughput]
        return tuple(sorted({price.currency or "none" for price in prices if price is not None}))

    def differs_in(self, other: MachineGroup) -> str:
        """`"workload.scale (50, here 100)"`: what keeps the machines of another group from being
        compared with these."""
        ours, theirs = dict(self.configuration), dict(other.configuration)
        ours["metric"], theirs["metric"] = self.metric, other.metric
        keys = [key for key in {**theirs, **ours} if ours.get(key) != theirs.get(key)]
        return ", ".join(
            f"{key} ({theirs.get(key, 'default')}, here {ours.get(key, 'default')})" for key in keys
        )


@dataclass(frozen=True)
class WhichMachine:
    """Every group, those with most machines first, and what is in none."""

    groups: tuple[MachineGroup, ...]
    left_out: tuple[tuple[str, str], ...]
    """(record, why)."""

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "groups": [_group_json(item, self.groups[0]) for item in self.groups],
            "left_out": [{"record": record, "why": why} for record, why in self.left_out],
        }


def which_machine(
    entries: Sequence[Entry], prices: Mapping[str, Price] | None = None
) -> WhichMachine:
    """Rank the machines of these records. `prices`: host name or kind of host → price, in place of
    those in the records."""
    names, price_table = host_names(entries), prices or {}
    newest: dict[tuple[Configuration, str], dict[str, Machine]] = {}
    left_out: list[tuple[str, str]] = []
    for entry in sorted(without_copies(entries), key=lambda item: (item.at, item.path)):
        why = _unfit(entry)
        if why:
            left_out.append((entry.path, why))
            continue
        for configuration, metric, machine in _machines(entry, names[entry.path], price_table):
            newest.setdefault((configuration, metric), {})[machine.name] = machine
    groups = [
        _group(configuration, metric, list(machines.values()))
        for (configuration, metric), machines in newest.items()
    ]
    groups.sort(key=lambda item: (-len(item.by_throughput), item.words))
    return WhichMachine(tuple(groups), tuple(left_out))


def _unfit(entry: Entry) -> str:
    if entry.state != "judged":
        return "it was interrupted" if entry.state == "interrupted" else "it has no verdict"
    if any(key == "address" or key.endswith(".address") for key in entry.keys):
        return "its servers are at addresses: on which machines they run is not known"
    if all(item.verdict == "invalid" for item in entry.readings):
        return "its verdict is invalid"
    if not any(_has_throughput(item) for item in entry.readings):
        return "its metric is no throughput, or it has fewer than two epochs"
    return ""


def _has_throughput(reading: KnownReading) -> bool:
    values = (reading.control_values, reading.arm_values)
    enough = all(len(item.epoch_throughput) >= FEWEST_EPOCHS for item in values)
    return enough and higher_is_better(reading.metric)


def _machines(
    entry: Entry, name: str, prices: Mapping[str, Price]
) -> Iterator[tuple[Configuration, str, Machine]]:
    """Every configuration that a record weighed, once: of equal arms the control."""
    configurations: set[Configuration] = set()
    for reading in entry.readings:
        if reading.verdict == "invalid" or not _has_throughput(reading):
            continue
        for arm, values in (
            (reading.control, reading.control_values),
            (reading.arm, reading.arm_values),
        ):
            place = place_of_arm(entry.keys, arm)
            configuration = _configuration(entry, place, entry.builds.get(arm, KnownBuild()))
            if configuration in configurations:
                continue
            configurations.add(configuration)
            yield (
                configuration,
                reading.metric,
                Machine(
                    name=name,
                    kind=entry.kind,
                    record=entry.path,
                    at=entry.at,
                    values=values,
                    price=_price(entry, values, prices),
                    doubts=reading.doubts,
                ),
            )


def _price(entry: Entry, values: ArmValues, prices: Mapping[str, Price]) -> Price | None:
    for name in (entry.machine.hostname, entry.kind):
        if name is not None and name in prices:
            return prices[name]
    return parse_price(values.price) if values.price else None


def _configuration(entry: Entry, place: str, build: KnownBuild) -> Configuration:
    """What an arm did: keys of the study that are of the work, and its own, below `place`."""
    keys = {"version": " ".join(filter(None, (build.version, build.origin))) or "not known"}
    keys["layout"] = entry.layout
    keys[_TEXTS] = entry.script_texts or "not kept"
    for key, value in of_server(entry.keys).items():
        if key.startswith(f"{place}."):
            arm_key = key.removeprefix(f"{place}.")
            if arm_key not in _NOT_OF_THE_ARM:
                keys[arm_key] = value
        elif key not in _NOT_OF_THE_WORK and not key.startswith(_OF_ARMS_OR_EFFORT):
            keys.setdefault(key, value)  # an arm's own setting stands over the study's
    return tuple(sorted(keys.items()))


def _group(configuration: Configuration, metric: str, machines: Sequence[Machine]) -> MachineGroup:
    fastest = sorted(machines, key=lambda item: -item.throughput)
    priced = [(cost, item) for item in machines if (cost := item.cost) is not None]
    currencies = {item.price.currency for _, item in priced if item.price is not None}
    cheapest = [item for _, item in sorted(priced, key=lambda pair: pair[0])]
    return MachineGroup(
        configuration,
        metric,
        tuple(_ranked(fastest, by_cost=False)),
        tuple(_ranked(cheapest, by_cost=True)) if len(currencies) == 1 else (),
    )


def _ranked(machines: Sequence[Machine], *, by_cost: bool) -> Iterator[Ranked]:
    """Each against the first; joint over all that are."""
    confidence = 1 - ALPHA / max(1, len(machines) - 1)
    for rank, machine in enumerate(machines):
        if rank == 0:
            yield Ranked(machine, None, False)
            continue
        difference = welch(machines[0].logs, machine.logs)
        middle, interval = difference.difference, difference.interval(confidence)
        if by_cost:
            dearer = _log_price(machine) - _log_price(machines[0])
            middle, interval = dearer - middle, _less(dearer, interval)
        apart = not interval.low <= 0 <= interval.high
        ends = (percent_of_log(item) for item in (middle, interval.low, interval.high))
        yield Ranked(machine, _three(ends), apart)


def _less(dearer: float, interval: Interval) -> Interval:
    return Interval(dearer - interval.high, dearer - interval.low)


def _three(ends: Iterator[float]) -> tuple[float, float, float] | None:
    middle, low, high = ends
    return (middle, low, high) if math.isfinite(low) and math.isfinite(high) else None


def _log_price(machine: Machine) -> float:
    assert machine.price is not None  # only those with a price are ranked by cost
    return math.log(machine.price.per_hour)


def _group_json(group: MachineGroup, first: MachineGroup) -> dict[str, Any]:
    return {
        "configuration": dict(group.configuration),
        "metric": group.metric,
        "by_throughput": [_ranked_json(item) for item in group.by_throughput],
        "by_cost": [_ranked_json(item) for item in group.by_cost],
        "without_price": list(group.without_price),
        "currencies": list(group.currencies),
        "not_compared_with_first": "" if group is first else group.differs_in(first),
    }


def _ranked_json(item: Ranked) -> dict[str, Any]:
    machine, ends = item.machine, item.against_first
    low, high = machine.cost_ends
    slowest, fastest = machine.throughput_ends
    return {
        "machine": machine.name,
        "kind": machine.kind,
        "record": machine.record,
        "throughput": machine.throughput,
        "throughput_low": slowest,
        "throughput_high": fastest,
        "price": None if machine.price is None else machine.price.words,
        "cost_per_million": machine.cost,
        "cost_per_million_low": low,
        "cost_per_million_high": high,
        "estimate_percent": None if ends is None else ends[0],
        "low_percent": None if ends is None else ends[1],
        "high_percent": None if ends is None else ends[2],
        "apart": item.apart,
        "doubts": list(machine.doubts),
    }
