"""Says what the weighing itself shows: answers, background, work, driver, drift, plan."""

from __future__ import annotations

from steelyard.evaluation.observations import run as seen
from steelyard.model.units import counted, format_digits, format_percent, percent_of_log
from steelyard.wording.threats.advice import Texts

_EXPECTED = {
    "exceeds": "do not fit into shared buffers",
    "fits": "fit into shared buffers",
}
_TIMES = {1: "once", 2: "twice"}


def _wrong_rows(observed: seen.WrongRows) -> str:
    they = "it" if observed.transactions == 1 else "they"
    return (
        f"{counted(observed.transactions, 'transactions')} of {observed.arm} returned another "
        f"number of rows than {they} must"
    )


def _checks_violated(observed: seen.ChecksViolated) -> str:
    more = f" (and {observed.violations - 1} more)" if observed.violations > 1 else ""
    return f"{observed.arm}, epoch {observed.epoch + 1}: {observed.violation}{more}"


def _background_in_one_arm(observed: seen.BackgroundInOneArm) -> str:
    each = " and ".join(f"{count:.0f} in {arm}" for arm, count in observed.counts)
    return f"{observed.work}: {each}"


def _working_set_unlike(observed: seen.WorkingSetUnlike) -> str:
    each = " and ".join(
        f"{arm} read {format_digits(blocks, 2)} blocks a transaction"
        for arm, blocks in observed.blocks_read
    )
    return f"{each}; the study says that its data {_EXPECTED[observed.expected]}"


def _driver_most_of_work(observed: seen.DriverMostOfWork) -> str:
    return f"the driver used {observed.share:.0%} of the processor time of driver and servers"


def _throughput_moved_too(observed: seen.ThroughputMovedToo) -> str:
    return f"{_processor_time(observed)}, and its throughput moved alike"


def _hardly_moved(observed: seen.ThroughputHardlyMoved) -> str:
    return f"{_processor_time(observed)}, and less than half of that shows in its throughput"


def _processor_time(observed: seen.ProcessorTimeMoved) -> str:
    change = format_percent(percent_of_log(observed.log_ratio))
    return f"{observed.arm} takes {change} processor time a transaction"


def _pilot_unsettled(_: seen.PilotUnsettled) -> str:
    return "the pilot's load did not settle"


def _still_drifting(observed: seen.StillDrifting) -> str:
    return (
        f"the throughput of {observed.arm} still drifted in {observed.drifting} of "
        f"{observed.epochs} epochs"
    )


def _few_loads(observed: seen.FewLoads) -> str:
    times = _TIMES[observed.loads]
    return f"the builds cannot share data, and that of each was loaded {times}"


def _connections_drawn(_: seen.ConnectionsDrawn) -> str:
    return "the treatment was drawn onto connections to one running server"


def _databases_of_one_server(_: seen.DatabasesOfOneServer) -> str:
    return "the arms are databases on one running server, which may do other work too"


def _servers_of_their_own(_: seen.ServersOfTheirOwn) -> str:
    return "each arm is a running server of its own"


TEXTS: Texts = {
    seen.WrongRows: _wrong_rows,
    seen.ChecksViolated: _checks_violated,
    seen.BackgroundInOneArm: _background_in_one_arm,
    seen.WorkingSetUnlike: _working_set_unlike,
    seen.DriverMostOfWork: _driver_most_of_work,
    seen.ThroughputMovedToo: _throughput_moved_too,
    seen.ThroughputHardlyMoved: _hardly_moved,
    seen.PilotUnsettled: _pilot_unsettled,
    seen.StillDrifting: _still_drifting,
    seen.FewLoads: _few_loads,
    seen.ConnectionsDrawn: _connections_drawn,
    seen.DatabasesOfOneServer: _databases_of_one_server,
    seen.ServersOfTheirOwn: _servers_of_their_own,
}
