"""The simulated weighings: what was simulated, and how often the verdicts were wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from validation.cases import alarms
from validation.cases.simulation import (
    EPOCHS,
    FEW,
    HORIZON,
    NO_MARGIN,
    OPEN_EPOCHS,
    OPEN_PARTS,
    QUESTIONS,
    WEIGHINGS_A_PART,
    Tally,
    cases,
)
from validation.cases.virtual import Question
from validation.pages.shares import (
    AT_MARGIN,
    BOUND,
    ZERO,
    Simulated,
    detected,
    equivalent,
    false_alarms,
    missed,
    worst,
)
from validation.pages.table import at_most, paragraph, percent, table
from validation.worlds.atlas import WORLDS
from validation.worlds.bench import BLOCKS, CLIENTS, LATENCY_NS, SLICE_NS


def worlds_table() -> str:
    """The worlds and their formulas."""
    rows = [
        [world.name, world.formula, "nearly" if world.nearly else "" if world.symmetric else "no"]
        for world in WORLDS
    ]
    return table(["world", "how the log ratio d of an epoch comes about", "symmetric"], rows)


Share = Callable[[str, int], str]


def _by_world(head: str, share: Share) -> str:
    rows = [[world.name, *(share(world.name, epochs) for epochs in EPOCHS)] for world in WORLDS]
    return table([head, *(f"N = {epochs}" for epochs in EPOCHS)], rows)


def section(every: Simulated) -> str:
    """The section on simulated weighings."""
    expected = sum(1 for _ in chain(cases(), alarms.cases()))
    missing = (
        "" if every.parts == expected else f" **Done so far: {every.parts} of {expected} parts.**"
    )

    def alarmed(world: str, epochs: int) -> str:
        return at_most(false_alarms(every.tally(world, epochs, "first verdict", NO_MARGIN)), BOUND)

    def misses(world: str, epochs: int) -> str:
        shares = (
            missed(every.tally(world, epochs, rule, question))
            for rule in ("plan", "first verdict")
            for question in QUESTIONS
        )
        return at_most(worst(shares), BOUND)

    def wrongly(world: str, epochs: int) -> str:
        shares = (
            equivalent(every.tally(world, epochs, rule, question))
            for rule in ("plan", "first verdict")
            for question in AT_MARGIN
        )
        return at_most(worst(shares), BOUND)

    def stopped(world: str, epochs: int) -> str:
        shares = (missed(every.tally(world, epochs, "interrupted", question)) for question in FEW)
        return at_most(worst(shares), BOUND)

    return "\n\n".join([
        "## Simulated weighings",
        _words(every.codes, missing),
        worlds_table(),
        "### False “slower” and “faster”, equal arms",
        paragraph(_ALARM_WORDS),
        _by_world("% of weighings [95 % interval]", alarmed),
        "### The truth outside the printed set when the weighing ended",
        paragraph(_MISSED_WORDS),
        _by_world("% of weighings [95 % interval]", misses),
        "### “Equivalent” said of arms that differ by the margin",
        paragraph(_EQUIVALENT_WORDS),
        _by_world("% of weighings [95 % interval]", wrongly),
        "### Interrupted at a random epoch",
        paragraph(_INTERRUPTED_WORDS),
        _by_world("truth missed, % [95 % interval]", stopped),
        "### Power, and epochs used",
        paragraph(_POWER_WORDS),
        _power(every),
        _power_of_worlds(every),
        "### Open-ended weighings",
        paragraph(_open_words()),
        _open(every),
    ])  # fmt: skip


def _words(codes: Sequence[str], missing: str) -> str:
    return paragraph(f"""
        Each cell is 2,000 weighings, each drawn afresh with slots from the product's own plan and
        judged by the product's own sets, looks and rule (`validation/cases/virtual.py`). An
        effect is added to every d; the sets move with it, so one draw serves all effects and both
        margins. What a world itself does to the mean of d (stalls, errors, start-up losses) is
        made up for, so that equal arms have the truth 0.{missing}

        σ = 1 %, ε are independent N(0, 1), s = ±1 by the slot of the arm (exactly half of the
        epochs each way, in uniformly random order), e counts epochs. Worlds “in slices” are laid
        out below the epoch: {BLOCKS} blocks of two slices of {SLICE_NS // 1_000_000} ms in random
        order, {CLIENTS} clients, transactions of l = {LATENCY_NS // 1000} µs; the slices' totals
        are read by the product's own reading. Worlds that are not symmetric break the method's
        assumption; their error is stated, not bounded.

        Seeds: a part of 500 weighings has the key `simulation/WORLD/N/looks/PART` (or `open`), and
        its seed is the first 8 bytes of the SHA-256 of the key, given to numpy's PCG64. Code
        version {", ".join(code or "–" for code in codes) or "–"} (hashes of the code that judges
        and that makes the worlds, without comments: of what follows, and of the first table).
    """).strip()


_ALARM_WORDS = """
    At their worst: the first verdict asked for, and a margin of .01 %, so that no weighing ends as
    “equivalent” before it could err. Draws of their own: `alarms/WORLD/N/PART`, 1,000 a part.
"""
_MISSED_WORDS = """
    The worst of ten effects and margins (0, ±½ … 5 %) and of both rules (to the end of the plan,
    first verdict): the coverage at the stopping time is 100 % less this.
"""
_EQUIVALENT_WORDS = """
    The worst of true effects of ±1 % at a margin of 1 % and ±2 % at 2 %, and of both rules.
"""
_INTERRUPTED_WORDS = """
    Somebody presses Ctrl-C after 8 … N epochs, whatever they show: judged by what there is, at .04,
    unless the first look had ended it. Worst of the effects 0, −1 and −3 %.
"""
_POWER_WORDS = """
    Share of weighings that say “slower”, by the plan (an early end needs a set no wider than ±1 %),
    and the mean number of epochs used. First the white world, where an effect of 1 % is 1 σ; the
    column of 0 is the share that says “equivalent”, margin 1 %.
"""
_EFFECTS = (-0.005, -0.01, -0.02, -0.03, -0.05)


def _power(every: Simulated) -> str:
    rows = []
    for epochs in EPOCHS:
        none = every.tally("white", epochs, "plan", ZERO)
        row = [f"N = {epochs}", f"{percent(equivalent(none))} ({_mean_epochs(none)})"]
        for effect in _EFFECTS:
            tally = every.tally("white", epochs, "plan", Question(effect))
            row.append(f"{percent(detected(tally))} ({_mean_epochs(tally)})")
        rows.append(row)
    return table(["white: % (epochs)", "0", *(f"{100 * e:g} %" for e in _EFFECTS)], rows)


def _power_of_worlds(every: Simulated) -> str:
    rows = []
    for world in WORLDS:
        cells = []
        for epochs in (12, 30):
            for effect in (-0.01, -0.03):
                tally = every.tally(world.name, epochs, "plan", Question(effect))
                cells.append(f"{percent(detected(tally))} ({_mean_epochs(tally)})")
        rows.append([world.name, *cells])
    head = [f"{100 * e:g} %, N = {n}" for n in (12, 30) for e in (-0.01, -0.03)]
    return table(["% (epochs)", *head], rows)


def _mean_epochs(tally: Tally) -> str:
    return f"{tally.epochs / tally.weighings:.1f}" if tally.weighings else "–"


def _open_words() -> str:
    [planned] = OPEN_EPOCHS
    return f"""
        Planned for {planned} epochs, judged after every epoch by the e-process at .01, from the
        {planned}th on by sign changes of the first {planned} at .04 too, and given up after
        {HORIZON * planned}; {OPEN_PARTS * WEIGHINGS_A_PART:,} weighings a cell. The first verdict
        asked for, except in the last two columns: there the weighing goes on until its set is no
        wider than ±1 %. False alarms with a margin of .01 %, so that none ends as “equivalent”
        before it could err.
    """


def _open(every: Simulated) -> str:
    [planned] = OPEN_EPOCHS
    rows = []
    for world in WORLDS:

        def tally(rule: str, effect: float, name: str = world.name) -> Tally:
            return every.tally(name, planned, rule, Question(effect))

        quick, whole = "open, first verdict", "open"
        misses = (
            missed(tally(rule, effect)) for rule in (quick, whole) for effect in (0.0, -0.01, -0.03)
        )
        rows.append([
            world.name,
            at_most(false_alarms(every.tally(world.name, planned, quick, NO_MARGIN)), BOUND),
            at_most(worst(misses), BOUND),
            at_most(equivalent(tally(quick, -0.01)), BOUND),
            *(_detected_text(tally(quick, effect)) for effect in (-0.01, -0.03)),
            *(_detected_text(tally(whole, effect)) for effect in (-0.01, -0.03)),
        ])  # fmt: skip
    return table(
        [
            "world",
            "false alarms, %",
            "truth missed, worst of 6, %",
            "“equivalent” at −1 %, %",
            "−1 % seen (epochs)",
            "−3 % seen (epochs)",
            "−1 %, narrow set",
            "−3 %, narrow set",
        ],
        rows,
    )


def _detected_text(tally: Tally) -> str:
    return f"{percent(detected(tally))} ({_mean_epochs(tally)})"
