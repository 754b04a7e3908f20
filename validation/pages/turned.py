"""The simulated weighings in turns: false alarms, coverage, and broken balances that are caught."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from validation.cases.turned import (
    BROKEN_WEIGHINGS_A_PART,
    EPOCHS,
    PARTS,
    WEIGHINGS_A_PART,
    TurnTally,
    cases,
)
from validation.pages.shares import BOUND
from validation.pages.table import at_most, paragraph, percent, table
from validation.proportion import Proportion
from validation.results import Results
from validation.worlds.turns import CYCLE_S, PAUSE_S, SECONDS, TURN_WORLDS, TurnWorld

_WORDS = """
    A turn is {seconds} s in seconds of their own, two checkpoint cycles of {cycle:g} s; an epoch is
    a turn of either arm in drawn order, with {pause} s between two turns, in which the machine goes
    on. {weighings:,} weighings a cell ({broken:,} of broken balances), seeds from the keys
    `turns/WORLD/N/PART`. From transactions of single seconds the product's own code reads the log
    ratio, the curve by time since a checkpoint, the effects at a distance, and every threat that
    turns, plan and epochs show (`validation/cases/turned.py`). Code version {code}.{missing}
"""
_SOUND_WORDS = """
    False alarms at their worst: the first verdict asked for, a margin of .01 %. The truth of a
    world with bursts is what its formula gives. A curve, or the effects at distances, miss if the
    truth lies outside one of their joint intervals; where cycles are unlike and servers tire, a
    curve takes some of that for time since a checkpoint (BIAS.md).
"""
_THREAT_WORDS = """
    Threats in sound worlds, over all N, though nothing is wrong there. The tests of slots, start
    order and *ageing* have a level of 1 %; *unequal debt* needs 2 % of a turn's log besides.
"""
_BROKEN_WORDS = """
    Each balance is broken as its world says. The threat is the one that names the break; a false
    verdict is “slower” or “faster” of arms whose treatments are equal, as above, and it is not
    caught if the weighing is neither invalid nor has that threat. A device that is busy before the
    first turn, whichever arm has it, is tied to no arm: it costs precision. The resident share, the
    busy device and the plan are given to the threats here, not measured: these rows test the rules.
"""


@dataclass
class _Cells:
    tallies: dict[tuple[str, int], TurnTally] = field(default_factory=dict)
    threats: dict[str, Counter[str]] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    parts: int = 0

    def tally(self, world: TurnWorld, epochs: int) -> TurnTally:
        """Empty where it was not simulated yet."""
        return self.tallies.get((world.name, epochs), TurnTally())

    def weighings(self, world: TurnWorld) -> int:
        """Over all numbers of epochs."""
        return sum(self.tally(world, epochs).weighings for epochs in EPOCHS)


def _read(results: Results) -> _Cells:
    cells = _Cells()
    for line in results:
        cell = (line["world"], line["epochs"])
        cells.tallies[cell] = cells.tallies.get(cell, TurnTally()) + TurnTally(**line["tally"])
        cells.threats.setdefault(line["world"], Counter()).update(line["threats"])
        cells.codes.add(line["code"])
        cells.parts += 1
    return cells


def section(results: Results) -> str:
    """The section on turns."""
    cells = _read(results)
    head = "## Simulated turns"
    if not cells.parts:
        return f"{head}\n\nNot yet simulated."
    expected = sum(1 for _ in cases())
    missing = (
        "" if cells.parts == expected else f" **Done so far: {cells.parts} of {expected} parts.**"
    )
    text = _WORDS.format(
        seconds=SECONDS,
        cycle=CYCLE_S,
        pause=PAUSE_S,
        weighings=PARTS * WEIGHINGS_A_PART,
        broken=PARTS * BROKEN_WEIGHINGS_A_PART,
        code=", ".join(sorted(cells.codes)),
        missing=missing,
    )
    sound = [world for world in TURN_WORLDS if world.must_raise is None]
    broken = [world for world in TURN_WORLDS if world.must_raise is not None]
    return "\n\n".join([
        head,
        paragraph(text).strip(),
        table(["world", "what happens"], [[world.name, world.formula] for world in TURN_WORLDS]),
        "### Sound turns",
        paragraph(_SOUND_WORDS).strip(),
        _sound(cells, sound),
        paragraph(_THREAT_WORDS).strip(),
        _threats(cells, sound),
        "### Balances of turns that are broken on purpose",
        paragraph(_BROKEN_WORDS).strip(),
        _broken(cells, broken),
    ])  # fmt: skip


def _sound(cells: _Cells, worlds: Iterable[TurnWorld]) -> str:
    rows = []
    for world in worlds:
        for epochs in EPOCHS:
            tally = cells.tally(world, epochs)
            rows.append([
                world.name,
                str(epochs),
                _spread(tally),
                at_most(Proportion(tally.alarms, tally.weighings), BOUND),
                at_most(Proportion(tally.missed, tally.weighings), BOUND),
                at_most(Proportion(tally.curve_missed, tally.curves), BOUND),
                at_most(Proportion(tally.distance_missed, tally.distances), BOUND),
                percent(Proportion(tally.seen, tally.weighings)),
            ])  # fmt: skip
    head = [
        "world", "N", "sd of d, %", "false alarms, %", "truth missed, %",
        "curve misses, %", "distances miss, %", "−5 % seen",
    ]  # fmt: skip
    return table(head, rows)


def _spread(tally: TurnTally) -> str:
    return f"{100 * tally.spread / tally.weighings:.1f}" if tally.weighings else "–"


def _share(count: int, weighings: int) -> str:
    return str(Proportion(count, weighings)) if weighings else "–"


def _threats(cells: _Cells, worlds: list[TurnWorld]) -> str:
    names = sorted({name for world in worlds for name in cells.threats.get(world.name, ())})
    rows = [
        [name]
        + [
            _share(cells.threats.get(world.name, Counter())[name], cells.weighings(world))
            for world in worlds
        ]
        for name in names
    ]
    return table(["% of weighings that raise it", *(world.name for world in worlds)], rows)


def _broken(cells: _Cells, worlds: Iterable[TurnWorld]) -> str:
    rows = []
    for world in worlds:
        for epochs in EPOCHS:
            tally = cells.tally(world, epochs)
            rows.append([
                world.name,
                str(epochs),
                _spread(tally),
                world.must_raise.value if world.must_raise else "",
                _share(tally.caught, tally.weighings),
                percent(Proportion(tally.invalid, tally.weighings)),
                percent(Proportion(tally.alarms, tally.weighings)),
                at_most(Proportion(tally.uncaught, tally.weighings), BOUND),
            ])  # fmt: skip
    head = [
        "world", "N", "sd of d, %", "threat", "raised, %", "invalid, %",
        "false verdicts, %", "of all: false and not caught, %",
    ]  # fmt: skip
    return table(head, rows)
