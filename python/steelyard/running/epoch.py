"""Runs one epoch: restart every arm in its slot, reconnect, place, warm up, measure, account.

An epoch that an arm could not start or survive is an outcome, not an error: it is named, counted
and kept out of the estimate. Three in a row end the weighing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.engines.counters import CounterSample
from steelyard.engines.engine import Instance, TreeUse
from steelyard.evaluation.achievements import work_per_minute
from steelyard.evaluation.pool_warmth import PARTS
from steelyard.model.errors import DriverError, EngineError, ServerError
from steelyard.model.readings import EpochTotals
from steelyard.record.totals import epoch_totals
from steelyard.running.arm_loss import ArmLostError
from steelyard.running.choices import Choices
from steelyard.running.counted import counted_visits
from steelyard.running.load import Visit, lay_out
from steelyard.running.observation import counters_of, use_of
from steelyard.running.setup import Setup
from steelyard.running.suspend_detection import DROPPED, SuspendDetector
from steelyard.study.plan import block_count

Json = dict[str, Any]


@dataclass(frozen=True)
class RanEpoch:
    """One epoch that was run: its totals, and its line in telemetry.jsonl."""

    totals: EpochTotals
    head: Json

    def violations(self, arm: str) -> list[str]:
        """What the workload's checks found wrong with an arm's work."""
        return list(self.head.get("violations", {}).get(arm, ()))

    @property
    def driver_cpu_ns(self) -> int:
        """Processor time of the driver over the measured slices of every arm."""
        return sum(arm.get("driver_cpu_ns", 0) for arm in self.head["arms"].values())


class EpochRunner:
    """Runs the epochs of one weighing, each on its own restart."""

    def __init__(self, setup: Setup, choices: Choices) -> None:
        self._setup = setup
        self._design = setup.design
        self._choices = choices

    def run(self, epoch: int, attempt: int = 1) -> RanEpoch:
        """Run one epoch and write its lines; `attempt` tells a resumed epoch from its torn first.

        Raises nothing for an arm that died: the totals' outcome says so.
        """
        slots = self._design.slots_of(epoch)
        order = self._design.start_order(epoch)
        head: Json = {"type": "epoch", "epoch": epoch, "attempt": attempt, "slots": slots}
        head |= {"start_order": list(order), "outcome": "complete", "arms": {}}
        head["loads"] = self._setup.loads_of(epoch)
        lines: list[Json] = []
        host = self._setup.laboratory.host
        host_before = host.sample()
        try:
            with self._setup.started_arms(epoch, self._choices.upkeep) as standing:
                try:
                    self._measure(epoch, attempt, slots, standing, lines, head)
                except (EngineError, DriverError) as failure:
                    head |= {"outcome": _blame(standing, failure), "error": failure.lines()}
        except ArmLostError as failure:
            head |= {"outcome": failure.outcome, "error": failure.lines()}
        except ServerError as failure:  # it did its work and would not stop
            if head["outcome"] == "complete":
                head |= {"outcome": f"failed: {failure.primary}", "error": failure.lines()}
        if head["outcome"] != "complete":
            self._keep_logs(epoch)
        head["host"] = [list(threat) for threat in host.threats(host_before, host.sample())]
        self._setup.record.append("telemetry.jsonl", head)
        return RanEpoch(epoch_totals(head, lines), head)

    def _measure(
        self,
        epoch: int,
        attempt: int,
        slots: Mapping[str, int],
        standing: Mapping[str, Instance],
        lines: list[Json],
        head: Json,
    ) -> None:
        data = self._setup.data
        before = {arm: counters_of(instance) for arm, instance in standing.items()}
        done_before = {arm: data.work_counts(instance) for arm, instance in standing.items()}
        seed = self._design.script_seed(epoch)
        placement, stalls = self._choices.placement, self._choices.stalls
        with self._setup.connect(standing, placement, seed, stalls) as load:
            warm_up, measured = self._visits(epoch)
            place = {"epoch": epoch, "attempt": attempt}
            self._keep(load.run(warm_up), place, slots, lines)
            uses = [_uses(standing)]
            borders = self._part_borders(measured)
            for first, after in zip(borders, [*borders[1:], None], strict=True):
                part = [
                    visit
                    for visit in measured
                    if visit.block >= first and (after is None or visit.block < after)
                ]
                self._keep(load.run(part), place, slots, lines)
                uses.append(_uses(standing))
        head["arms"] = {
            arm: self._account(arm, standing[arm], before[arm], uses[0], uses[-1], lines)
            for arm in standing
        }
        if self._setup.study.budget.counted is None:
            for arm in standing:
                head["arms"][arm]["parts"] = _reads(arm, borders, uses)
        for arm, instance in standing.items():
            own = [line for line in lines if line["arm"] == arm]
            done = data.work_counts(instance)
            head["arms"][arm]["work_per_minute"] = work_per_minute(done_before[arm], done, own)
            head["arms"][arm]["probes"] = data.probes(instance)
        head["violations"] = {
            arm: list(data.violations(instance)) for arm, instance in standing.items()
        }

    def _part_borders(self, measured: Sequence[Visit]) -> list[int]:
        """The first blocks of four equal parts of the measured visits; reads are taken there."""
        blocks = 1 + max(visit.block for visit in measured)
        by_time = self._setup.study.budget.counted is None and blocks >= PARTS
        return [blocks * part // PARTS for part in range(PARTS)] if by_time else [0]

    def _visits(self, epoch: int) -> tuple[list[Visit], list[Visit]]:
        choices, arms = self._choices, self._design.arms
        if self._setup.study.budget.counted is not None:
            return counted_visits(self._design, epoch, self._setup.study)
        warm_blocks = block_count(choices.warmup_ns, len(arms), choices.visit_ns)
        blocks = block_count(self._design.epoch_ns, len(arms), choices.visit_ns)
        length_ns = choices.slice_ns
        return lay_out(self._design, epoch, warm_blocks, blocks, length_ns=length_ns)

    def _keep(
        self, answers: Iterable[Json], place: Json, slots: Mapping[str, int], lines: list[Json]
    ) -> None:
        detector = SuspendDetector(self._setup.laboratory.clock.suspended_ns)
        for answer in answers:
            line = {**place, "slot": slots[answer["arm"]], **answer}
            if detector.affected():
                line["dropped"] = DROPPED
            self._setup.record.append("slices.jsonl", line)
            lines.append(line)
            if answer.get("lost"):
                raise ArmLostError.in_slice(answer["arm"], answer["errors"])

    def _keep_logs(self, epoch: int) -> None:
        """The servers' own words of an epoch that was lost, beside the record's other files."""
        for slot, log in self._setup.laboratory.engines.server_logs().items():
            self._setup.record.write(f"server-epoch{epoch + 1}-{slot}.log", log)

    def _account(
        self,
        arm: str,
        instance: Instance,
        before: CounterSample,
        start: Mapping[str, TreeUse],
        end: Mapping[str, TreeUse],
        lines: list[Json],
    ) -> Json:
        counted = counters_of(instance).since(before)
        own = [line for line in lines if line["arm"] == arm]
        return {
            "cpu_ns": end[arm].cpu_ns - start[arm].cpu_ns,
            "read_bytes": end[arm].read_bytes - start[arm].read_bytes,
            "written_bytes": end[arm].written_bytes - start[arm].written_bytes,
            "driver_cpu_ns": sum(x["driver_cpu_ns"] for x in own if x["kind"] == "measured"),
            "transactions": sum(x["transactions"] for x in own if x["kind"] == "measured"),
            "all_transactions": sum(x["transactions"] for x in own),
            "counters": dict(counted.values),
            **({"counters_missing": dict(counted.missing)} if counted.missing else {}),
        }


def _blame(standing: Mapping[str, Instance], failure: EngineError | DriverError) -> str:
    """Which arms did not survive; a failure that is no arm's is named by its own words."""
    dead = {arm for arm, instance in standing.items() if not instance.running}
    if isinstance(failure, ArmLostError):
        dead.add(failure.arm)
    return f"crashed: {', '.join(sorted(dead))}" if dead else f"failed: {failure.primary}"


def _uses(standing: Mapping[str, Instance]) -> dict[str, TreeUse]:
    return {arm: use_of(instance) for arm, instance in standing.items()}


def _reads(
    arm: str, borders: Sequence[int], uses: Sequence[Mapping[str, TreeUse]]
) -> list[dict[str, int]]:
    """What an arm's processes asked the kernel for in each part; `uses`: at every border."""
    asked = [use[arm].requested_bytes for use in uses]
    return [
        {"first_block": first, "requested_bytes": after - before}
        for first, before, after in zip(borders, asked, asked[1:], strict=False)
    ]
