"""The weighings on real servers: equal arms and known weights."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.model.threat import ThreatKind
from steelyard.reproductions.reproduction import machine_words
from validation.pages.table import paragraph, percent, table
from validation.proportion import Proportion
from validation.results import Results
from validation.schedule import (
    CYCLED_PERCENT,
    DOUBLE_WORK,
    DOUBLE_WORK_PERCENT,
    KINDS,
    MYSQL_PERCENT,
    SESSIONS_PERCENT,
    TURNED_PERCENT,
)

Json = Mapping[str, Any]
MOST_FALSE = 6
LEAST_COVERED = 72
MOST_NAMED = 6
"""Of the equal arms, weighings that may name a cause of their difference."""
WITH_WRITES = "alike with writes"
MOST_FALSE_WITH_WRITES = 2
"""Of those equal arms, weighings that may tell them apart, and that may name a cause."""
AGAIN = "alike again"
MOST_FALSE_AGAIN = 9
AT_LENGTH = "alike for two minutes"
MOST_FALSE_AT_LENGTH = 2
IN_CYCLES = [f"twice {CYCLED_PERCENT} % in cycles{where}" for where in ("", " on tproc-c")]
LEAST_COVERED_IN_CYCLES = 18
"""Of the doubled work on both workloads."""
WEIGHTS = [f"twice {percent} %" for percent in DOUBLE_WORK_PERCENT]

_WORDS = """
    The command a user would give, `steelyard weigh aa --budget 30s`, with fixed seeds, on real
    servers (select-only, scale 50; `validation/schedule.py`): with equal arms, and with a weight
    of known size on one. *twice p*: a transaction is done twice and counted once with probability
    p, truth 1 ÷ (1 + p). *stall*: a transaction of the only client sleeps in the server now and
    then, truth by Wald's identity. *background*: a share of the work is executed again after each
    slice and charged as a debt (cost whole), truth by that share and the control's own debt. *In
    turns*: each arm alone over whole checkpoint cycles (TPC-B, scale 10, checkpoints brought
    nearer, no commit waits, 8 epochs). *In cycles*: five arms in one weighing
    (`validation/five-arms-in-cycles.toml`), two equal to their control and two whose work is
    doubled, read together at one error rate; TPC-B at scale 20, and order entry. *In sessions*:
    the arms are sessions of one server (`--address`), the treatment drawn onto connections that
    every epoch opens afresh. *On MySQL*: two servers of MySQL 5.7, scale 10, in slices. *With
    writes*: TPC-B at scale 10 in slices, commits wait for the log. *For two minutes*: the budget
    that `make weigh` has. *Again*: equal arms once more, to test the first ones' mean. *From
    three nodes*: sessions again, loaded from three Ray nodes on this machine (`--machines 3`).
    *Bias*: mean of estimate less truth, in points, ± its standard error. *Covered*: the printed
    interval holds the truth. *Seen*: the share called slower. *Cause named*: how often a part of
    a transaction's time covers at least half of the difference. *Time*: median of the whole
    command.
