"""Lists the weighings of the live validation: what each weighs, its seed, and its truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

BUDGET = "30s"
ALIKE = 60
"""Weighings of two equal arms."""
DOUBLE_WORK_PERCENT = (1, 2, 3, 5)
DOUBLE_WORK = 20
"""Weighings of each share of doubled work."""
RARE = 10
"""Weighings with a rare stall."""
STALL_PROBABILITY = 3e-5
STALL_MS = 20
"""Long enough that the half millisecond by which a sleep lasts longer is no matter, short enough
for some twenty of them."""
STALL_CLIENTS = 1
"""Of several the others use what a stalled one leaves free: see METHODOLOGY.md, known weights."""
BACKGROUND_PERCENT = 5
BACKGROUND_SLICE_MS = 500
"""Long against the CHECKPOINT after it, which both arms pay alike and which scatters."""
ALIKE_AGAIN = 100
"""Equal arms once more, alone: the 60 read −0.12 ± 0.04 points, and a bias that was noticed in some
weighings is tested in others."""
ALIKE_AT_LENGTH = 12
LENGTH = "2m"
"""The budget that `make weigh` has."""
ALIKE_IN_TURNS = 12
DOUBLE_WORK_IN_TURNS = 10
ALIKE_ON_MYSQL = 20
DOUBLE_WORK_ON_MYSQL = 10
MYSQL_PERCENT = 5
MYSQL = (
    "engine=mysql",
    "control.version=mysql-5.7",
    "arm.version=mysql-5.7",
    'settings={innodb_buffer_pool_size="256M", max_connections=300}',
    "workload.scale=10",
)
"""Needs `steelyard engines add mysql-5.7`."""
ALIKE_WITH_WRITES = 20
WRITES = ("layout=slices", "workload.scripts={tpcb-like=1}", "workload.scale=10")
"""Commits wait for the log: what a wait for it is called must not differ between equal arms."""
ALIKE_IN_SESSIONS = 20
DOUBLE_WORK_IN_SESSIONS = 10
SESSIONS = ("workload=pgbench", "workload.scale=20", "workload.scripts={select-only=1}")
"""On a server that runs before and after, loaded with what these keys say."""
SESSIONS_PERCENT = 5
NODES = 3
"""Of a Ray cluster on this machine, which put the load on together."""
ALIKE_FROM_NODES = 20
DOUBLE_WORK_FROM_NODES = 10
CLIENTS_OF_NODES = 9
TURNED_PERCENT = 10
"""Doubled work in turns, where an epoch of equal arms scatters by several percent."""
TURNED_BUDGET = "30m"
"""8 epochs of two turns of 36 s, most of it warm-up; but the pilot must allow for 90 s a turn where
the log is written slowly, since it fills up to the checkpoint."""
TURNED = (
    "layout=turns",
    "cost=auto",
    "workload.scripts={tpcb-like=1}",
    "workload.scale=10",
    "budget.epochs=8",
    "turns.time_scale=5",
    "turns.measured=10s",
    "settings.synchronous_commit=off",
)
"""Writes, with checkpoints a second or two apart: a turn is over within the minute. Commits do not
wait: on a disk that others use too, epochs of durable commits scatter by 20 % and more, and an
interval of that width covers anything."""

CYCLED_STUDY = str(Path(__file__).with_name("five-arms-in-cycles.toml"))
CYCLED_BUDGET = "20m"
"""8 epochs of five arms, with checkpoints 6 s of own time apart: a server's clock runs five times
as fast, and no timeout is shorter than 30 s. Commits are durable: an epoch in cycles scatters by as
little as where none waits."""
CYCLED_PERCENT = 10
CYCLED_WEIGHINGS = 5
"""On each workload, of two equal arms and two whose work is doubled."""
CYCLED_ARMS = 2
CYCLED_WORKLOADS = ("", " on tproc-c")
_IN_TPROC_C = ("workload=tproc-c", "workload.scale=4")
ALIKE_IN_CYCLES = CYCLED_ARMS * CYCLED_WEIGHINGS * len(CYCLED_WORKLOADS)
DOUBLE_WORK_IN_CYCLES = CYCLED_ARMS * CYCLED_WEIGHINGS
"""Of each workload."""


@dataclass(frozen=True)
class Case:
    """One weighing of equal arms, perhaps with a weight on one."""

    kind: str
    number: int
    overrides: tuple[str, ...] = ()
    double_work: float = 0.0
    stall_seconds: float = 0.0
    """Mean seconds a transaction stalls: probability times length."""
    clients: int = 8
    background: float = 0.0
    """Share of the work that is left to the background, and charged."""
    budget: str = BUDGET
    study: str = "aa"
    machines: int = 1
    """That put the load on."""
    arm: str | None = None
    """Of several in one weighing."""
    shared: tuple[str, int] | None = None
    """Name and number of the weighing that cases share; None: it has one of its own."""

    @property
    def key(self) -> str:
        """Unique among all cases, the same in every run."""
        return f"{self.kind}/{self.number}"

    @property
    def weighing(self) -> str:
        """The key of its weighing."""
        return self.key if self.shared is None else "{}/{}".format(*self.shared)

    @property
    def weighing_seed(self) -> int:
        """The seed of its weighing: that of the first case which shares it."""
        return self.seed if self.shared is None else _in_cycles(self.shared).seed

    @property
    def seed(self) -> int:
        """Fixed by the kind's place in `KINDS` and the number: new kinds go to the end."""
        return 1000 * list(KINDS).index(self.kind) + self.number

    def truth_percent(self, control_throughput: float, debt_share: float = 0.0) -> float:
        """What the weight takes from throughput, in percent.

        Doubled work: 1/(1 + w). A stall: by Wald's identity a transaction takes p·s longer on
        average; the control's own mean latency is clients ÷ throughput (Little's law). Background
        work takes its share of the time under load, to which either arm adds the control's debt,
        `debt_share` of that time: work that only reads owes no more for being more.
        """
        latency_s = self.clients / control_throughput
        slowed = (1 + self.double_work) * latency_s + self.stall_seconds
        slowed += self.background * latency_s / (1 + debt_share)
        return 100 * (latency_s / slowed - 1)


