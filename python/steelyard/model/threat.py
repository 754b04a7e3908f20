"""Holds the threats, every reason to doubt a verdict: a closed list; and what is seen of one, the
figures, which `wording` says.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Threat:
    """A reason to doubt: what was seen, the likely cause, what to do; whether it invalidates."""

    name: str
    seen: str
    cause: str
    advice: str
    invalidates: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", EARLIER.get(self.name, self.name))

    def to_json(self) -> dict[str, str | bool]:
        """The five keys of the command line's contract."""
        return asdict(self)


class ThreatKind(StrEnum):
    """Every threat by its name, as it is printed."""

    CHECKPOINT_DISTANCE = "checkpoint distance"
    POOL_NOT_WARM = "pool not warm"
    SLOTS_DIFFER = "slots differ"
    CARRY_OVER = "carry-over"
    START_ORDER = "start order matters"
    UNEQUAL_DROPS = "unequal drops"
    LEDGER = "balance's ledger"
    STANDBY_BEHIND = "standby behind"
    DEBUG_BUILD = "debug build of the driver"
    WRONG_ANSWER = "wrong answer from the workload"
    BUILDS_DIFFER = "builds differ"
    PLANS_DIFFER = "plans differ"
    ERRORS_DIFFER = "errors or retries differ"
    ARM_CRASHED = "an arm crashed"
    DRIVER_BOUND = "driver is the bottleneck"
    MACHINES_APART = "load machines began apart"
    MACHINE_BOUND = "a load machine is the bottleneck"
    COUNTS_APART = "servers count fewer transactions"
    BEHIND_ARRIVALS = "behind its arrivals"
    RATE_BOUND = "rate is a bound"
    SEARCH_SHORT = "search too short"
    FEW_CLIENTS = "clients too few"
    LITTLES_LAW = "Little's law broken"
    CPU_DISAGREES = "foreground and CPU disagree"
    NO_STEADY_STATE = "no steady state"
    SKEWED = "epochs skewed"
    ONE_ARM_BACKGROUND = "checkpoint or autovacuum in one arm's slices only"
    STEAL = "steal or throttling"
    NEARLY_FULL = "memory or disk nearly full"
    WORKING_SET = "working set not what the study says"
    NOT_STORAGE_BOUND = "not storage-bound"
    V1_WRITES = "writes under a v1 cap"
    NO_PAGE_CACHE = "page cache bypassed"
    DIRECTORY_TIED = "data directory tied to the arm"
    TORN_PAGES = "pages may be torn"
    TOO_FEW_EPOCHS = "too few epochs"
    ONE_PROCESSOR = "one processor"
    PLACEMENT_FREE = "placement free"
    SHARED_BACKGROUND = "shared background"
    ADDRESS_ONLY = "address only"
    ATTEMPT = "weighed before"
    LOOKED_AT = "looked at before its end"
    MACHINE_CHANGED = "machine changed"
    OTHER_LOAD = "another weighing"
    DRIVE_HOT = "drive too hot"
    DRIVE_FAILING = "drive failing"
    OTHER_SETTINGS = "settings not the server's"
    # Of turns:
    NOT_EVICTED = "files not evicted"
    DEVICE_BUSY = "device busy"
    NO_CHECKPOINT = "no checkpoint in a turn"
    UNEQUAL_TURNS = "unequal turns"
    NO_PAUSE = "checkpoints without pause"
    UNEQUAL_DEBT = "unequal debt"
    NOT_HELD_STILL = "not held still"
    WRITE_BACK_SHARED = "write-back shared"
    CHECKPOINTS_BY_SIZE = "checkpoints by size"
    CYCLES_CUT = "cycles cut"
    CLOCK_AHEAD = "clock ahead of own time"
    AGEING = "ageing"
    # Of numbers from elsewhere:
    OBSERVATIONAL = "observational"
    ONE_AFTER_OTHER = "one arm after the other"
    CONDITIONS_DIFFER = "conditions differ"
    DRIFT_OR_ARM = "drift looks like an arm"
    LEVEL_MOVED = "level moved"
    ROWS_DEPEND = "rows depend on each other"
    FEW_ROWS_DECIDE = "a few rows decide"
    CENTRES_DISAGREE = "mean and median disagree"
    ORDER_LOST = "order lost"
    TOO_FEW_ROWS = "too few rows"
    ONE_RUN = "one run per arm"
    NO_SPREAD = "one value per arm"


INVALIDATING = frozenset(
    {
        ThreatKind.UNEQUAL_DROPS,
        ThreatKind.LEDGER,
        ThreatKind.DEBUG_BUILD,
        ThreatKind.WRONG_ANSWER,
        ThreatKind.NOT_HELD_STILL,
        ThreatKind.DRIFT_OR_ARM,
    }
)
"""Kinds after which nothing can be said, whatever was seen of them."""
EARLIER = {"attempt k": ThreatKind.ATTEMPT.value}
"""Name in older records → name now."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Something that was seen; each subclass is a thing that can be, with its figures in fields.

    A kind of threat may be raised by several of them.
    """

    kind: ClassVar[ThreatKind]

    @property
    def raises(self) -> ThreatKind:
        """The kind of threat that it is a reason for: the class's, but for a few that hold it."""
        return self.kind

    @property
    def name(self) -> str:
        """Of its kind, as it is printed."""
        return self.raises.value

    @property
    def invalidates(self) -> bool:
        """Whether nothing can be said where it was seen."""
        return self.raises in INVALIDATING

    @property
    def in_turns(self) -> bool:
        """Whether it was seen in turns, where some advice is another."""
        return False


@dataclass(frozen=True, slots=True)
class Quoted(Observation):
    """What a record or a file says itself, in words of its own."""

    of: ThreatKind
    text: str
    """A sentence without full stop."""

    @property
    def raises(self) -> ThreatKind:
        """As the record or the file has it."""
        return self.of
