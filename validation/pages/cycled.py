"""The simulated weighings in cycles, beside turns on the same machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from validation.cases.cycled import (
    BROKEN_WEIGHINGS_A_PART,
    EPOCHS,
    PARTS,
    WEIGHINGS_A_PART,
    WITH_CURVES,
    CycleTally,
    cases,
)
from validation.pages.shares import BOUND
from validation.pages.table import at_most, paragraph, percent, signed, table
from validation.proportion import Proportion
from validation.results import Results
from validation.worlds.cycle_atlas import CYCLE_WORLDS
from validation.worlds.cycles import CYCLE_S, CYCLES, SLICE_S, CycleWorld

_WORDS = """
    Both arms run, and slices of {slice:g} s alternate in drawn order; either arm is measured over
    {cycles} checkpoint cycles of {cycle:g} s of its own time. Beside it stands a weighing in turns
    of as many epochs on a machine that behaves the same: either arm alone for as long, 21 s of
    restart and a warm-up of {cycle:g} s before it. {weighings:,} weighings a cell ({broken:,} of
    broken balances), seeds from the keys `cycles/WORLD/N/PART`. Windows, curves and threats are the
    product's own (`validation/cases/cycled.py`). Code version {code}.{missing}
"""
_SOUND_WORDS = """
    False alarms at their worst, as above. In each pair of columns the first is cycles, the second
    turns. The truth of a world with bursts is what its formula gives.
"""
_CURVE_WORDS = """
    The curve by time since a checkpoint and the effects at distances, in cycles, of one weighing in
    {curves}: they miss if the truth lies outside one of their joint intervals. *Half width*: of a
    curve's intervals, on average over its bins; *plain*: without taking the machine's level out of
    the slices (METHODOLOGY.md, 2c), as turns have it. *Unlike cycles* are of other ages in either
    arm.
"""
_STATED_WORDS = """
    What cycles cannot part is stated, not bounded: a timer of one arm that fires once more at each
    thaw is charged to it, and what the kernel writes back in the other arm's slices to the other.
    *Off*: mean of the reading less the truth, in points.
"""
_THREAT_WORDS = """
    Threats in sound worlds, over all N, though nothing is wrong there.
"""
_BROKEN_WORDS = """
    Each balance is broken as its world says; what is false, caught and not caught is as for turns.
    Write-back that leaks is a doubt: the verdict stays, with turns as its advice.
