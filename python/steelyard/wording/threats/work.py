"""Says what is wrong with the work that arms were timed for: not done, not alike, drifting; and
with the load: searches for a rate, and machines that put it on together.
"""

from __future__ import annotations

from steelyard.evaluation.rates import (
    ClientsTooFew,
    DriverLate,
    LimitNeverCrossed,
    RateIsBound,
)
from steelyard.evaluation.threats.run import (
    BackgroundInOneArm,
    ChecksViolated,
    ConnectionsDrawn,
    DatabasesOfOneServer,
    DriverMostOfWork,
    FewLoads,
    PilotUnsettled,
    ProcessorTimeMoved,
    ServersOfTheirOwn,
    StillDrifting,
    ThroughputHardlyMoved,
    ThroughputMovedToo,
    WorkingSetUnlike,
    WrongRows,
)
from steelyard.evaluation.threats.together import (
    ClientsSlow,
    DriverUsesProcessors,
    FewerEndedThanCounted,
    MachineLate,
    MachinesApart,
    MachinesFartherApart,
)
from steelyard.evaluation.threats.work import (
    ArrivalsNotBegun,
    NoRowAtAll,
    NoRowOfArm,
    RowsUnlike,
    StandbyBehind,
)
from steelyard.model.readings import LATE_SHARE
from steelyard.model.units import (
    NS_PER_MS,
    counted,
    format_bytes,
    format_digits,
    format_duration,
    format_percent,
    percent_of_log,
)
from steelyard.wording.threats.advice import Texts

_EXPECTED = {
    "exceeds": "do not fit into shared buffers",
    "fits": "fit into shared buffers",
}
_TIMES = {1: "once", 2: "twice"}
_AT_END = {"slowest": "did not keep", "fastest": "kept"}
"""End of the rates of a search → what the arm did there."""


def _not_begun(observed: ArrivalsNotBegun) -> str:
    percent = 100 * observed.unstarted / observed.arrived
    return (
        f"{percent:.1f} % of {observed.arrived} arrivals had not begun in {observed.arm} "
        "when their slice ended"
    )


def _no_row_at_all(observed: NoRowAtAll) -> str:
    return (
        f"not one row was returned or changed in {observed.transactions} transactions of "
        f"{observed.control} and {observed.arm}"
    )


def _no_row_of_arm(observed: NoRowOfArm) -> str:
    rows = format_digits(observed.rows_of_other, 3)
    return f"{observed.arm} returned and changed no row, the other arm {rows} rows a transaction"


def _rows_unlike(observed: RowsUnlike) -> str:
    rows = format_percent(percent_of_log(observed.log_ratio))
    return (
        f"a transaction of {observed.arm} returned {rows} rows against {observed.control}, and "
        "both only read"
    )


def _standby_behind(observed: StandbyBehind) -> str:
    age = format_duration(round(observed.age_ms * NS_PER_MS))
    return (
        f"a standby of {observed.arm} was {format_bytes(round(observed.log_bytes))} of log and "
        f"{age} behind at the end of the median epoch"
    )


def _wrong_rows(observed: WrongRows) -> str:
    they = "it" if observed.transactions == 1 else "they"
    return (
        f"{counted(observed.transactions, 'transactions')} of {observed.arm} returned another "
        f"number of rows than {they} must"
    )


def _checks_violated(observed: ChecksViolated) -> str:
    more = f" (and {observed.violations - 1} more)" if observed.violations > 1 else ""
    return f"{observed.arm}, epoch {observed.epoch + 1}: {observed.violation}{more}"


def _background_in_one_arm(observed: BackgroundInOneArm) -> str:
    each = " and ".join(f"{count:.0f} in {arm}" for arm, count in observed.counts)
    return f"{observed.work}: {each}"


def _working_set_unlike(observed: WorkingSetUnlike) -> str:
    each = " and ".join(
        f"{arm} read {format_digits(blocks, 2)} blocks a transaction"
        for arm, blocks in observed.blocks_read
    )
    return f"{each}; the study says that its data {_EXPECTED[observed.expected]}"


def _driver_most_of_work(observed: DriverMostOfWork) -> str:
    return f"the driver used {observed.share:.0%} of the processor time of driver and servers"


def _throughput_moved_too(observed: ThroughputMovedToo) -> str:
    return f"{_processor_time(observed)}, and its throughput moved alike"


def _hardly_moved(observed: ThroughputHardlyMoved) -> str:
    return f"{_processor_time(observed)}, and less than half of that shows in its throughput"


