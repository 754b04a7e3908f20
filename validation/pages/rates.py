"""The simulated searches of the highest rate within a limit: false alarms and coverage."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from validation.cases.rates import EPOCHS, PARTS, WEIGHINGS_A_PART, SearchTally, cases
from validation.pages.shares import BOUND
from validation.pages.table import at_most, paragraph, percent, signed, table
from validation.proportion import Proportion
from validation.results import Results
from validation.worlds.queues import LIMIT_S, QUEUE_WORLDS, SERVERS, VISIT_S, VISITS, QueueWorld

_WORDS = """
    Metric: rate at p99 ≤ {limit:g} ms. A visit is {visit:g} s of Poisson arrivals on {servers}
    servers that are idle when it begins, first come, first served; an epoch is {visits} visits of
    either arm in blocks of drawn order, each at the rate that the product's own staircase chose;
    {epochs} epochs, {weighings:,} weighings a world, seeds from the keys `capacity/WORLD/N/PART`
    (`validation/cases/rates.py`). Arms that differ serve at another speed, so the truth is no
    formula: it is where half of the visits keep the limit, by long searches with steps of half a
    percent on a machine that does not move. False alarms at their worst: the first verdict asked
    for, a margin of .01 %. Code version {code}.{missing}
"""


@dataclass
class _Cells:
    tallies: dict[str, SearchTally] = field(default_factory=dict)
    truths: dict[str, float] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    parts: int = 0


def _read(results: Results) -> _Cells:
    cells = _Cells()
    for item in results:
        name = item["world"]
        cells.tallies[name] = cells.tallies.get(name, SearchTally()) + SearchTally(**item["tally"])
        cells.truths[name] = item["truth"]
        cells.codes.add(item["code"])
        cells.parts += 1
    return cells


def section(results: Results) -> str:
    """The section on searches of a rate."""
    cells = _read(results)
    head = "## Simulated searches of a rate"
    if not cells.parts:
        return f"{head}\n\nNot yet simulated."
    expected = sum(1 for _ in cases())
    missing = (
        "" if cells.parts == expected else f" **Done so far: {cells.parts} of {expected} parts.**"
    )
    text = _WORDS.format(
        limit=1000 * LIMIT_S,
        visit=VISIT_S,
        servers=SERVERS,
        visits=VISITS,
        epochs=EPOCHS,
        weighings=PARTS * WEIGHINGS_A_PART,
        code=", ".join(sorted(cells.codes)),
        missing=missing,
    )
    worlds = [world for world in QUEUE_WORLDS if world.name in cells.tallies]
    return "\n\n".join([
        head,
        paragraph(text).strip(),
        table(["world", "what happens"], [[world.name, world.formula] for world in worlds]),
        "### Equal arms",
        _equal(cells, [world for world in worlds if world.alike]),
        "### Arms that differ",
        _unequal(cells, [world for world in worlds if not world.alike]),
    ])  # fmt: skip


def _equal(cells: _Cells, worlds: Iterable[QueueWorld]) -> str:
    rows = []
    for world in worlds:
        item = cells.tallies[world.name]
        rows.append([
            world.name, *_scatter(item),
            at_most(Proportion(item.alarms, item.weighings), BOUND),
            at_most(Proportion(item.missed, item.weighings), BOUND),
        ])  # fmt: skip
    return table([*_HEAD, "false alarms, %", "truth missed, %"], rows)


def _unequal(cells: _Cells, worlds: Iterable[QueueWorld]) -> str:
    rows = []
    for world in worlds:
        item, truth = cells.tallies[world.name], cells.truths[world.name]
        rows.append([
            world.name, *_scatter(item),
            signed(100 * truth, 2),
            signed(100 * item.error / item.weighings, 2),
            at_most(Proportion(item.missed, item.weighings), BOUND),
            percent(Proportion(item.alarms, item.weighings)),
            at_most(Proportion(item.wrong, item.weighings), BOUND),
        ])  # fmt: skip
    head = [
        *_HEAD, "truth, log %", "mean error, log %", "truth missed, %", "told apart, %",
        "in the wrong direction, %",
    ]  # fmt: skip
    return table(head, rows)


_HEAD = ["world", "sd of d, %", "epochs without a reading, %"]


def _scatter(item: SearchTally) -> list[str]:
    without = 100 * item.without / (item.weighings * EPOCHS)
    return [f"{100 * item.spread / item.weighings:.1f}", f"{without:.2f}"]
