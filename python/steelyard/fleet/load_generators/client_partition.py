"""Deals the clients of a plan over machines that fit, numbered over all of them, anew for every
seed, and makes one answer of those that the machines gave to one slice.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from steelyard import _core
from steelyard.driver.answer import SliceAnswer
from steelyard.driver.plan import DriveArm, DrivePlan, SliceRequest
from steelyard.engines.adapters import is_local
from steelyard.fleet.clock_tracking import Offset
from steelyard.fleet.load_generators.load_agent import LoadMachineFacts
from steelyard.model.endpoint import Endpoint
from steelyard.model.errors import DriverError, UsageError
from steelyard.record.slice import MachineInSlice, ScriptInSlice, TimedStatement, TogetherLine

_SUMS = (
    *("clients", "transactions", "busy_ns", "latency_sum_ns", "latency_squares_ns2", "failed"),
    *("rows", "wrong_rows", "capped", "lost", "retried", "retries", "late_starts", "lag_sum_ns"),
    *("skipped", "unstarted", "over_limit", "connections", "connect_ns", "driver_cpu_ns"),
    "driver_threads_ns",
)


def require_fit(
    machines: Sequence[LoadMachineFacts],
    places: Mapping[str, Endpoint],
    this_machine: LoadMachineFacts,
) -> None:
    """DriverError where machines have another Steelyard than this one. UsageError where a place, by
    the name that it has in messages, listens where they do not reach it."""
    _require_same_build(machines, this_machine)
    if any(machine.boot != this_machine.boot for machine in machines):
        for name, endpoint in places.items():
            _require_reachable(name, endpoint)


def _require_same_build(
    machines: Sequence[LoadMachineFacts], this_machine: LoadMachineFacts
) -> None:
    unlike = [
        f"{machine.host}: {machine.version}, {machine.build_profile}"
        for machine in machines
        if (machine.version, machine.build_profile)
        != (this_machine.version, this_machine.build_profile)
    ]
    if unlike:
        raise DriverError(
            "machines have other versions of Steelyard than this one",
            detail=f"Here: {this_machine.version}, {this_machine.build_profile}. "
            f"{'; '.join(unlike)}.",
            hint="Use one container image, or one wheel, on all of them.",
        )


def _require_reachable(name: str, endpoint: Endpoint) -> None:
    if is_local(endpoint):
        raise UsageError(
            f'load machines cannot reach {name}: it is looked for at "{endpoint.host}", which is '
            "on this machine",
            hint="Name the server by an address that all machines reach.",
        )


@dataclass(frozen=True, slots=True)
class Share:
    """Clients `first` to `first + clients - 1` of every arm, of so many in all."""

    first: int
    clients: int
    of: int

    def part(self, whole: int) -> int:
        """Of a number that all clients share; the parts of all shares add up to it."""
        return whole * (self.first + self.clients) // self.of - whole * self.first // self.of


def deal(clients: int, machines: int, seed: int) -> tuple[Share, ...]:
    """The share of each machine: as even as it can be, and which machine gets which, drawn.

    So over epochs no client, and no client more, belongs to one machine. UsageError: fewer clients
    than machines.
    """
    if clients < machines:
        raise UsageError(
            f"cannot deal {clients} clients over {machines} machines",
            hint="Name more clients, --set workload.clients=N, or fewer machines.",
        )
    borders = [clients * number // machines for number in range(machines + 1)]
    shares = [Share(first, after - first, clients) for first, after in pairwise(borders)]
    random.Random(seed).shuffle(shares)
    return tuple(shares)


def shares_of(plan: DrivePlan, machines: int) -> tuple[Share, ...]:
    """The shares of a plan; UsageError: it cannot be dealt."""
    clients = {arm.clients for arm in plan.arms}
    if len(clients) != 1:
        raise UsageError("cannot deal clients over machines: the arms have unlike numbers of them")
    if plan.log is not None:
        raise UsageError("cannot log on several machines: a log is that of one driver")
    return deal(clients.pop(), machines, plan.seed)


def plan_of(plan: DrivePlan, share: Share, threads: int) -> DrivePlan:
    """What one machine gets of a plan: no password, no file and no processor of another machine."""
    arms = tuple(_arm_of(arm, share) for arm in plan.arms)
    return replace(
        plan,
        arms=arms,
        first_client=share.first,
        threads=max(1, min(threads, share.clients)),
        processors=None,
        files=(),
    )


def _arm_of(arm: DriveArm, share: Share) -> DriveArm:
    endpoint = arm.endpoint
    bare = Endpoint(
        host=endpoint.host,
        port=endpoint.port,
        user=endpoint.user,
        database=endpoint.database,
        options=endpoint.options,
        application_name=endpoint.application_name,
        tls=endpoint.tls,
        channel_binding=endpoint.channel_binding,
        require_auth=endpoint.require_auth,
        connect_timeout_ns=endpoint.connect_timeout_ns,
        protocol=endpoint.protocol,
    )
    return replace(arm, endpoint=bare, clients=share.clients)


def request_of(request: SliceRequest, share: Share, begin_ns: int) -> SliceRequest:
    """What one machine gets of a slice that all begin at one moment, in the time of its clock."""
    count, rate = request.count, request.rate
    return replace(
        request,
        count=None if count is None else share.part(count),
        rate=None if rate is None else rate * share.clients / share.of,
        progress_ns=None,
        begin_ns=begin_ns,
    )


def in_order(shares: Sequence[Share]) -> list[int]:
    """The numbers of the machines, in the order of their clients."""
    return sorted(range(len(shares)), key=lambda number: shares[number].first)


@dataclass(frozen=True, slots=True)
class MachinePart:
    """What one machine answered, and where its clock stood when it began."""

    name: str
    processors: int
    share: Share
    offset: Offset
    answer: SliceAnswer

    @property
    def start_ns(self) -> float:
        """When it began, by our clock."""
        return self.answer.start_ns - self.offset.value_ns

    @property
    def end_ns(self) -> float:
        """When its last client was back, by our clock."""
        return self.answer.end_ns - self.offset.value_ns

    def machine(self) -> MachineInSlice:
        """As a line of the record keeps it."""
        answer = self.answer
        return MachineInSlice(
            name=self.name,
            processors=self.processors,
            clients=answer.clients,
            transactions=answer.transactions,
            busy_ns=answer.busy_ns,
            driver_cpu_ns=answer.driver_cpu_ns,
            start_ns=answer.start_ns,
            end_ns=answer.end_ns,
            late_ns=answer.late_ns or 0,
            offset_ns=round(self.offset.value_ns),
            offset_bound_ns=round(self.offset.bound_ns),
        )


def merged(parts: Sequence[MachinePart]) -> SliceAnswer:
    """One answer: sums over machines, histograms merged, times by our clock, and the skew.

    Durations were measured by one clock each; only the skew compares two. Its bound is that of the
    two machines whose clocks are known least.
    """
    answers = [part.answer for part in parts]
    errors: Counter[str] = Counter()
    messages: dict[str, str] = {}
    for answer in answers:
        errors.update(answer.errors)
        messages = {**answer.error_messages, **messages}
    starts = [part.start_ns for part in parts]
    bounds = sorted(part.offset.bound_ns for part in parts)
    skew_ns = round(max(starts) - min(starts))
    together = TogetherLine(
        skew_ns=skew_ns,
        skew_bound_ns=round(sum(bounds[-2:])),
        machines=tuple(part.machine() for part in parts),
    )
    both: dict[str, object] = {
        **{name: sum(getattr(answer, name) for answer in answers) for name in _SUMS},
        "start_ns": round(min(starts)),
        "end_ns": round(max(part.end_ns for part in parts)),
        "errors": dict(errors),
        "error_messages": messages,
        "reconnected": tuple(
            (part.share.first + client, pid)
            for part in parts
            for client, pid in part.answer.reconnected
        ),
        "lag_max_ns": max(answer.lag_max_ns for answer in answers),
        "debug": tuple(line for answer in answers for line in answer.debug),
        "scripts": tuple(
            _script(same) for same in zip(*(answer.scripts for answer in answers), strict=True)
        ),
        "late_ns": max(answer.late_ns or 0 for answer in answers),
        "driver_queue_ns": _sum_of_known([answer.driver_queue_ns for answer in answers]),
        "together": together,
    }
    return answers[0].model_copy(update=both)


def _sum_of_known(values: Sequence[int | None]) -> int | None:
    """None where one is not known."""
    measured = [value for value in values if value is not None]
    return sum(measured) if len(measured) == len(values) else None


def _script(parts: Sequence[ScriptInSlice]) -> ScriptInSlice:
    """One script on all machines."""
    commands = zip(*(part.commands for part in parts), strict=True)
    return ScriptInSlice(
        name=parts[0].name,
        transactions=sum(part.transactions for part in parts),
        latency=_core.histogram_merge([part.latency for part in parts]),
        commands=tuple(_command(same) for same in commands),
    )


def _command(parts: Sequence[TimedStatement]) -> TimedStatement:
    return TimedStatement(
        line=parts[0].line,
        text=parts[0].text,
        executions=sum(part.executions for part in parts),
        sum_ns=sum(part.sum_ns for part in parts),
        failures=sum(part.failures for part in parts),
        retries=sum(part.retries for part in parts),
    )
