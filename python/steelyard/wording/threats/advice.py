"""Holds the likely cause of each kind of threat, and the advice on what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.model.threat import Observation, Quoted, ThreatKind


@dataclass(frozen=True, slots=True)
class ThreatWords:
    """The likely cause and the advice of a kind of threat, the same for all its observations."""

    cause: str
    advice: str
    in_turns: str = ""
    """Advice for a weighing in turns, where it is another."""


Texts = Mapping[type[Observation], Callable[[Any], str]]
"""Type of observation → its sentence, without full stop."""
QUOTED: Texts = {Quoted: lambda observed: observed.text}
"""Observations that carry their own sentence, as a record or a file has it."""
OwnAdvice = Mapping[type[Observation], Callable[[Any], ThreatWords]]
"""Type of observation → cause and advice of its own, in place of those of its kind."""

THREAT_WORDS: dict[ThreatKind, ThreatWords] = {
    ThreatKind.CHECKPOINT_DISTANCE: ThreatWords(
        "the first change of a page after a checkpoint writes its whole image to the log: where "
        "checkpoints lie nearer together than in use, images are a larger part of the work",
        "weigh in turns, over whole cycles of the arms' own checkpoints (--set layout=turns), or "
        "read the figure as one of that distance; servers that are not ours: drive each by itself "
        "for several of its own checkpoints (steelyard drive)",
    ),
    ThreatKind.POOL_NOT_WARM: ThreatWords(
        "every restart empties the buffer pool, and an epoch ended before it was full again: part "
        "of what was compared is how cold the pools were",
        "weigh fewer and longer epochs (--budget 10m --set budget.epochs=8), or less data",
        in_turns="measure more cycles a turn (--set turns.cycles=4, with a budget twice as large), "
        "or weigh less data",
    ),
    ThreatKind.RATE_BOUND: ThreatWords(
        "the search came to its end without crossing the limit: the arm carries less, or more, "
        "than the rate that is shown",
        "weigh again, so that a pilot sees where the arms are now, or with another limit",
    ),
    ThreatKind.SEARCH_SHORT: ThreatWords(
        "the arm moved too far from where the pilot had it for the visits of an epoch; such an "
        "epoch counts for neither arm",
        "give more time (--budget), or fewer and longer epochs (--set budget.epochs=8)",
    ),
    ThreatKind.FEW_CLIENTS: ThreatWords(
        "arrivals queued in front of the clients and not in the server: the rate is that of so "
        "many clients, and more of them would carry more",
        "give as many clients as the application has connections (--set workload.clients=)",
    ),
    ThreatKind.SLOTS_DIFFER: ThreatWords(
        "one place is faster than the other: its files, its processors or its start",
        "the random slots turn this into noise; more epochs shrink it, and a quieter or more "
        "even machine removes it",
    ),
    ThreatKind.CARRY_OVER: ThreatWords(
        "what one arm leaves behind (dirty pages, caches, burst credits) changes the next slice",
        'weigh with cost = "whole", or longer slices (--set budget.slice=1s)',
    ),
    ThreatKind.START_ORDER: ThreatWords(
        "the arm started first has better memory, warmer files or an older process",
        "the random order turns this into noise; more and longer epochs shrink it",
    ),
    ThreatKind.UNEQUAL_DROPS: ThreatWords(
        "slices were left out more often for one arm: the cause is not blind to the arms",
        "find what interrupts that arm, then weigh again",
    ),
    ThreatKind.LEDGER: ThreatWords(
        "weighings of equal arms on this machine differ more often than chance allows",
        "find and mend what favours an arm (doubts of `steelyard weigh aa`, load, files, placing), "
        "then begin a new ledger: `steelyard calibrate --new-ledger`",
    ),
    ThreatKind.DEBUG_BUILD: ThreatWords(
        "the driver was built without optimisation: its own cost hides the server's",
        "run `make build`, which builds the release profile",
    ),
    ThreatKind.WRONG_ANSWER: ThreatWords(
        "an arm did not do the work it was timed for: missing rows, or a broken balance",
        "look at the workload's checks and the server's log before believing any speed",
    ),
    ThreatKind.BUILDS_DIFFER: ThreatWords(
        "compiler, flags, assertions or origin differ: the same sources built twice have "
        "differed by 14 %",
        "compare arms from one builder: `steelyard engines add` brings versions by one",
    ),
    ThreatKind.PLANS_DIFFER: ThreatWords(
        "the arms ran different query plans: statistics, costs or versions differ",
        "read the plans; if the difference is not the treatment, analyse both arms alike",
    ),
    ThreatKind.ERRORS_DIFFER: ThreatWords(
        "one arm failed or retried more; that time counts as time without work",
        "look at the errors by SQLSTATE: the effect may sit there and not in the speed",
    ),
    ThreatKind.ARM_CRASHED: ThreatWords(
        "a server could not start or did not survive an epoch",
        "read the server's log in the record; such an epoch counts as no work done",
    ),
    ThreatKind.DRIVER_BOUND: ThreatWords(
        "the driver used up its processors or was late: a true difference is read too small",
        "give the driver processors of its own, or use fewer clients",
    ),
    ThreatKind.MACHINES_APART: ThreatWords(
        "messages take long or unevenly, or a machine is busy with something else: for that part "
        "of a slice the arm had fewer clients than it should have",
        "weigh longer slices (--set budget.slice=1s), or find the machine that is late and what "
        "else it does; `steelyard fleet check` measures it",
    ),
    ThreatKind.MACHINE_BOUND: ThreatWords(
        "the load was held up where it is made: the server waited for that machine, and a true "
        "difference is read too small",
        "give the load more or larger machines, or fewer clients",
    ),
    ThreatKind.COUNTS_APART: ThreatWords(
        "a load machine counted what no server of the arms did, or its sessions went elsewhere",
        "see where each machine connects to; if it persists, report it with the record",
    ),
    ThreatKind.BEHIND_ARRIVALS: ThreatWords(
        "transactions arrived faster than the clients were done with them: those that had not "
        "begun when their slice ended are in no latency",
        "give more clients (--set workload.clients=), or a smaller --pace",
    ),
    ThreatKind.LITTLES_LAW: ThreatWords(
        "latencies do not fill the time under load (or overfill it): transactions that failed, "
        "which have none, took it, the driver held the clients up, or counts are wrong",
        "where transactions failed, look at their errors first; use fewer clients; if it persists "
        "without errors, report it with the record",
    ),
    ThreatKind.CPU_DISAGREES: ThreatWords(
        "processor time per transaction moved otherwise than throughput: work was left to the "
        "background, or the arms wait for something else",
        'weigh with cost = "whole", and read the cause table',
    ),
    ThreatKind.NO_STEADY_STATE: ThreatWords(
        "the load still drifted when the warm-up cap was reached",
        "weigh fewer and longer epochs (--budget 5m --set budget.epochs=10); the random order "
        "keeps the comparison fair",
        in_turns="measure more cycles a turn (--set turns.cycles=4, with a budget twice as large); "
        "the random order keeps the comparison fair",
    ),
    ThreatKind.SKEWED: ThreatWords(
        "an arm has slow restarts of its own: rare, and on one side only",
        "weigh 30 epochs (--set budget.epochs=30): with 8 to 18 epochs equal arms are called "
        "different in 6–9 % of weighings, with 30 in 5 %; with any number arms that differ by the "
        "margin are called equivalent in 8–10 %",
    ),
    ThreatKind.ONE_ARM_BACKGROUND: ThreatWords(
        "a checkpoint or autovacuum fell into the slices of one arm only",
        'weigh longer, or with cost = "whole", so that each arm pays its own',
    ),
    ThreatKind.STEAL: ThreatWords(
        "the host took processor time away, or a limit throttled it",
        "weigh at another hour or on another machine; the interval already holds this noise",
    ),
    ThreatKind.NEARLY_FULL: ThreatWords(
        "memory or disk is nearly used up: reclaim and allocation cost time of their own",
        "free some, or use a smaller scale",
    ),
    ThreatKind.STANDBY_BEHIND: ThreatWords(
        "the arm accepts more work than its standby replays: under lasting load it falls behind",
        "drive fewer clients, or weigh synchronous_commit = remote_apply, which holds it back",
    ),
    ThreatKind.WORKING_SET: ThreatWords(
        "the share of pages found in memory is not what the study is about",
        "change the scale or shared_buffers; the effect per page carries over, the percent "
        "does not",
    ),
    ThreatKind.NOT_STORAGE_BOUND: ThreatWords(
        "the working set fits into shared buffers and page cache, or the device is fast: the arms "
        "hardly waited for it, so what is compared is work in memory",
        "lower the cap (--set memory=...) or raise workload.scale until reads come from the "
        "device; the figure stands for data in memory",
    ),
    ThreatKind.V1_WRITES: ThreatWords(
        "under a cap of control groups of version 1 the kernel does not throttle those who dirty "
        "pages, but stalls processes that need one while it writes others back (mm/vmscan.c, "
        "writeback_throttling_sane): no machine with so little memory behaves that way",
        "believe it for reads; weigh writes where the cap is held by version 2 or systemd-run, or "
        "without one",
    ),
    ThreatKind.NO_PAGE_CACHE: ThreatWords(
        "an option for developers takes the page cache and the kernel's write-back away, before "
        "PostgreSQL 18 read-ahead too: this is another system than one in use",
        "read the figure as one of that system; where control groups can be made, weigh with "
        "memory = ... in its place",
    ),
    ThreatKind.DIRECTORY_TIED: ThreatWords(
        "each arm kept its own files for the whole weighing: their place on the disk is part "
        "of what was compared",
        "weigh at a smaller scale, so that files can be put back in every epoch, or with at least "
        "three separate loads (--set workload.loads=3)",
    ),
    ThreatKind.TORN_PAGES: ThreatWords(
        "a crash in the middle of a write leaves a page half old, which no recovery heals",
        "read it as the price of whole pages; leave them out on ZFS or btrfs alone",
    ),
    ThreatKind.TOO_FEW_EPOCHS: ThreatWords(
        "the budget or an interruption left fewer than 8 epochs",
        "give more time, or shorter epochs; the interval shown is a t interval",
    ),
    ThreatKind.ONE_PROCESSOR: ThreatWords(
        "driver and servers share one processor: both are measured together",
        "weigh on at least two processors",
    ),
    ThreatKind.SHARED_BACKGROUND: ThreatWords(
        "the arms share one server: its caches and its background work, and as sessions the log "
        "and checkpoints too, are everybody's, and what one arm leaves to them the other pays too",
        "read it as what sessions pay in the foreground; for the rest, weigh copies: --from",
    ),
    ThreatKind.ADDRESS_ONLY: ThreatWords(
        "nothing was drawn but the order: machines, versions, data and neighbours of the servers "
        "are all in the difference",
        "read it as these instances as they stand; to weigh one setting or version, weigh copies: "
        "--from",
    ),
    ThreatKind.PLACEMENT_FREE: ThreatWords(
        "processes were left to the scheduler: identical servers differ more from epoch to epoch",
        'weigh with placement = "symmetric" if the work does not wait for the disk',
    ),
    ThreatKind.ATTEMPT: ThreatWords(
        'this question was weighed before: weighing again after "inconclusive" raises false '
        "alarms to 10 % after two",
        "believe the attempts together, or weigh once more with a budget fixed beforehand",
    ),
    ThreatKind.LOOKED_AT: ThreatWords(
        "who sees the interval and lets the weighing go on has looked once more: equal arms are "
        "told apart in 5.6 % after one such look, in 6.9 % after two",
        "let it run to its end, or take what was shown for the end",
    ),
    ThreatKind.MACHINE_CHANGED: ThreatWords(
        "the weighing was resumed on another machine, kernel or build, or on data loaded anew",
        "the comparison inside every epoch stands; the effect may differ between the sittings",
    ),
    ThreatKind.OTHER_LOAD: ThreatWords(
        "it takes processors, memory and storage at times of its own, and slows whichever "
        "arm has its turn",
        "weigh again when it has ended; the random order turns this into noise, which the interval "
        "holds",
    ),
    ThreatKind.DRIVE_HOT: ThreatWords(
        "a drive that reaches its temperature limit slows itself down: an arm that works in that "
        "minute waits longer for it",
        "cool it, or pause between weighings; the random order turns this into noise, which the "
        "interval holds",
    ),
    ThreatKind.DRIVE_FAILING: ThreatWords(
        "the drive warns, or could not read what it had kept: it repeats and repairs what it is "
        "asked for, at times of its own",
        "save what is on it and weigh on another drive; until then the interval holds this noise",
    ),
    ThreatKind.OTHER_SETTINGS: ThreatWords(
        "shared buffers, planner costs and whatever else was set on the server decide how much is "
        "read, cached and verified: what a treatment costs there may be another figure",
        "weigh with the configuration that the server has; what is weighed now holds for the "
        "settings in the report",
    ),
    ThreatKind.NOT_EVICTED: ThreatWords(
        "the kernel kept files of the arms in its page cache when it was to drop them: another "
        "process has them open or mapped, or the file system keeps a cache of its own; before "
        "Linux 6.5 it tells of none but its owner's",
        "stop what else uses these files, and weigh on a file system that drops them; tmpfs does "
        "not",
    ),
    ThreatKind.DEVICE_BUSY: ThreatWords(
        "what an earlier turn or another program had written was still on its way to the disk when "
        "the server was started, and took its share of it",
        "find what else writes to this disk; longer turns make what the other arm left behind a "
        "smaller part",
    ),
    ThreatKind.NO_CHECKPOINT: ThreatWords(
        "the cycles asked for do not fit into the longest turn: what checkpoints cost is in the "
        "figure in part, or not at all",
        "read the figure as one of that time without a checkpoint, or give turns more time or a "
        "larger time scale",
    ),
    ThreatKind.UNEQUAL_TURNS: ThreatWords(
        "the checkpoint cycles of one arm are much longer than was planned, or than the other's: "
        "what comes with time alone, as caches that fill, autovacuum and tables that grow, is in "
        "the figure of one arm more than of the other",
        "weigh again, so that a pilot sees how long cycles are; or state how long a turn is "
        "measured (turns.measured)",
    ),
    ThreatKind.NO_PAUSE: ThreatWords(
        "the log limit or the timer comes so soon that a checkpoint begins as soon as the one "
        "before it is complete: most changes then log whole pages",
        "raise max_wal_size, or checkpoint_timeout where that is the nearer, unless it is what is "
        "weighed; or use a smaller time scale, which divides both less",
    ),
    ThreatKind.UNEQUAL_DEBT: ThreatWords(
        "one arm ended its turns with more log or dirty pages to be paid for later than the other: "
        "it was charged less than its work",
        "measure more cycles a turn (a larger budget for as many epochs), of which what is left is "
        "a smaller part",
    ),
    ThreatKind.NOT_HELD_STILL: ThreatWords(
        "processes of an arm ran while it was to stand still: they worked in the slices of another "
        "arm, and in time that was charged to none",
        "end what sends signals to the servers' processes, and weigh anew",
    ),
    ThreatKind.WRITE_BACK_SHARED: ThreatWords(
        "the kernel writes an arm's dirty pages in whichever arm's slice it is: where arms dirty "
        "unequal amounts and the device is busy, one pays for part of the other's",
        "weigh in turns, one arm at a time (--set layout=turns)",
    ),
    ThreatKind.CHECKPOINTS_BY_SIZE: ThreatWords(
        "the size of the log requested checkpoints, of one arm far more often than of the other: "
        "right after a checkpoint most changes log whole pages",
        "raise what requests them by size, equal in all arms (--set settings.max_wal_size=64GB, "
        "if the disk has room), or give a larger budget, which makes the time scale smaller",
    ),
    ThreatKind.CYCLES_CUT: ThreatWords(
        "a window began or ended within a checkpoint cycle, not where one begins: it has more, or "
        "less, of the burst after a checkpoint than whole cycles have",
        "weigh anew on a quieter machine, or in turns (--set layout=turns)",
    ),
    ThreatKind.CLOCK_AHEAD: ThreatWords(
        "a setting of wall time was not multiplied by the number of arms, or borders take as long "
        "as slices: checkpoints come nearer in an arm's own time than the plan has them",
        "leave such settings to the study, which multiplies them, and not to files or roles of the "
        "server; or weigh longer slices (--set budget.slice=1s)",
    ),
    ThreatKind.AGEING: ThreatWords(
        "files grow and fragment from epoch to epoch, and the arms do not age alike: the figure is "
        "the mean over these ages",
        "look at the effect epoch by epoch; weigh data of the age that is asked about, restored "
        "before every epoch",
    ),
    ThreatKind.OBSERVATIONAL: ThreatWords(
        "chance did not draw which arm was measured when, or this is not stated: whatever "
        "else differed between the arms is part of the effect",
        "measure the arms in random order inside every row; where that was done, say "
        "--order random",
    ),
    ThreatKind.ONE_AFTER_OTHER: ThreatWords(
        "what changed on the machine between the arms (caches, clocks, neighbours, the disk) looks "
        "like the arm; no interval holds it",
        "measure the arms by turns, in random order: in simulated drift one arm after the other "
        "calls equal things different in 78 % of cases",
    ),
    ThreatKind.CONDITIONS_DIFFER: ThreatWords(
        "the runs were not asked for the same work, or not asked in the same way: what differs "
        "besides the arm is part of the effect",
        "run both arms by the same job file and the same version; where one of these is what is "
        "compared, see that it is the only one",
    ),
    ThreatKind.DRIFT_OR_ARM: ThreatWords(
        "arms were measured one after the other, and the level moved inside an arm by half of what "
        "they differ or more: a course of time like that explains the difference too",
        "measure again, the arms by turns in random order",
    ),
    ThreatKind.LEVEL_MOVED: ThreatWords(
        "something besides the arms changed while they were measured: other load, caches, a full "
        "disk, maintenance",
        "find what happened then; compare row by row, so that both arms of a row share it",
    ),
    ThreatKind.ROWS_DEPEND: ThreatWords(
        "a row resembles the one before it, or so few rows cannot rule it out: then they tell less "
        "than their number says",
        "draw the order of the arms at random, which makes rows independent (--order random says "
        "so), or measure more rows",
    ),
    ThreatKind.FEW_ROWS_DECIDE: ThreatWords(
        "a storm, a stall or a slip of the pen: the result rests on a few rows",
        "look at those rows; they stay in, since a stall is a part of what users feel",
    ),
    ThreatKind.CENTRES_DISAGREE: ThreatWords(
        "the effect sits in a few rows, or rows are skewed: totals and typical rows tell different "
        "stories",
        "say which is asked: what the work takes in all (mean) or a typical row (median)",
    ),
    ThreatKind.ORDER_LOST: ThreatWords(
        "rows out of their order in time (sorted, named, in files of unknown order) hide drift, "
        "steps and what neighbours share",
        "judge the numbers in the order in which they were measured, and say --order",
    ),
    ThreatKind.TOO_FEW_ROWS: ThreatWords(
        "no valid test can tell chance from effect with fewer than 8 independent repetitions",
        "measure more of them; the interval shown is a t interval",
    ),
    ThreatKind.ONE_RUN: ThreatWords(
        "seconds and transactions of one run are no repetitions: starts of the same server have "
        "differed by 4–7 %, and the interval holds none of that",
        "measure every arm at least 8 times, restarted, in random order, and give every run as a "
        "file of its own",
    ),
    ThreatKind.NO_SPREAD: ThreatWords(
        "one value per arm has no spread: the same arm measured again may differ as much",
        "repeat both arms in random order; the repetitions needed are named above",
    ),
}
