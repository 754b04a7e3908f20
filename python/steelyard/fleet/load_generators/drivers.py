"""Starts a load driver on each of several machines for every epoch, and drives each slice on all
of them at once. Callers see one driver: this implements LoadDrivers.

The next slice is ordered when every machine's last client is back, as mutilate's barrier does, so
that two arms never overlap. It begins by the clock, a lead ahead, at a time that each machine gets
in its own CLOCK_MONOTONIC; order and answer of every slice are four stamps more, by which drift is
followed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ALL_COMPLETED, FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from steelyard.driver.answer import SliceAnswer
from steelyard.driver.plan import DrivePlan, SliceRequest
from steelyard.engines.adapters import end_sessions
from steelyard.fleet.clock_tracking import ClockTrack, Exchange
from steelyard.fleet.load_generators.client_partition import (
    MachinePart,
    Share,
    in_order,
    merged,
    plan_of,
    request_of,
    require_fit,
    shares_of,
)
from steelyard.fleet.load_generators.load_agent import (
    DrivenSlice,
    LoadGenerator,
    OpenedDriver,
    machine_facts,
)
from steelyard.model.errors import DriverError, ServerError
from steelyard.model.units import NS_PER_S

T = TypeVar("T")
EXCHANGES = 30
"""With each clock before the first slice."""
LEAST_LEAD_NS = 3_000_000
MOST_LEAD_NS = 100_000_000
REPLY_NS = 5 * NS_PER_S
"""Longest from the time when the last client must be back to the answer of its machine."""


class DriverGroup:
    """Drivers on several machines, each connected to every arm; implements LoadDriver."""

    def __init__(
        self, plan: DrivePlan, members: Sequence[LoadGenerator], threads: int | None
    ) -> None:
        """Deal and connect. `threads` of each machine's driver; None: one a processor.

        UsageError: the plan cannot be dealt. DriverError: a machine could not connect.
        """
        self._plan = plan
        shares = shares_of(plan, len(members))
        self._seats = [
            _Seat(member, share, ClockTrack(member.name))
            for member, share in zip(members, shares, strict=True)
        ]
        # Twice as many threads as machines: one may be closed while it drives.
        self._pool = ThreadPoolExecutor(2 * len(members), "machine")
        self._closed = False
        try:
            opened = self._of_all(lambda seat: self._open(seat, threads))
            for _ in range(EXCHANGES):
                for seat in self._seats:
                    self._named(seat, seat.compare_clock)
        except BaseException:
            self.close()
            raise
        self.io = ", ".join(sorted({driver.io for driver in opened}))

    def _open(self, seat: _Seat, threads: int | None) -> OpenedDriver:
        driver_threads = threads or seat.member.facts.processors
        opened = seat.member.open(plan_of(self._plan, seat.share, driver_threads))
        seat.connected = {arm: list(pids) for arm, pids in opened.connected.items()}
        return opened

    @property
    def connected(self) -> Mapping[str, Sequence[int]]:
        """Arm name → process ids of its backends, in the order of the clients of all machines."""
        ordered = [self._seats[number] for number in in_order([seat.share for seat in self._seats])]
        return {
            arm.name: [pid for seat in ordered for pid in seat.connected[arm.name]]
            for arm in self._plan.arms
        }

    @property
    def clocks(self) -> Mapping[str, ClockTrack]:
        """What is known of each machine's clock."""
        return {seat.member.name: seat.clock for seat in self._seats}

    def run(self, slices: Sequence[SliceRequest]) -> Iterator[SliceAnswer]:
        """Run slices in order, yielding the merged answer to each as it ends. DriverError: a
        machine is lost, or its clock has jumped."""
        for request in slices:
            yield self._slice(request)

    def close(self) -> None:
        """Disconnect everywhere; what a lost machine had begun is ended on the servers."""
        if self._closed:
            return
        self._closed = True
        try:
            self._of_all(lambda seat: seat.member.close(), also_lost=True)
        finally:
            self._pool.shutdown()
            self._end_sessions()

    def _end_sessions(self) -> None:
        """Of lost machines, on every server; then the first error is raised. Others would wait for
        the locks of those that are left."""
        failed: list[DriverError] = []
        for seat in self._seats:
            for arm in self._plan.arms if seat.lost else ():
                try:
                    end_sessions(arm.endpoint, seat.connected.get(arm.name, ()))
                except ServerError as error:
                    failed.append(_of_machine(seat.member.name, error))
        if failed:
            raise failed[0]

    def _slice(self, request: SliceRequest) -> SliceAnswer:
        longest_ns = max(seat.clock.longest_round_trip_ns for seat in self._seats)
        lead_ns = min(max(LEAST_LEAD_NS, 2 * longest_ns), MOST_LEAD_NS)
        begin_ns = time.monotonic_ns() + lead_ns
        patience_s = self._patience_s(request, lead_ns)
        orders = {
            seat.member.name: request_of(request, seat.share, seat.clock.theirs_ns(begin_ns))
            for seat in self._seats
        }
        driven = self._of_all(
            lambda seat: seat.drive(orders[seat.member.name], patience_s),
            end_others=patience_s is None,
        )
        parts = [
            self._part(seat, answer, exchange)
            for seat, (answer, exchange) in zip(self._seats, driven, strict=True)
        ]
        return merged(parts)

    def _part(self, seat: _Seat, driven: DrivenSlice, exchange: Exchange) -> MachinePart:
        seat.clock.add(exchange)
        answer, member = driven.answer, seat.member
        for client, pid in answer.reconnected:
            seat.connected[answer.arm][client] = pid
        offset = seat.clock.offset(seat.clock.ours_ns(answer.start_ns))
        return MachinePart(member.name, member.facts.processors, seat.share, offset, answer)

    def _patience_s(self, request: SliceRequest, lead_ns: int) -> float | None:
        """None: the slice ends by a count, whatever time that takes; its machine sees that its
        driver is alive."""
        if request.length_ns is None:
            return None
        until_ns = lead_ns + request.length_ns + self._plan.drain_cap_ns + REPLY_NS
        return until_ns / NS_PER_S

    def _of_all(
        self, do: Callable[[_Seat], T], *, also_lost: bool = False, end_others: bool = False
    ) -> list[T]:
        """Of every machine at once. All are waited for; then the first error is raised, with the
        machine's name, and those that failed are lost. `end_others`: with the first error the
        drivers of the others are ended, which would drive for any time."""
        seats = [seat for seat in self._seats if also_lost or not seat.lost]
        begun: list[Future[T]] = [self._pool.submit(do, seat) for seat in seats]
        under_way: set[Future[T]] = set()
        try:
            under_way = wait(begun, return_when=FIRST_EXCEPTION if end_others else ALL_COMPLETED)[1]
            if under_way:
                others = (s for s, f in zip(seats, begun, strict=True) if f in under_way)
                wait([self._pool.submit(seat.member.close) for seat in others])
                wait(begun)
        except BaseException:  # interrupted: what these machines do now is not waited for
            for seat, future in zip(seats, begun, strict=True):
                seat.lost = seat.lost or not future.done()
            raise
        answers: list[T] = []
        failed: list[tuple[bool, _Seat, DriverError]] = []
        for seat, future in zip(seats, begun, strict=True):
            try:
                answers.append(future.result())
            except DriverError as error:
                seat.lost = True
                failed.append((future in under_way, seat, error))
        if failed:
            _, seat, first = min(failed, key=lambda failure: failure[0])
            raise _of_machine(seat.member.name, first) from first
        return answers

    def _named(self, seat: _Seat, do: Callable[[], None]) -> None:
        try:
            do()
        except DriverError as error:
            seat.lost = True
            raise _of_machine(seat.member.name, error) from error


