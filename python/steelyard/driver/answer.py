"""What the load driver answers: counts while a slice runs, and its figures when it has ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from steelyard.model.secrets.redaction import redacted


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """A timed command of a script: how often it was executed in a slice, and what that took."""

    line: int
    text: str
    executions: int
    sum_ns: int
    failures: int = 0
    retries: int = 0


@dataclass(frozen=True, slots=True)
class ScriptAnswer:
    """What one script did in a slice."""

    name: str
    transactions: int
    latency: str
    """HdrHistogram V2 deflate, base64, ns."""
    commands: tuple[CommandAnswer, ...] = ()
    """Empty where commands are not timed."""

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> Self:
        """As the driver writes it."""
        commands = tuple(CommandAnswer(**one) for one in said.get("commands", ()))
        return cls(said["name"], said["transactions"], said["latency"], commands)

    def to_json(self) -> dict[str, Any]:
        """As the driver wrote it."""
        did = {"name": self.name, "transactions": self.transactions, "latency": self.latency}
        timed = {"commands": [asdict(one) for one in self.commands]}
        return did | timed if self.commands else did


@dataclass(frozen=True, slots=True)
class AtBorders:
    """What the plan's files held before a slice and after it, in their order; "" of one that cannot
    be read."""

    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MachineAnswer:
    """What one of several machines did in a slice; its times are those of its own clock."""

    name: str
    processors: int
    """That its driver may use."""
    clients: int
    transactions: int
    busy_ns: int
    driver_cpu_ns: int
    start_ns: int
    end_ns: int
    late_ns: int
    """How much later than ordered its last thread began."""
    offset_ns: int
    """Its clock less ours."""
    offset_bound_ns: int


@dataclass(frozen=True, slots=True)
class Together:
    """How a slice went on several machines at once."""

    skew_ns: int
    """Between the first machine that began and the last, as the clocks were compared."""
    skew_bound_ns: int
    """How far from that the truth may be."""
    machines: tuple[MachineAnswer, ...]


@dataclass(frozen=True, slots=True)
class SliceAnswer:
    """The figures of a slice. Times in ns on the driver's monotonic clock.

    Each is documented at its field of the record: `record/slice.py`.
    """

    arm: str
    clients: int
    transactions: int
    busy_ns: int
    latency_sum_ns: int
    start_ns: int = 0
    end_ns: int = 0
    length_ns: int = 0
    """0: it had no bell."""
    tag: object = None
    """That of its request."""
    latency_squares_ns2: float = 0.0
    failed: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    error_messages: Mapping[str, str] = field(default_factory=dict)
    rows: int = 0
    wrong_rows: int = 0
    capped: int = 0
    lost: int = 0
    reconnected: tuple[tuple[int, int], ...] = ()
    retried: int = 0
    retries: int = 0
    late_starts: int = 0
    lag_sum_ns: int = 0
    lag_max_ns: int = 0
    skipped: int = 0
    unstarted: int = 0
    over_limit: int = 0
    connections: int = 0
    connect_ns: int = 0
    debug: tuple[str, ...] = ()
    aborted: str | None = None
    """Why it was ended early; None: it was not."""
    driver_cpu_ns: int = 0
    driver_threads_ns: int = 0
    driver_queue_ns: int | None = None
    scripts: tuple[ScriptAnswer, ...] = ()
    files: AtBorders | None = None
    """None: the plan names none."""
    late_ns: int | None = None
    """How much later its last thread began than it should have; None: it had no such time."""
    together: Together | None = None
    """None: one machine drove it."""

    @classmethod
    def of_json(cls, said: Mapping[str, Any]) -> Self:
        """As the driver writes it; TypeError: a figure is missing or not known here."""
        parts: dict[str, Any] = {
            "reconnected": tuple((client, pid) for client, pid in said.get("reconnected", ())),
            "debug": tuple(said.get("debug", ())),
            "error_messages": {
                code: redacted(words) for code, words in said.get("error_messages", {}).items()
            },
            "scripts": tuple(ScriptAnswer.of_json(one) for one in said.get("scripts", ())),
        }
        if said.get("aborted") is not None:
            parts["aborted"] = redacted(said["aborted"])
        if "files" in said:
            parts["files"] = AtBorders(**{end: tuple(read) for end, read in said["files"].items()})
        return cls(**{**said, **parts})

    def to_json(self) -> dict[str, Any]:
        """As the driver wrote it, without the files: their figures are readings of the arm."""
        figures = {name: getattr(self, name) for name in _FIGURES}
        figures |= {name: getattr(self, name) for name in _OFTEN if getattr(self, name) is not None}
        if self.together is not None:
            figures["together"] = asdict(self.together)
        return figures | {"scripts": [script.to_json() for script in self.scripts]}


_OFTEN = ("late_ns", "driver_queue_ns")
"""Figures that not every slice has."""
_FIGURES = tuple(
    one.name
    for one in fields(SliceAnswer)
    if one.name not in ("files", "together", "aborted", *_OFTEN)
)


@dataclass(frozen=True, slots=True)
class Progress:
    """What a slice has counted so far, at the end of its interval number `tick` (from 0)."""

    tick: int = 0
    transactions: int = 0
    latency_sum_ns: int = 0
    latency_squares_ns2: float = 0.0
    failed: int = 0
    skipped: int = 0
    retried: int = 0
    retries: int = 0
    lag_sum_ns: int = 0

    def since(self, earlier: Self) -> Self:
        """What was counted after `earlier`; `tick` is that of the later one."""
        new = {
            one.name: getattr(self, one.name) - getattr(earlier, one.name) for one in fields(self)
        }
        return type(self)(**{**new, "tick": self.tick})
