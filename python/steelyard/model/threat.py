"""Holds the threats: every reason to doubt a verdict (`threat_kind.py` lists them).

A threat says what was seen, the likely cause, and what to do. One that invalidates takes the
verdict away; the others stand beside it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from steelyard.model.threat_kind import ThreatKind
from steelyard.model.threat_template import OF_NUMBERS, ThreatTemplate


@dataclass(frozen=True, slots=True)
class Threat:
    """A reason to doubt: what was seen, the likely cause, what to do; whether it invalidates."""

    name: str
    seen: str
    cause: str
    advice: str
    invalidates: bool

    def to_json(self) -> dict[str, str | bool]:
        """The five keys of the command line's contract."""
        return asdict(self)


_TEMPLATES: dict[ThreatKind, ThreatTemplate] = {
    ThreatKind.CHECKPOINT_DISTANCE: ThreatTemplate(
        "the first change of a page after a checkpoint writes its whole image to the log: where "
        "checkpoints lie nearer together than in use, images are a larger part of the work",
        "weigh in turns, over whole cycles of the arms' own checkpoints (--set layout=turns), or "
        "read the figure as one of that distance; servers that are not ours: drive each by itself "
        "for several of its own checkpoints (steelyard drive)",
    ),
    ThreatKind.POOL_NOT_WARM: ThreatTemplate(
        "every restart empties the buffer pool, and an epoch ended before it was full again: part "
        "of what was compared is how cold the pools were",
        "weigh fewer and longer epochs (--budget 10m --set budget.epochs=8), or less data",
        in_turns="measure more cycles a turn (--set turns.cycles=4, with a budget twice as large), "
        "or weigh less data",
    ),
    ThreatKind.RATE_BOUND: ThreatTemplate(
        "the search came to its end without crossing the limit: the arm carries less, or more, "
        "than the rate that is shown",
        "weigh again, so that a pilot sees where the arms are now, or with another limit",
    ),
    ThreatKind.SEARCH_SHORT: ThreatTemplate(
        "the arm moved too far from where the pilot had it for the visits of an epoch; such an "
        "epoch counts for neither arm",
        "give more time (--budget), or fewer and longer epochs (--set budget.epochs=8)",
    ),
    ThreatKind.FEW_CLIENTS: ThreatTemplate(
        "arrivals queued in front of the clients and not in the server: the rate is that of so "
        "many clients, and more of them would carry more",
        "give as many clients as the application has connections (--set workload.clients=)",
    ),
    ThreatKind.SLOTS_DIFFER: ThreatTemplate(
        "one place is faster than the other: its files, its processors or its start",
        "the random slots turn this into noise; more epochs shrink it, and a quieter or more "
        "even machine removes it",
    ),
    ThreatKind.CARRY_OVER: ThreatTemplate(
        "what one arm leaves behind (dirty pages, caches, burst credits) changes the next slice",
        'weigh with cost = "whole", or longer slices (--set budget.slice=1s)',
    ),
    ThreatKind.START_ORDER: ThreatTemplate(
        "the arm started first has better memory, warmer files or an older process",
        "the random order turns this into noise; more and longer epochs shrink it",
    ),
    ThreatKind.UNEQUAL_DROPS: ThreatTemplate(
        "slices were left out more often for one arm: the cause is not blind to the arms",
        "find what interrupts that arm, then weigh again",
        invalidates=True,
    ),
    ThreatKind.LEDGER: ThreatTemplate(
        "weighings of equal arms on this machine differ more often than chance allows",
        "find and mend what favours an arm (doubts of `steelyard weigh aa`, load, files, placing), "
        "then begin a new ledger: `steelyard calibrate --new-ledger`",
        invalidates=True,
    ),
    ThreatKind.DEBUG_BUILD: ThreatTemplate(
        "the driver was built without optimisation: its own cost hides the server's",
        "run `make build`, which builds the release profile",
        invalidates=True,
    ),
    ThreatKind.WRONG_ANSWER: ThreatTemplate(
        "an arm did not do the work it was timed for: missing rows, or a broken balance",
        "look at the workload's checks and the server's log before believing any speed",
        invalidates=True,
    ),
    ThreatKind.BUILDS_DIFFER: ThreatTemplate(
        "compiler, flags, assertions or origin differ: the same sources built twice have "
        "differed by 14 %",
        "compare arms from one builder: `steelyard engines add` brings versions by one",
    ),
    ThreatKind.PLANS_DIFFER: ThreatTemplate(
        "the arms ran different query plans: statistics, costs or versions differ",
        "read the plans; if the difference is not the treatment, analyse both arms alike",
    ),
    ThreatKind.ERRORS_DIFFER: ThreatTemplate(
        "one arm failed or retried more; that time counts as time without work",
        "look at the errors by SQLSTATE: the effect may sit there and not in the speed",
    ),
    ThreatKind.ARM_CRASHED: ThreatTemplate(
        "a server could not start or did not survive an epoch",
        "read the server's log in the record; such an epoch counts as no work done",
    ),
    ThreatKind.DRIVER_BOUND: ThreatTemplate(
        "the driver used up its processors or was late: a true difference is read too small",
        "give the driver processors of its own, or use fewer clients",
    ),
    ThreatKind.MACHINES_APART: ThreatTemplate(
        "messages take long or unevenly, or a machine is busy with something else: for that part "
        "of a slice the arm had fewer clients than it should have",
        "weigh longer slices (--set budget.slice=1s), or find the machine that is late and what "
        "else it does; `steelyard fleet check` measures it",
    ),
    ThreatKind.MACHINE_BOUND: ThreatTemplate(
        "the load was held up where it is made: the server waited for that machine, and a true "
        "difference is read too small",
        "give the load more or larger machines, or fewer clients",
    ),
    ThreatKind.COUNTS_APART: ThreatTemplate(
        "a load machine counted what no server of the arms did, or its sessions went elsewhere",
        "see where each machine connects to; if it persists, report it with the record",
    ),
    ThreatKind.BEHIND_ARRIVALS: ThreatTemplate(
        "transactions arrived faster than the clients were done with them: those that had not "
        "begun when their slice ended are in no latency",
        "give more clients (--set workload.clients=), or a smaller --pace",
    ),
    ThreatKind.LITTLES_LAW: ThreatTemplate(
        "latencies do not fill the time under load (or overfill it): the driver held the "
        "clients up, or counts are wrong",
        "use fewer clients; if it persists, report it with the record",
    ),
    ThreatKind.CPU_DISAGREES: ThreatTemplate(
        "processor time per transaction moved otherwise than throughput: work was left to the "
        "background, or the arms wait for something else",
        'weigh with cost = "whole", and read the cause table',
    ),
    ThreatKind.NO_STEADY_STATE: ThreatTemplate(
        "the load still drifted when the warm-up cap was reached",
        "weigh fewer and longer epochs (--budget 5m --set budget.epochs=10); the random order "
        "keeps the comparison fair",
        in_turns="measure more cycles a turn (--set turns.cycles=4, with a budget twice as large); "
        "the random order keeps the comparison fair",
    ),
    ThreatKind.SKEWED: ThreatTemplate(
        "an arm has slow restarts of its own: rare, and on one side only",
        "weigh 30 epochs: up to 18 equal arms are then told apart in 6–9 %, at 30 in 5 %; of "
        '"equivalent" 8–10 % may be wrong at any number',
    ),
    ThreatKind.ONE_ARM_BACKGROUND: ThreatTemplate(
        "a checkpoint or autovacuum fell into the slices of one arm only",
        'weigh longer, or with cost = "whole", so that each arm pays its own',
    ),
    ThreatKind.STEAL: ThreatTemplate(
        "the host took processor time away, or a limit throttled it",
        "weigh at another hour or on another machine; the interval already holds this noise",
    ),
    ThreatKind.NEARLY_FULL: ThreatTemplate(
        "memory or disk is nearly used up: reclaim and allocation cost time of their own",
        "free some, or use a smaller scale",
    ),
    ThreatKind.WORKING_SET: ThreatTemplate(
        "the share of pages found in memory is not what the study is about",
        "change the scale or shared_buffers; the effect per page carries over, the percent "
        "does not",
    ),
    ThreatKind.NOT_STORAGE_BOUND: ThreatTemplate(
        "the working set fits into shared buffers and page cache, or the device is fast: the arms "
        "hardly waited for it, so what is compared is work in memory",
        "lower the cap (--set memory=...) or raise workload.scale until reads come from the "
        "device; the figure stands for data in memory",
    ),
    ThreatKind.V1_WRITES: ThreatTemplate(
        "under a cap of control groups of version 1 the kernel does not throttle those who dirty "
        "pages, but stalls processes that need one while it writes others back (mm/vmscan.c, "
        "writeback_throttling_sane): no machine with so little memory behaves that way",
        "believe it for reads; weigh writes where the cap is held by version 2 or systemd-run, or "
        "without one",
    ),
    ThreatKind.NO_PAGE_CACHE: ThreatTemplate(
        "an option for developers takes the page cache and the kernel's write-back away, before "
        "PostgreSQL 18 read-ahead too: this is another system than one in use",
        "read the figure as one of that system; where control groups can be made, weigh with "
        "memory = ... in its place",
    ),
    ThreatKind.DIRECTORY_TIED: ThreatTemplate(
        "each arm kept its own files for the whole weighing: their place on the disk is part "
        "of what was compared",
        "weigh at a smaller scale, so that files can be put back in every epoch, or with at least "
        "three separate loads (--set workload.loads=3)",
    ),
    ThreatKind.TOO_FEW_EPOCHS: ThreatTemplate(
        "the budget or an interruption left fewer than 8 epochs",
        "give more time, or shorter epochs; the interval shown is a t interval",
    ),
    ThreatKind.ONE_PROCESSOR: ThreatTemplate(
        "driver and servers share one processor: both are measured together",
        "weigh on at least two processors",
    ),
    ThreatKind.SHARED_BACKGROUND: ThreatTemplate(
        "the arms share one server: its caches and its background work, and as sessions the log "
        "and checkpoints too, are everybody's, and what one arm leaves to them the other pays too",
        "read it as what sessions pay in the foreground; for the rest, weigh copies: --from",
    ),
    ThreatKind.ADDRESS_ONLY: ThreatTemplate(
        "nothing was drawn but the order: machines, versions, data and neighbours of the servers "
        "are all in the difference",
        "read it as these instances as they stand; to weigh one setting or version, weigh copies: "
        "--from",
    ),
    ThreatKind.PLACEMENT_FREE: ThreatTemplate(
        "processes were left to the scheduler: identical servers differ more from epoch to epoch",
        'weigh with placement = "symmetric" if the work does not wait for the disk',
    ),
    ThreatKind.ATTEMPT: ThreatTemplate(
        'this question was weighed before: weighing again after "inconclusive" raises false '
        "alarms to 10 % after two",
        "believe the attempts together, or weigh once more with a budget fixed beforehand",
    ),
    ThreatKind.LOOKED_AT: ThreatTemplate(
        "who sees the interval and lets the weighing go on has looked once more: equal arms are "
        "told apart in 5.6 % after one such look, in 6.9 % after two",
        "let it run to its end, or take what was shown for the end",
    ),
    ThreatKind.MACHINE_CHANGED: ThreatTemplate(
        "the weighing was resumed on another machine, kernel or build",
        "the comparison inside every epoch stands; the effect may differ between the machines",
    ),
    ThreatKind.OTHER_LOAD: ThreatTemplate(
        "it takes processors, memory and storage at times of its own, and slows whichever "
        "arm has its turn",
        "weigh again when it has ended; the random order turns this into noise, which the interval "
        "holds",
    ),
    ThreatKind.DRIVE_HOT: ThreatTemplate(
        "a drive that reaches its temperature limit slows itself down: an arm that works in that "
        "minute waits longer for it",
        "cool it, or pause between weighings; the random order turns this into noise, which the "
        "interval holds",
    ),
    ThreatKind.DRIVE_FAILING: ThreatTemplate(
        "the drive warns, or could not read what it had kept: it repeats and repairs what it is "
        "asked for, at times of its own",
        "save what is on it and weigh on another drive; until then the interval holds this noise",
    ),
    ThreatKind.OTHER_SETTINGS: ThreatTemplate(
        "shared buffers, planner costs and whatever else was set on the server decide how much is "
        "read, cached and verified: what a treatment costs there may be another figure",
        "weigh with the configuration that the server has; what is weighed now holds for the "
        "settings in the report",
    ),
    ThreatKind.NOT_EVICTED: ThreatTemplate(
        "the kernel kept files of the arms in its page cache when it was to drop them: another "
        "process has them open or mapped, or the file system keeps a cache of its own; before "
        "Linux 6.5 it tells of none but its owner's",
        "stop what else uses these files, and weigh on a file system that drops them; tmpfs does "
        "not",
    ),
    ThreatKind.DEVICE_BUSY: ThreatTemplate(
        "what an earlier turn or another program had written was still on its way to the disk when "
        "the server was started, and took its share of it",
        "find what else writes to this disk; longer turns make what the other arm left behind a "
        "smaller part",
    ),
    ThreatKind.NO_CHECKPOINT: ThreatTemplate(
        "the cycles asked for do not fit into the longest turn: what checkpoints cost is in the "
        "figure in part, or not at all",
        "read the figure as one of that time without a checkpoint, or give turns more time or a "
        "larger time scale",
    ),
    ThreatKind.UNEQUAL_TURNS: ThreatTemplate(
        "the checkpoint cycles of one arm are much longer than was planned, or than the other's: "
        "what comes with time alone, as caches that fill, autovacuum and tables that grow, is in "
        "the figure of one arm more than of the other",
        "weigh again, so that a pilot sees how long cycles are; or state how long a turn is "
        "measured (turns.measured)",
    ),
    ThreatKind.NO_PAUSE: ThreatTemplate(
        "the log limit is reached so fast that a checkpoint begins as soon as the one before it is "
        "complete: most changes then log whole pages",
        "raise max_wal_size unless it is what is weighed, or use a smaller time scale, which "
        "divides that limit less",
    ),
    ThreatKind.UNEQUAL_DEBT: ThreatTemplate(
        "one arm ended its turns with more log or dirty pages to be paid for later than the other: "
        "it was charged less than its work",
        "measure more cycles a turn (a larger budget for as many epochs), of which what is left is "
        "a smaller part",
    ),
    ThreatKind.NOT_HELD_STILL: ThreatTemplate(
        "processes of an arm ran while it was to stand still: they worked in the slices of another "
        "arm, and in time that was charged to none",
        "end what sends signals to the servers' processes, and weigh anew",
        invalidates=True,
    ),
    ThreatKind.WRITE_BACK_SHARED: ThreatTemplate(
        "the kernel writes an arm's dirty pages in whichever arm's slice it is: where arms dirty "
        "unequal amounts and the device is busy, one pays for part of the other's",
        "weigh in turns, one arm at a time (--set layout=turns)",
    ),
    ThreatKind.CHECKPOINTS_BY_SIZE: ThreatTemplate(
        "the size of the log requested checkpoints, of one arm far more often than of the other: "
        "right after a checkpoint most changes log whole pages",
        "raise what requests them by size, equal in all arms (--set settings.max_wal_size=64GB, "
        "if the disk has room), or give a larger budget, which makes the time scale smaller",
    ),
    ThreatKind.CYCLES_CUT: ThreatTemplate(
        "a window began or ended within a checkpoint cycle, not where one begins: it has more, or "
        "less, of the burst after a checkpoint than whole cycles have",
        "weigh anew on a quieter machine, or in turns (--set layout=turns)",
    ),
    ThreatKind.CLOCK_AHEAD: ThreatTemplate(
        "a setting of wall time was not multiplied by the number of arms, or borders take as long "
        "as slices: checkpoints come nearer in an arm's own time than the plan has them",
        "leave such settings to the study, which multiplies them, and not to files or roles of the "
        "server; or weigh longer slices (--set budget.slice=1s)",
    ),
    ThreatKind.AGEING: ThreatTemplate(
        "files grow and fragment from epoch to epoch, and the arms do not age alike: the figure is "
        "the mean over these ages",
        "look at the effect epoch by epoch; weigh data of the age that is asked about, restored "
        "before every epoch",
    ),
    **OF_NUMBERS,
}


def raise_threat(
    kind: ThreatKind, seen: str, *, invalidates: bool = False, in_turns: bool = False
) -> Threat:
    """The threat of a kind with what was seen, a sentence without full stop and with figures.
    `invalidates`: what was seen takes the verdict away, also where its kind does not always.
    `in_turns`: it was seen in turns, where some advice is another.
    """
    template = _TEMPLATES[kind]
    fatal = template.invalidates or invalidates
    advice = (template.in_turns if in_turns else "") or template.advice
    return Threat(kind.value, seen, template.cause, advice, fatal)
