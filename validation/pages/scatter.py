"""Where the scatter of an epoch comes from, and what may reduce it: docs/results/scatter.md."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from steelyard.evaluation.rule import VerdictKind
from steelyard.reproductions.reproduction import machines_words
from validation.cases.virtual import Question, VirtualWeighing, planned
from validation.pages.folded import WHOLE
from validation.pages.table import paragraph, table
from validation.proportion import Proportion

Json = Mapping[str, Any]
Epochs = Sequence[Mapping[str, float]]
Columns = Mapping[str, np.ndarray]
"""Epochs as a column of each of their readings, of shape (epochs,)."""
Readings = Epochs | Columns
DRAWS = 2000
SEED = 40
PLAIN = ("as it is", "the same again")
"""The conditions that the others are read against."""
SOUGHT = 0.005
"""The effect that five minutes should see four times in five."""

_HEAD = """
    An epoch is a restart of every arm, and its log ratio d is what the decision is made of: the
    smaller the scatter of d, the shorter a weighing. Where does it come from? Equal arms
    (`steelyard weigh aa`) were weighed for 40 epochs under each of the conditions below, and every
    epoch was read whole and in its nested parts. This page is written by `python -m
    validation.scatter` from `validation/results/scatter.jsonl`: nothing on it was typed.
"""
_PARTS = """
    All columns are standard deviations of d in percent, with 95 % intervals (chi-square for the
    first, 2,000 resamples of the epochs for the others). *Slices*: what is left of the noise of
    single slices in an epoch, from blocks in odd against those in even places, which lie a slice
    apart. *Within*: the same with the wander of the machine and of the arms over seconds, from the
    first half of an epoch against the second. *Restart*: what is left, √(whole² − within²): what an
    epoch has from its start to its end, be it memory layout, the place of the data, or the
    processors' caches. A part of 0 is below what 40 epochs tell.
"""
_PLACES = """
    *Slot*: the share of the variance of d that goes with the slot in which the arm stood, and with
    which arm was started first; 40 epochs of nothing give 2.6 % on average, and above 9.7 % once in
    twenty. *Machine*: sd of the throughput of both arms together from epoch to epoch, which d does
    not have, since both arms are measured within each 100 ms or so of it.
"""
_POWER = f"""
    What five minutes of measuring see: the readings of each condition, less their mean, were drawn
    again 1,000 times, an effect of {SOUGHT:.1%} was put on them, and they were judged by the
    product's own looks and sets. *Seen*: the share that said "slower". *Visible*: the effect that a
    weighing of so many epochs sees with 80 %, for Gaussian readings of that scatter.
"""
_REDUCES = """
    The scatter of each condition as a share of that of "as it is" and "the same again" together
    (which weighed alike), with the 95 % interval of a ratio of variances: below 1, it scatters
    less.
"""
_TAKEN = """
    *Placement* matters most, and every weighing places its arms symmetrically where it can.
    *Addresses* are drawn at each start and stay so, though that costs scatter: a layout of memory
    that is kept through a weighing may favor one arm at each of its starts, which no number of
    epochs averages away. *Huge pages* have to be set aside on the host. *A client a processor* is
    another question, asked by `--set workload.clients=`: nobody waits for a processor there.
"""


@dataclass(frozen=True)
class Spread:
    """A standard deviation in percent, or a ratio of two, with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


def column(epochs: Readings, name: str) -> np.ndarray:
    """One reading of every epoch."""
    if isinstance(epochs, Mapping):
        return epochs[name]
    return np.array([epoch[name] for epoch in epochs])


def whole(epochs: Readings) -> float:
    """Standard deviation of d, log scale."""
    return float(np.std(column(epochs, "whole"), ddof=1))


def halved(epochs: Readings, name: str, other: str) -> float:
    """Standard deviation that d has from what differs between two halves of an epoch: that of half
    of their difference."""
    half = (column(epochs, name) - column(epochs, other)) / 2
    return float(np.sqrt(np.mean(half**2)))


def slices(epochs: Readings) -> float:
    """From single slices: blocks in odd against those in even places."""
    return halved(epochs, "odd", "even")


def within(epochs: Readings) -> float:
    """From all that changes within an epoch: its first half against its second."""
    return halved(epochs, "first", "second")


def restart(epochs: Readings) -> float:
    """From what stays through an epoch and changes with the next; 0 where nothing is left."""
    return math.sqrt(max(0.0, whole(epochs) ** 2 - within(epochs) ** 2))


def resampled(epochs: Epochs, part: Callable[[Readings], float]) -> Spread:
    """A part with the interval of 2,000 resamples of the epochs."""
    rng, columns = np.random.default_rng(SEED), {name: column(epochs, name) for name in epochs[0]}
    drawn = []
    for _ in range(DRAWS):
        places = rng.integers(len(epochs), size=len(epochs))
        drawn.append(part({name: readings[places] for name, readings in columns.items()}))
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Spread(100 * part(epochs), 100 * float(low), 100 * float(high))


def whole_spread(epochs: Epochs) -> Spread:
    """The scatter of d with the interval for Gaussian readings."""
    from scipy.stats import chi2

    free, sd = len(epochs) - 1, 100 * whole(epochs)
    low, high = (sd * math.sqrt(free / chi2.ppf(q, free)) for q in (0.975, 0.025))
    return Spread(sd, float(low), float(high))


