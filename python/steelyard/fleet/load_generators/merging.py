"""Makes one answer of those that several machines gave to one slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard import _core
from steelyard.driver.answer import SliceAnswer
from steelyard.fleet.clocks.tracking import Offset
from steelyard.fleet.load_generators.client_partition import Share
from steelyard.record.slice import MachineInSlice, ScriptInSlice, TimedStatement, TogetherLine

_SUMS = (
    *("clients", "transactions", "busy_ns", "latency_sum_ns", "latency_squares_ns2", "failed"),
    *("rows", "wrong_rows", "capped", "lost", "retried", "retries", "late_starts", "lag_sum_ns"),
    *("skipped", "unstarted", "over_limit", "connections", "connect_ns", "driver_cpu_ns"),
    "driver_threads_ns",
)


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