KINDS: Mapping[str, int] = {
    "alike": ALIKE,
    **{f"twice {percent} %": DOUBLE_WORK for percent in DOUBLE_WORK_PERCENT},
    "stall": RARE,
    "background": RARE,
    "alike in turns": ALIKE_IN_TURNS,
    f"twice {TURNED_PERCENT} % in turns": DOUBLE_WORK_IN_TURNS,
    "alike in sessions": ALIKE_IN_SESSIONS,
    f"twice {SESSIONS_PERCENT} % in sessions": DOUBLE_WORK_IN_SESSIONS,
    "alike on MySQL": ALIKE_ON_MYSQL,
    f"twice {MYSQL_PERCENT} % on MySQL": DOUBLE_WORK_ON_MYSQL,
    "alike with writes": ALIKE_WITH_WRITES,
    "alike from three nodes": ALIKE_FROM_NODES,
    f"twice {SESSIONS_PERCENT} % from three nodes": DOUBLE_WORK_FROM_NODES,
    "alike for two minutes": ALIKE_AT_LENGTH,
    "alike in cycles": ALIKE_IN_CYCLES,
    f"twice {CYCLED_PERCENT} % in cycles": DOUBLE_WORK_IN_CYCLES,
    f"twice {CYCLED_PERCENT} % in cycles on tproc-c": DOUBLE_WORK_IN_CYCLES,
    "alike again": ALIKE_AGAIN,
}


_ENDINGS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "in turns": (TURNED, TURNED_BUDGET),
    "on MySQL": (MYSQL, BUDGET),
    "with writes": (WRITES, BUDGET),
}
"""Ending of a kind → its overrides and its budget."""


