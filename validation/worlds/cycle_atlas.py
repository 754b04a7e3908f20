"""Lists the worlds of cycles: sound ones, what cycles cannot see, and balances that are broken."""

from __future__ import annotations

from steelyard.model.threat import ThreatKind
from validation.worlds.cycles import CYCLE_S, CycleWorld

_BURSTS = (0.1, 0.4)
CYCLE_WORLDS: tuple[CycleWorld, ...] = (
    CycleWorld("epochs alike", "every life has luck of sd 1.4 %, every slice 8 % of its own"),
    CycleWorld(
        "drift over minutes",
        "the machine wanders, AR(1) of sd 10 % with a correlation of 3 minutes; in one minute of "
        "ten it loses a quarter for a minute",
        wander=0.1,
        falls=0.1,
    ),
    CycleWorld(
        "gusts",
        "the machine wanders, AR(1) of sd 15 % with a correlation of 5 seconds",
        gusts=0.15,
    ),
    CycleWorld(
        "bursts that differ",
        "after a checkpoint began the control loses 10 % and the arm 40 %, fading with "
        "exp(−t ÷ 4 s); truth over a cycle −4.1 %, over its first 5 s −18 %; drift as above",
        depths=_BURSTS,
        wander=0.1,
        falls=0.1,
    ),
    CycleWorld(
        "bursts apart, in gusts",
        "the same bursts, the arm's three seconds later, in drift and in gusts",
        depths=_BURSTS,
        late_s=3.0,
        gusts=0.15,
        wander=0.1,
        falls=0.1,
    ),
    CycleWorld(
        "unlike cycles",
        "checkpoints of the arm are 15 s apart by its own settings, of the control 30 s, bursts of "
        "30 % in both; drift; every server loses 2 % a minute under load",
        depths=(0.3, 0.3),
        cycles_s=(CYCLE_S, CYCLE_S / 2),
        tires=0.02,
        wander=0.1,
        falls=0.1,
    ),
    CycleWorld(
        "write-back, alike",
        "the kernel's writes take 10 % of either arm's time, half of it in anybody's slice; drift",
        writes=(0.1, 0.1),
        leaks=0.5,
        queue=3.0,
        wander=0.1,
        falls=0.1,
    ),
    CycleWorld(
        "timers at a thaw",
        "timers take 5 ms of every slice of either arm; drift",
        thaws=(0.005, 0.005),
        wander=0.1,
        falls=0.1,
    ),
    CycleWorld(
        "timers at a thaw, unlike",
        "timers take 5 ms of every slice of the arm, nothing of the control's; drift",
        thaws=(0.0, 0.005),
        stated=True,
        wander=0.1,
        falls=0.1,
    ),
    CycleWorld(
        "write-back that leaks",
        "it takes 20 % of the arm's time and 10 % of the control's, half of it in anybody's slice: "
        "truth −11.1 %, of which cycles see half; drift",
        writes=(0.1, 0.2),
        leaks=0.5,
        queue=3.0,
        must_raise=ThreatKind.WRITE_BACK_SHARED,
        wander=0.1,
        falls=0.1,
    ),
    CycleWorld(
        "ageing",
        "the arm goes from +4 % to −4 % over the epochs, 0 on average",
        ages=-0.08,
        must_raise=ThreatKind.AGEING,
    ),
    CycleWorld(
        "one process not held still",
        "a process of the arm works on in the control's slices, worth 2.5 %",
        tied=0.025,
        moved_ns=1_000_000,
        must_raise=ThreatKind.NOT_HELD_STILL,
    ),
    CycleWorld(
        "clones tied, as planned",
        "the arm's own directory gives it 2.5 %; the plan says that it is carried",
        tied=0.025,
        carried=True,
        must_raise=ThreatKind.DIRECTORY_TIED,
    ),
    CycleWorld(
        "clones tied, unplanned",
        "the same, and the plan says that directories are drawn; they never were",
        tied=0.025,
        fixed=True,
        must_raise=ThreatKind.DIRECTORY_TIED,
    ),
    CycleWorld(
        "a timeout not scaled",
        "the arm's checkpoint_timeout is not multiplied: 15 s between its checkpoints instead of "
        "30 s, bursts of 30 % in both",
        depths=(0.3, 0.3),
        cycles_s=(CYCLE_S, CYCLE_S / 2),
        planned_s=(CYCLE_S, CYCLE_S),
        must_raise=ThreatKind.CLOCK_AHEAD,
    ),
    CycleWorld(
        "cycles cut in the middle",
        "windows are the 50 s from the 30th on, whatever the checkpoints; the arm's begin five "
        "seconds earlier, bursts of 30 % in both",
        depths=(0.3, 0.3),
        late_s=-5.0,
        cut=True,
        must_raise=ThreatKind.CYCLES_CUT,
    ),
)
"""Sound ones, one that cycles cannot see, then those that are broken on purpose."""


def cycle_world(name: str) -> CycleWorld:
    """The world of a name; KeyError where there is none."""
    return {world.name: world for world in CYCLE_WORLDS}[name]