"""


@dataclass
class _Cells:
    cycles: dict[tuple[str, int], CycleTally] = field(default_factory=dict)
    turns: dict[tuple[str, int], CycleTally] = field(default_factory=dict)
    threats: dict[str, Counter[str]] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    parts: int = 0

    def of(self, world: CycleWorld, epochs: int) -> tuple[CycleTally, CycleTally]:
        """In cycles, and in turns; empty where it was not simulated yet."""
        cell = (world.name, epochs)
        return self.cycles.get(cell, CycleTally()), self.turns.get(cell, CycleTally())

    def weighings(self, world: CycleWorld) -> int:
        """Over all numbers of epochs."""
        return sum(self.of(world, epochs)[0].weighings for epochs in EPOCHS)


def _read(results: Results) -> _Cells:
    cells = _Cells()
    for line in results:
        cell = (line["world"], line["epochs"])
        for name, tallies in (("cycles", cells.cycles), ("turns", cells.turns)):
            tallies[cell] = tallies.get(cell, CycleTally()) + CycleTally(**line[name])
        cells.threats.setdefault(line["world"], Counter()).update(line["threats"])
        cells.codes.add(line["code"])
        cells.parts += 1
    return cells


def section(results: Results) -> str:
    """The section on cycles."""
    cells, head = _read(results), "## Simulated cycles"
    if not cells.parts:
        return f"{head}\n\nNot yet simulated."
    expected = sum(1 for _ in cases())
    missing = (
        "" if cells.parts == expected else f" **Done so far: {cells.parts} of {expected} parts.**"
    )
    text = _WORDS.format(
        slice=SLICE_S,
        cycles=CYCLES,
        cycle=CYCLE_S,
        weighings=PARTS * WEIGHINGS_A_PART,
        broken=PARTS * BROKEN_WEIGHINGS_A_PART,
        code=", ".join(sorted(cells.codes)),
        missing=missing,
    )
    sound = [world for world in CYCLE_WORLDS if world.must_raise is None and not world.stated]
    broken = [world for world in CYCLE_WORLDS if world.must_raise is not None]
    return "\n\n".join([
        head,
        paragraph(text).strip(),
        table(["world", "what happens"], [[world.name, world.formula] for world in CYCLE_WORLDS]),
        "### Sound cycles, and turns beside them",
        paragraph(_SOUND_WORDS).strip(),
        _sound(cells, sound),
        paragraph(_CURVE_WORDS.format(curves=WITH_CURVES)).strip(),
        _curves(cells, sound),
        paragraph(_STATED_WORDS).strip(),
        _stated(cells, [world for world in CYCLE_WORLDS if world.stated or world.leaks]),
        paragraph(_THREAT_WORDS).strip(),
        _threats(cells, sound),
        "### Balances of cycles that are broken on purpose",
        paragraph(_BROKEN_WORDS).strip(),
        _broken(cells, broken),
    ])  # fmt: skip


def _sound(cells: _Cells, worlds: Iterable[CycleWorld]) -> str:
    rows = []
    for world in worlds:
        for epochs in EPOCHS:
            both = cells.of(world, epochs)
            rows.append([
                world.name,
                str(epochs),
                *(_mean(tally.spread, tally.weighings) for tally in both),
                *(at_most(Proportion(tally.alarms, tally.weighings), BOUND) for tally in both),
                *(at_most(Proportion(tally.missed, tally.weighings), BOUND) for tally in both),
                *(percent(Proportion(tally.seen, tally.weighings)) for tally in both),
            ])  # fmt: skip
    head = [
        "world", "N", "sd of d, %", "in turns", "false alarms, %", "in turns",
        "truth missed, %", "in turns", "−3 % seen", "in turns",
    ]  # fmt: skip
    return table(head, rows)


def _curves(cells: _Cells, worlds: Iterable[CycleWorld]) -> str:
    rows = []
    for world in worlds:
        for epochs in EPOCHS:
            tally, _ = cells.of(world, epochs)
            rows.append([
                world.name,
                str(epochs),
                at_most(Proportion(tally.curve_missed, tally.curves), BOUND),
                at_most(Proportion(tally.distance_missed, tally.distances), BOUND),
                _mean(tally.curve_width, tally.curves),
                _mean(tally.plain_width, tally.curves),
            ])  # fmt: skip
    return table(
        ["world", "N", "curve misses, %", "distances miss, %", "half width, %", "plain, %"], rows
    )


def _stated(cells: _Cells, worlds: Iterable[CycleWorld]) -> str:
    rows = []
    for world in worlds:
        for epochs in EPOCHS:
            both = cells.of(world, epochs)
            rows.append([
                world.name,
                str(epochs),
                *(_signed(tally.error, tally.weighings) for tally in both),
                *(percent(Proportion(tally.missed, tally.weighings)) for tally in both),
            ])  # fmt: skip
    return table(["world", "N", "off", "off, in turns", "truth missed, %", "in turns"], rows)


def _mean(total: float, count: int) -> str:
    return f"{100 * total / count:.1f}" if count else "–"


def _signed(total: float, count: int) -> str:
    return signed(100 * total / count, 2) if count else "–"


def _share(count: int, weighings: int) -> str:
    return str(Proportion(count, weighings)) if weighings else "–"


def _threats(cells: _Cells, worlds: list[CycleWorld]) -> str:
    every = sum(cells.weighings(world) for world in worlds)
    names = sorted({name for world in worlds for name in cells.threats.get(world.name, ())})
    counts = {name: [cells.threats.get(world.name, Counter())[name] for world in worlds]
              for name in names}  # fmt: skip
    rows = []
    for name, by_world in counts.items():
        worst = max(range(len(worlds)), key=by_world.__getitem__)
        most = _share(by_world[worst], cells.weighings(worlds[worst]))
        rows.append([name, _share(sum(by_world), every), f"{most} ({worlds[worst].name})"])
    return table(["threat", "% of weighings that raise it", "most, in a world"], rows)


def _broken(cells: _Cells, worlds: Iterable[CycleWorld]) -> str:
    rows = []
    for world in worlds:
        for epochs in EPOCHS:
            tally, _ = cells.of(world, epochs)
            rows.append([
                world.name,
                str(epochs),
                _mean(tally.spread, tally.weighings),
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