"""


def by_machine(results: Results) -> Iterator[tuple[Json, list[Json]]]:
    """The weighings of each machine, most weighings first."""
    groups: dict[str, list[Json]] = {}
    for weighing in results:
        groups.setdefault(json.dumps(weighing["machine"], sort_keys=True), []).append(weighing)
    for key in sorted(groups, key=lambda name: -len(groups[name])):
        yield json.loads(key), groups[key]


def section(results: Results) -> str:
    """The section on live weighings, one part a machine."""
    parts = ["## Weighings on real servers", paragraph(_WORDS)]
    machines = list(by_machine(results))
    if not machines:
        parts.append(f"Not yet measured: 0 of {sum(KINDS.values())} weighings.")
    every, shared = {weighing["kind"] for weighing in results}, _shared_kinds(machines)
    for machine, weighings in machines:
        elsewhere = every - {weighing["kind"] for weighing in weighings}
        parts += [f"### On {machine_words(machine)}", _of_machine(weighings, elsewhere, shared)]
    if shared:
        together = [weighing for weighing in results if weighing["kind"] in shared]
        parts += [
            "### On several of these machines, together",
            _of_machine(together, set(KINDS) - shared),
        ]
    return "\n\n".join(parts)


def _shared_kinds(machines: Sequence[tuple[Json, Sequence[Json]]]) -> set[str]:
    """Kinds of which several machines have weighed a part each, and none has weighed all."""
    counts = [Counter(weighing["kind"] for weighing in weighings) for _, weighings in machines]
    return {
        kind
        for kind, planned in KINDS.items()
        if sum(kind in count for count in counts) > 1
        and all(count[kind] < planned for count in counts)
    }


def _of_machine(
    weighings: Sequence[Json], elsewhere: Collection[str], shared: Collection[str] = ()
) -> str:
    """`elsewhere`: kinds that other machines have weighed, and this one has not; `shared`: those of
    which it has a part, whose bounds are of all machines together."""
    kinds = [kind for kind in KINDS if kind not in elsewhere]
    kinds += sorted({weighing["kind"] for weighing in weighings} - set(KINDS))
    rows = [
        _row(kind, [weighing for weighing in weighings if weighing["kind"] == kind])
        for kind in kinds
    ]
    columns = ["truth, %", "bias, points", "covered", "seen slower", "cause named", "time, s"]
    head = ["kind", "weighings", *columns]
    dates = sorted(weighing["started"][:10] for weighing in weighings)
    versions = ", ".join(sorted({weighing["version"] for weighing in weighings}))
    sentence = (
        f"Measured from {dates[0]} to {dates[-1]}, version {versions}{_conditions(weighings)}."
    )
    return "\n\n".join([sentence, _bounds(weighings, {*elsewhere, *shared}), table(head, rows)])


def _conditions(weighings: Sequence[Json]) -> str:
    """How many commits, and how busy and how steady the machine was."""
    commits = {weighing["revision"] for weighing in weighings if weighing.get("revision")}
    loads = sorted(weighing["load_before"] for weighing in weighings if "load_before" in weighing)
    spread = sorted(
        weighing["epoch_sd_percent"] for weighing in weighings if weighing.get("epoch_sd_percent")
    )
    text = f", {len(commits)} commits" if len(commits) > 1 else ""
    if loads:
        text += (
            f"; the load of the machine before a weighing was {loads[0]:.1f} to {loads[-1]:.1f} "
            f"(median {statistics.median(loads):.1f})"
        )
    if spread:
        text += (
            f"; the sd of an epoch {spread[0]:.1f} to {spread[-1]:.1f} % "
            f"(median {statistics.median(spread):.1f})"
        )
    return text


def _standard_error(weighings: Sequence[Json]) -> float | None:
    """Of the mean error, in points: from the scatter of every weighing's epochs, pooled."""
    squares = [
        (weighing.get("epoch_sd_percent"), weighing.get("epochs", 0)) for weighing in weighings
    ]
    usable = [(sd, n) for sd, n in squares if sd and n > 1]
    if len(usable) < len(weighings) or not usable:
        return None
    return math.sqrt(sum(sd**2 / n for sd, n in usable)) / len(usable)


@dataclass(frozen=True)
class Setting:
    """Where equal arms and doubled work are weighed beside the usual, and what they must keep."""

    words: str
    ending: str
    """Of the names of both kinds."""
    percent: int
    """Of the work that is doubled."""
    most_false: int
    least_covered: int

    @property
    def kinds(self) -> tuple[str, str]:
        """That of equal arms, and that of doubled work."""
        return f"alike {self.ending}", f"twice {self.percent} % {self.ending}"


SETTINGS = (
    Setting("In turns", "in turns", TURNED_PERCENT, 2, 9),
    Setting("In cycles", "in cycles", CYCLED_PERCENT, 2, 9),
    Setting("In sessions of one running server", "in sessions", SESSIONS_PERCENT, 2, 9),
    Setting("On MySQL 5.7", "on MySQL", MYSQL_PERCENT, 2, 9),
    Setting("In sessions loaded from three nodes", "from three nodes", SESSIONS_PERCENT, 2, 9),
)