def _processor_time(observed: ProcessorTimeMoved) -> str:
    change = format_percent(percent_of_log(observed.log_ratio))
    return f"{observed.arm} takes {change} processor time a transaction"


def _pilot_unsettled(_: PilotUnsettled) -> str:
    return "the pilot's load did not settle"


def _still_drifting(observed: StillDrifting) -> str:
    return (
        f"the throughput of {observed.arm} still drifted in {observed.drifting} of "
        f"{observed.epochs} epochs"
    )


def _few_loads(observed: FewLoads) -> str:
    times = _TIMES[observed.loads]
    return f"the builds cannot share data, and that of each was loaded {times}"


def _connections_drawn(_: ConnectionsDrawn) -> str:
    return "the treatment was drawn onto connections to one running server"


def _databases_of_one_server(_: DatabasesOfOneServer) -> str:
    return "the arms are databases on one running server, which may do other work too"


def _servers_of_their_own(_: ServersOfTheirOwn) -> str:
    return "each arm is a running server of its own"


def _rate_is_bound(observed: RateIsBound) -> str:
    return (
        f"{observed.arm} {_AT_END[observed.end]} {observed.goal.words} at the {observed.end} rate "
        f"of its search in {observed.count} of {observed.epochs} epochs"
    )


def _never_crossed(observed: LimitNeverCrossed) -> str:
    return (
        f"the later ones of {observed.visits} visits to {observed.arm} never crossed the limit in "
        f"{observed.count} of {observed.epochs} epochs"
    )


def _driver_late(observed: DriverLate) -> str:
    return (
        f"transactions of {observed.arm} began {format_duration(observed.lag_ns)} late on average "
        f"near the limit, and only {100 * observed.waited / observed.begun:.0f} % of them found no "
        "idle client"
    )


def _few_clients(observed: ClientsTooFew) -> str:
    clients = f"one of {observed.clients} clients" if observed.clients > 1 else "the one client"
    return (
        f"{100 * observed.waiting_share:.0f} % of the latency of {observed.arm} was waiting for "
        f"{clients}, while processors were wanted to "
        f"{100 * observed.processor_share:.0f} %"
    )


def _apart(observed: MachinesApart) -> str:
    return (
        f"in {observed.apart} of {observed.slices} slices of {observed.arm} the machines began up "
        f"to {format_duration(observed.longest_ns)} apart, more than {LATE_SHARE:.0%} of the slice"
    )


def _farther_apart(observed: MachinesFartherApart) -> str:
    return (
        f"the machines began {observed.share:.1%} of a slice farther apart for "
        f"{observed.farther} than for {observed.nearer}"
    )


def _uses_processors(observed: DriverUsesProcessors) -> str:
    return (
        f"the driver of {observed.machine} used {observed.share:.0%} of that machine's processors"
    )


def _late(observed: MachineLate) -> str:
    return f"{observed.machine} began {observed.share:.0%} of its slices late"


def _slow(observed: ClientsSlow) -> str:
    return (
        f"a client of {observed.machine} did {observed.share:.0%} of what one of the other "
        "machines did"
    )


def _fewer_ended(observed: FewerEndedThanCounted) -> str:
    return (
        f"the machines counted {observed.counted:,.0f} transactions of all arms, of which the "
        f"servers ended {observed.ended:,.0f}"
    )


TEXTS: Texts = {
    ArrivalsNotBegun: _not_begun,
    NoRowAtAll: _no_row_at_all,
    NoRowOfArm: _no_row_of_arm,
    RowsUnlike: _rows_unlike,
    StandbyBehind: _standby_behind,
    WrongRows: _wrong_rows,
    ChecksViolated: _checks_violated,
    BackgroundInOneArm: _background_in_one_arm,
    WorkingSetUnlike: _working_set_unlike,
    DriverMostOfWork: _driver_most_of_work,
    ThroughputMovedToo: _throughput_moved_too,
    ThroughputHardlyMoved: _hardly_moved,
    PilotUnsettled: _pilot_unsettled,
    StillDrifting: _still_drifting,
    FewLoads: _few_loads,
    ConnectionsDrawn: _connections_drawn,
    DatabasesOfOneServer: _databases_of_one_server,
    ServersOfTheirOwn: _servers_of_their_own,
    RateIsBound: _rate_is_bound,
    LimitNeverCrossed: _never_crossed,
    DriverLate: _driver_late,
    ClientsTooFew: _few_clients,
    MachinesApart: _apart,
    MachinesFartherApart: _farther_apart,
    DriverUsesProcessors: _uses_processors,
    MachineLate: _late,
    ClientsSlow: _slow,
    FewerEndedThanCounted: _fewer_ended,
}