def _case(kind: str, number: int) -> Case:
    if kind == "alike for two minutes":
        return Case(kind, number, budget=LENGTH)
    if kind == "stall":
        overrides = (
            f"arm.weight.stall={STALL_PROBABILITY:.4%}",
            f"arm.weight.stall_time={STALL_MS}ms",
            f"workload.clients={STALL_CLIENTS}",
        )
        stall_seconds = STALL_PROBABILITY * STALL_MS / 1000
        return Case(kind, number, overrides, stall_seconds=stall_seconds, clients=STALL_CLIENTS)
    if kind == "background":
        overrides = (
            "cost=whole",
            f"arm.weight.background={BACKGROUND_PERCENT}%",
            f"budget.slice={BACKGROUND_SLICE_MS}ms",
        )
        return Case(kind, number, overrides, background=BACKGROUND_PERCENT / 100)
    percent = 0 if kind.startswith("alike") else int(kind.split()[1])
    doubled = (f"arm.weight.double_work={percent}%",) if percent else ()
    if "in cycles" in kind:
        return _of_five_arms(kind, number, percent)
    if kind.endswith(("in sessions", "nodes")):
        return _of_sessions(Case(kind, number, (*SESSIONS, *doubled), percent / 100))
    ending = next((ending for ending in _ENDINGS if kind.endswith(ending)), "")
    laid_out, budget = _ENDINGS.get(ending, ((), BUDGET))
    return Case(kind, number, (*laid_out, *doubled), double_work=percent / 100, budget=budget)


def _of_five_arms(kind: str, number: int, percent: int) -> Case:
    """One arm of a weighing in cycles: equal ones alternate between the workloads' weighings."""
    weighing, arm = divmod(number - 1, CYCLED_ARMS)
    if percent:
        where = CYCLED_WORKLOADS[kind.endswith(CYCLED_WORKLOADS[1])]
    else:
        weighing, which = divmod(weighing, len(CYCLED_WORKLOADS))
        where = CYCLED_WORKLOADS[which]
    return Case(
        kind,
        number,
        _IN_TPROC_C if where else (),
        double_work=percent / 100,
        budget=CYCLED_BUDGET,
        study=CYCLED_STUDY,
        arm=f"{'double' if percent else 'equal'}-{arm + 1}",
        shared=(f"five arms in cycles{where}", weighing + 1),
    )


def _in_cycles(shared: tuple[str, int]) -> Case:
    """The first case of a weighing in cycles."""
    return next(case for case in cases() if case.shared == shared)


def _of_sessions(case: Case) -> Case:
    """The case on sessions of a running server, its load perhaps from several nodes."""
    if case.kind.endswith("in sessions"):
        return replace(case, study="sessions")
    clients = (f"workload.clients={CLIENTS_OF_NODES}",)
    return replace(
        case,
        study="sessions",
        overrides=(*case.overrides, *clients),
        clients=CLIENTS_OF_NODES,
        machines=NODES,
    )


def cases() -> Iterator[Case]:
    """Every case, kinds mixed in proportion, so that a part of them is a fair sample."""
    places = [
        ((number - 0.5) / count, kind, number)
        for kind, count in KINDS.items()
        for number in range(1, count + 1)
    ]
    for _, kind, number in sorted(places):
        yield _case(kind, number)


def control_throughput(contrast: Mapping[str, Any]) -> float:
    """The control's mean throughput over the epochs of a contrast, in transactions/s."""
    readings = [epoch["throughput"][contrast["control"]] for epoch in contrast["details"]["epochs"]]
    return float(sum(readings) / len(readings))


def debt_share(slices: Iterable[Mapping[str, Any]], arm: str) -> float:
    """Debt of an arm as a share of its time under load, over its measured slices."""
    measured = [line for line in slices if line["arm"] == arm and line["kind"] == "measured"]
    loaded = sum(line["busy_ns"] for line in measured)
    return sum(line["clients"] * line["debt_ns"] for line in measured) / loaded if loaded else 0.0