def _bounds(weighings: Sequence[Json], elsewhere: Collection[str]) -> str:
    covered = _covered(weighings, WEIGHTS)
    weighted = DOUBLE_WORK * len(WEIGHTS)
    invalid = sum(weighing["verdict"] == "invalid" for weighing in weighings)
    bounds: list[tuple[str, set[str]]] = [
        (_told_apart("Equal arms", weighings, "alike", MOST_FALSE, interval=True), {"alike"}),
        (
            f"- Truth covered, pooled over the doubled work: **{covered.count} of "
            f"{covered.trials}**, {_left(covered, weighted)}; "
            f"{_interval(covered)}at least {LEAST_COVERED} of {weighted} must be.",
            set(WEIGHTS),
        ),
        (_named(weighings, "alike", MOST_NAMED), {"alike"}),
        (
            _told_apart("With writes, equal arms", weighings, WITH_WRITES, MOST_FALSE_WITH_WRITES),
            {WITH_WRITES},
        ),
        (_named(weighings, WITH_WRITES, MOST_FALSE_WITH_WRITES), {WITH_WRITES}),
    ]
    for setting in SETTINGS:
        bounds += _of_setting(setting, weighings)
    if any(weighing["kind"] == AGAIN for weighing in weighings):  # of one machine, all of them
        words = "Equal arms again,"
        again = _told_apart(words, weighings, AGAIN, MOST_FALSE_AGAIN, interval=True)
        bounds.append((again, {AGAIN}))
    bounds.append((_covered_in_cycles(weighings), set(IN_CYCLES)))
    bounds.append((_at_length(weighings), {AT_LENGTH}))
    bounds.append(
        (f"- Weighings called invalid by a threat: {invalid} of {len(weighings)}.", set())
    )
    return "\n".join(bound for bound, kinds in bounds if not kinds or kinds - set(elsewhere))


def _covered_in_cycles(weighings: Sequence[Json]) -> str:
    """What is said of doubled work in cycles, both workloads together."""
    covered, planned = _covered(weighings, IN_CYCLES), sum(KINDS[kind] for kind in IN_CYCLES)
    return (
        f"- In cycles, truth covered on both workloads: **{covered.count} of {covered.trials}**, "
        f"{_left(covered, planned)}; at least {LEAST_COVERED_IN_CYCLES} of {planned} must be."
    )


def _told_apart(
    words: str, weighings: Sequence[Json], kind: str, most: int, *, interval: bool = False
) -> str:
    """What is said of equal arms of a kind; `interval`: with that of their share."""
    false, planned = _false(weighings, [kind]), KINDS[kind]
    return (
        f"- {words} told apart: **{false.count} of {false.trials}**, {_left(false, planned)}; "
        f"{_interval(false) if interval else ''}at most {most} of {planned} may be"
        f"{_mean(weighings, kind)}."
    )


def _at_length(weighings: Sequence[Json]) -> str:
    """What is said of equal arms for two minutes: told apart, and said not to have settled."""
    at_length = [weighing for weighing in weighings if weighing["kind"] == AT_LENGTH]
    doubted = sum(_doubts(weighing, ThreatKind.NO_STEADY_STATE) for weighing in at_length)
    told_apart = _told_apart(
        "For two minutes, equal arms", at_length, AT_LENGTH, MOST_FALSE_AT_LENGTH
    )
    return f"{told_apart} *No steady state* was said of {doubted}."


def _of_setting(setting: Setting, weighings: Sequence[Json]) -> list[tuple[str, set[str]]]:
    """What is said of equal arms and of doubled work, each with its kind."""
    alike, doubled = setting.kinds
    covered = _covered(weighings, [doubled])
    return [
        (
            _told_apart(f"{setting.words}, equal arms", weighings, alike, setting.most_false),
            {alike},
        ),
        (
            f"- {setting.words}, truth covered: **{covered.count} of {covered.trials}**, "
            f"{_left(covered, KINDS[doubled])}; at least {setting.least_covered} of "
            f"{KINDS[doubled]} must be.",
            {doubled},
        ),
    ]