def against(epochs: Epochs, plain: Sequence[Epochs]) -> Spread:
    """The scatter of d as a share of that of plain weighings together; a ratio, not percent."""
    from scipy.stats import f

    df, free = len(epochs) - 1, [len(weighing) - 1 for weighing in plain]
    squares = sum(n * whole(weighing) ** 2 for n, weighing in zip(free, plain, strict=True))
    ratio = whole(epochs) ** 2 / (squares / sum(free))
    low, high = (ratio / f.ppf(q, df, sum(free)) for q in (0.975, 0.025))
    return Spread(math.sqrt(ratio), math.sqrt(low), math.sqrt(high))


def share_by(epochs: Epochs, name: str) -> float:
    """Share of the variance of d that goes with a place: the squared correlation."""
    place = column(epochs, name)
    if not place.std():
        return 0.0
    return float(np.corrcoef(column(epochs, "whole"), place)[0, 1] ** 2)


def detected_share(epochs: Epochs) -> Proportion:
    """How often an effect of SOUGHT would be told, by readings drawn again."""
    rng, d = np.random.default_rng(SEED), column(epochs, "whole")
    number, detected = len(d), 0
    for _ in range(DRAWS // 2):
        first = tuple(rng.permutation([epoch % 2 == 0 for epoch in range(number)]).tolist())
        drawn = rng.choice(d - d.mean(), size=number) * rng.choice((-1, 1), size=number)
        weighing = VirtualWeighing(drawn, first, planned(number, float(d.std())))
        ending = weighing.ending(Question(-SOUGHT, margin=0.0001), first_verdict=False)
        detected += ending.kind is VerdictKind.SLOWER
    return Proportion(detected, DRAWS // 2)


def visible_percent(epochs: Epochs) -> float:
    """What as many epochs see with 80 %, in percent."""
    from scipy.stats import t

    number = len(epochs)
    need = t.ppf(0.975, number - 1) + t.ppf(0.8, number - 1)
    return float(100 * need * whole(epochs) / math.sqrt(number))


def page(results: Sequence[Json], expected: Sequence[str]) -> str:
    """The whole page. `results`: lines of results/scatter.jsonl; `expected`: all keys of them."""
    keys = {result["key"] for result in results}
    missing = [name for name in expected if name not in keys]
    parts = ["# Where an epoch's scatter comes from", paragraph(_HEAD).strip()]
    parts += [f"Not yet weighed: {', '.join(missing)}."] if missing else []
    if not results:
        return "\n\n".join(parts) + "\n"
    parts += ["## The parts", paragraph(_PARTS).strip(), _nested(results)]
    plain = [result["epochs"] for result in results if result["key"] in PLAIN]
    if plain:
        parts += ["## What reduces it", paragraph(_REDUCES).strip(), _reduced(results, plain)]
        parts += [paragraph(_TAKEN).strip()]
    parts += ["## Slot, order, machine", paragraph(_PLACES).strip(), _places(results)]
    parts += ["## What five minutes see", paragraph(_POWER).strip(), _power(results)]
    parts += ["## How to repeat this", *map(_command, results)]
    machines = machines_words(result["machine"] for result in results)
    return "\n\n".join([*parts, f"Measured on {machines}."]) + "\n"


def _nested(results: Sequence[Json]) -> str:
    rows = [
        [
            result["key"],
            str(len(result["epochs"])),
            f"{result['epoch_ns'] / 1e9:.1f} s",
            str(whole_spread(result["epochs"])),
            *(str(resampled(result["epochs"], part)) for part in (slices, within, restart)),
        ]
        for result in results
    ]
    head = ["condition", "epochs", "of", "whole", "slices", "within", "restart"]
    return WHOLE + table(head, rows)


def _reduced(results: Sequence[Json], plain: Sequence[Epochs]) -> str:
    rows = [
        [result["key"], str(against(result["epochs"], plain))]
        for result in results
        if result["key"] not in PLAIN
    ]
    return table(["condition", "scatter ÷ as it is"], rows)


def _places(results: Sequence[Json]) -> str:
    rows = [
        [
            result["key"],
            *(f"{share_by(result['epochs'], name):.1%}" for name in ("slot", "started_first")),
            f"{100 * float(np.std(column(result['epochs'], 'together'), ddof=1)):.2f} %",
            ", ".join(result["threats"]) or "none",
        ]
        for result in results
    ]
    return table(["condition", "slot", "started first", "machine", "doubts"], rows)


def _power(results: Sequence[Json]) -> str:
    rows = [
        [
            result["key"],
            f"{len(result['epochs']) * result['epoch_ns'] / 6e10:.1f} min",
            f"{result['estimate_percent']:+.2f} [{result['low_percent']:+.2f}, "
            f"{result['high_percent']:+.2f}] %",
            f"{detected_share(result['epochs'])} %",
            f"{visible_percent(result['epochs']):.2f} %",
        ]
        for result in results
    ]
    return table(
        ["condition", "measured", "equal arms read", f"{SOUGHT:.1%} seen", "visible"], rows
    )


def _command(line: Json) -> str:
    command = shlex.join([*line["before"], "steelyard", "weigh", *line["words"]])
    return f"{line['key'].capitalize()}: `{command}`"