class Machines(Protocol):
    """Where the members of a group come from."""

    @property
    def count(self) -> int:
        """How many members there are."""

    def members(self) -> Sequence[LoadGenerator]:
        """As many as were requested, each time, none of them lost: a lost one was replaced.
        DriverError: there are fewer, and a load by fewer would not be comparable."""

    def close(self) -> None:
        """Give all of them up; safe to call twice."""


class DriverGroups:
    """Makes a driver group for every epoch. `threads`: of each machine's driver; None: one a
    processor."""

    def __init__(self, machines: Machines, threads: int | None = None) -> None:
        self._machines = machines
        self._threads = threads
        self._own = machine_facts()
        self._running: DriverGroup | None = None

    @property
    def machines(self) -> int:
        """How many there are."""
        return self._machines.count

    def start(self, plan: DrivePlan) -> DriverGroup:
        """A group connected to every arm, its clients dealt anew by the plan's seed. UsageError:
        they cannot reach an arm as it is named, or are not alike."""
        members = self._machines.members()
        require_fit(
            [member.facts for member in members],
            {f'arm "{arm.name}"': arm.endpoint for arm in plan.arms},
            self._own,
        )
        self._running = DriverGroup(plan, members, self._threads)
        return self._running

    def build_profile(self) -> str:
        """ "release" or "debug"; that of the machines is the same."""
        return self._own.build_profile

    def close(self) -> None:
        """End what runs, and give the machines up."""
        try:
            if self._running is not None:
                self._running.close()
        finally:
            self._machines.close()


@dataclass
class _Seat:
    """A member with its share of the clients, and what is known of its clock."""

    member: LoadGenerator
    share: Share
    clock: ClockTrack
    connected: dict[str, list[int]] = field(default_factory=dict)
    lost: bool = False

    def compare_clock(self) -> None:
        sent_ns = time.monotonic_ns()
        received_ns, answered_ns = self.member.read_clock()
        self.clock.add(Exchange(sent_ns, received_ns, answered_ns, time.monotonic_ns()))

    def drive(
        self, request: SliceRequest, patience_s: float | None
    ) -> tuple[DrivenSlice, Exchange]:
        sent_ns = time.monotonic_ns()
        driven = self.member.drive(request, patience_s)
        back_ns = time.monotonic_ns()
        return driven, Exchange(sent_ns, driven.received_ns, driven.answered_ns, back_ns)


def _of_machine(name: str, error: DriverError | ServerError) -> DriverError:
    return DriverError(
        f'load machine "{name}": {error.primary}', detail=error.detail, hint=error.hint
    )