def _named(weighings: Sequence[Json], kind: str, most: int) -> str:
    """Of how many equal arms a cause was named, among those that told where the time goes."""
    timed = [
        weighing for weighing in weighings if weighing["kind"] == kind and weighing.get("told")
    ]
    share = Proportion(sum(weighing["cause"] is not None for weighing in timed), len(timed))
    where = kind.removeprefix("alike").strip()
    return (
        f"- A cause named for the difference of equal arms{where and ' '}{where}: **{share.count} "
        f"of {share.trials}**, {_left(share, KINDS[kind])}; {_interval(share)}at most {most} of "
        f"{KINDS[kind]} may be."
    )


def _causes(weighings: Sequence[Json]) -> str:
    """How often each cause was named: `"processor 18, none 2"`."""
    timed = [weighing for weighing in weighings if weighing.get("told")]
    counted = Counter(weighing["cause"] or "none" for weighing in timed)
    return ", ".join(f"{cause} {count}" for cause, count in counted.most_common()) or "–"


def _mean(weighings: Sequence[Json], kind: str) -> str:
    """What equal arms read on average: `"; mean −0.12 ± 0.04 points"`."""
    alike = [weighing for weighing in weighings if weighing["kind"] == kind]
    return f"; mean {_bias(alike).replace('-', '−')} points" if alike else ""


def _bias(weighings: Sequence[Json]) -> str:
    """Mean of estimate less truth, and its standard error where it is known, in points."""
    errors = [weighing["estimate_percent"] - weighing["truth_percent"] for weighing in weighings]
    error = _standard_error(weighings)
    mean = f"{statistics.fmean(errors):+.2f}" if errors else "–"
    return mean if error is None else f"{mean} ± {error:.2f}"


def _false(weighings: Sequence[Json], kinds: Sequence[str]) -> Proportion:
    alike = [weighing for weighing in weighings if weighing["kind"] in kinds]
    return Proportion(sum(_tells_apart(weighing) for weighing in alike), len(alike))


def _covered(weighings: Sequence[Json], kinds: Sequence[str]) -> Proportion:
    weighted = [weighing for weighing in weighings if weighing["kind"] in kinds]
    return Proportion(sum(_covers(weighing) for weighing in weighted), len(weighted))


def _left(share: Proportion, planned: int) -> str:
    if share.trials >= planned:
        return "all are done"
    return f"not yet measured: {planned - share.trials} of {planned}"


def _interval(share: Proportion) -> str:
    if not share.trials:
        return ""
    return f"{share} %; "


def _doubts(line: Json, kind: ThreatKind) -> bool:
    return kind.value in {threat["name"] for threat in line["threats"]}


def _tells_apart(line: Json) -> bool:
    return line["verdict"] in ("slower", "faster") or bool(line["nonzero"])


def _covers(line: Json) -> bool:
    low, high = line["low_percent"], line["high_percent"]
    above = low is None or low <= line["truth_percent"]
    return above and (high is None or line["truth_percent"] <= high)


def _row(kind: str, weighings: Sequence[Json]) -> list[str]:
    planned = KINDS.get(kind, len(weighings))
    count = f"{len(weighings)} of {planned}"
    with_truth = [weighing for weighing in weighings if weighing.get("truth_percent") is not None]
    if not with_truth:
        return [kind, count, *["–" if weighings else "not yet measured"] * 6]
    return [
        kind,
        count,
        f"{statistics.fmean(weighing['truth_percent'] for weighing in with_truth):.2f}",
        _bias(with_truth),
        f"{sum(_covers(weighing) for weighing in with_truth)} of {len(with_truth)}",
        percent(
            Proportion(
                sum(weighing["verdict"] == "slower" for weighing in with_truth), len(with_truth)
            )
        )
        + " %",
        _causes(with_truth),
        f"{statistics.median(weighing['command_seconds'] for weighing in with_truth):.0f}",
    ]
