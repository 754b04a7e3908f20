"""Checks load machines in under a minute: clocks, round trips, network, and equal arms on them.

What it reads of equal arms is one epoch: nothing is restarted, so its interval says how even slices
are, not how even a weighing would be.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.decision.t_interval import t_interval
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.fleet.clock_tracking import ClockDrift, ClockTrack, Exchange, Offset
from steelyard.fleet.load_generators.drivers import DriverGroups, Machines
from steelyard.fleet.load_generators.load_agent import LoadGenerator, LoadMachineFacts
from steelyard.fleet.network import Nic, NicCounters
from steelyard.model.endpoint import Endpoint
from steelyard.model.estimate import Interval
from steelyard.model.units import NS_PER_S

EXCHANGES = 300
SLICE_NS = NS_PER_S // 5
SCRIPT = DriveScript("one", "SELECT 1;", rows=1)


@dataclass(frozen=True)
class LinkCheck:
    """What the coordinator sees of a machine."""

    name: str
    facts: LoadMachineFacts
    round_trips_ns: tuple[int, ...]
    """Of all exchanges, rising."""
    offset: Offset
    drift: ClockDrift
    """Of its clock, over the whole check."""
    sent: dict[str, tuple[NicCounters, int | None]]
    """Interface → what it counted during the check, and its bytes a second each way."""

    def round_trip_ns(self, share: float) -> int:
        """The one below which this share of them lies."""
        return self.round_trips_ns[min(len(self.round_trips_ns) - 1, int(share * EXCHANGES))]


@dataclass(frozen=True)
class LoadCheck:
    """Equal arms at one address, driven by all machines together."""

    slices: int
    clients: int
    skews_ns: tuple[int, ...]
    """Of all slices, rising, each with its bound."""
    ratio: Interval
    """Natural logarithm of arm over arm, over blocks."""
    transactions_per_s: dict[str, float]
    processor_share: dict[str, float]
    """Machine → of its processors, what its driver used."""

    @property
    def apart_share(self) -> float:
        """Of a slice, the skew that one in twenty exceeds."""
        return self.skews_ns[int(0.95 * (len(self.skews_ns) - 1))] / SLICE_NS


@dataclass(frozen=True)
class ClusterCheck:
    """All that was found."""

    links: tuple[LinkCheck, ...]
    load: LoadCheck | None
    """None: no address was given."""
    seconds: float


def check(
    machines: Machines, endpoint: Endpoint | None, clients: int, seconds: float, seed: int
) -> ClusterCheck:
    """Exchange stamps with every machine; with an endpoint, drive equal arms there for `seconds`.

    `clients` of each machine and arm. DriverError: a machine is lost, or cannot connect.
    """
    began_ns = time.monotonic_ns()
    members = machines.members()
    before = {member.name: member.network() for member in members}
    tracks = {member.name: ClockTrack(member.name) for member in members}
    trips: dict[str, list[int]] = {member.name: [] for member in members}
    for _ in range(EXCHANGES // 2):
        _exchange(members, tracks, trips)
    load = None
    if endpoint is not None:
        load = _equal_arms(machines, endpoint, clients * len(members), seconds, seed)
    else:
        time.sleep(min(seconds, 2.0))  # for the drift
    for _ in range(EXCHANGES // 2):
        _exchange(members, tracks, trips)
    links = tuple(
        _link(member, tracks[member.name], trips[member.name], before) for member in members
    )
    return ClusterCheck(links, load, (time.monotonic_ns() - began_ns) / NS_PER_S)


def _exchange(
    members: Sequence[LoadGenerator], tracks: dict[str, ClockTrack], trips: dict[str, list[int]]
) -> None:
    for member in members:
        sent_ns = time.monotonic_ns()
        received_ns, answered_ns = member.read_clock()
        exchange = Exchange(sent_ns, received_ns, answered_ns, time.monotonic_ns())
        tracks[member.name].add(exchange)
        trips[member.name].append(exchange.round_trip_ns)


def _link(
    member: LoadGenerator,
    track: ClockTrack,
    trips: list[int],
    before: Mapping[str, Mapping[str, Nic]],
) -> LinkCheck:
    earlier, sent = before[member.name], {}
    for name, nic in member.network().items():
        if name in earlier:
            sent[name] = (nic.counters.since(earlier[name].counters), nic.bytes_per_s)
    assert track.drift is not None  # there was more than one exchange
    offset = track.offset(time.monotonic_ns())
    return LinkCheck(member.name, member.facts, tuple(sorted(trips)), offset, track.drift, sent)


def _equal_arms(
    machines: Machines, endpoint: Endpoint, clients: int, seconds: float, seed: int
) -> LoadCheck:
    arms = tuple(DriveArm(name, endpoint, clients) for name in ("one", "other"))
    blocks = max(4, round(seconds * NS_PER_S / (2 * SLICE_NS)))
    draw = random.Random(seed)
    order = [arm for _ in range(blocks) for arm in draw.sample((0, 1), 2)]
    plan = DrivePlan(arms=arms, scripts=(SCRIPT,), seed=seed)
    group = DriverGroups(machines).start(plan)
    try:
        answers = list(group.run([SliceRequest(arm=arm, length_ns=SLICE_NS) for arm in order]))
    finally:
        group.close()
    return _load_check(answers[2:], clients)  # the first block warms up


def _load_check(answers: Sequence[SliceAnswer], clients: int) -> LoadCheck:
    import numpy as np

    logs = []
    for first, second in zip(answers[::2], answers[1::2], strict=True):
        control, other = (first, second) if first.arm == "one" else (second, first)
        if control.transactions and other.transactions:
            rates = [part.transactions / part.busy_ns for part in (control, other)]
            logs.append(math.log(rates[1] / rates[0]))
    together = [answer.together for answer in answers if answer.together is not None]
    parts = [part for line in together for part in line.machines]
    done: dict[str, float] = {}
    used: dict[str, float] = {}
    for name in dict.fromkeys(part.name for part in parts):
        machine_parts = [part for part in parts if part.name == name]
        took_ns = sum(part.end_ns - part.start_ns for part in machine_parts)
        done[name] = sum(part.transactions for part in machine_parts) / took_ns * NS_PER_S
        used[name] = sum(part.driver_cpu_ns for part in machine_parts) / (
            took_ns * machine_parts[0].processors
        )
    return LoadCheck(
        slices=len(answers),
        clients=clients,
        skews_ns=tuple(sorted(line.skew_ns + line.skew_bound_ns for line in together)),
        ratio=t_interval(np.array(logs)),
        transactions_per_s=done,
        processor_share=used,
    )
