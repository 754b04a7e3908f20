"""Watches the load settle on arms just started: throughput, blocks read, pages mapped, waits.

Blocks read are those that an arm's processes ask of the kernel by read calls, as its buffer pool
does not hold what they touch. They are read after every block, while no slice runs: what is read
during a slice would belong partly to the next one, and on a busy machine mostly.

A pool that was read into is not all: each new connection maps it into its own memory page by page.
8 clients on 1 GB took 100,000 page faults for it, in 10 s, and were a quarter faster afterwards.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from steelyard.analysis.pilot.pool_level import few_faults, level_after
from steelyard.analysis.pilot.steady_state import settled_after
from steelyard.engines.engine import Instance
from steelyard.evaluation.threats.pool_warmth import BLOCK_BYTES
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.driving import require_work
from steelyard.running.measuring.observation import WaitSampling, use_of

BlockEnded = Callable[[Sequence[SliceLine]], None]
"""Is called with the slices of a block as it ends."""
Run = Callable[[Sequence[int], BlockEnded], Sequence[SliceLine]]
"""Runs a block for each length in ns, one after the other."""
WARMUP_FLOOR_NS = 500_000_000
WARMUP_MARGIN = 1.25
"""The restarts to come may settle a little later than the one that was watched."""


@dataclass(frozen=True)
class Settled:
    """What was seen of a load until it had settled, or did not."""

    warmup_ns: int  # not capped
    settled: bool  # throughput
    falling: tuple[str, ...]  # arms whose blocks read were not level at the end
    mapping: tuple[str, ...]  # arms whose page faults were not, where they were asked about
    reads: Mapping[str, tuple[float, float]]  # blocks a transaction: first and last quarter
    faults: Mapping[str, tuple[float, float]]  # page faults a transaction, likewise
    wal_flush_share: float
    latency_ns: float
    control_ns: float  # time of a transaction of the control, once it had settled
    transactions_per_second: float

    @property
    def warm(self) -> bool:
        """Whether pools were warm at the end."""
        return not self.falling and not self.mapping


class LoadWatch:
    """The load on the started arms, from its first slice on."""

    def __init__(
        self,
        arms: Sequence[str],
        instances: Mapping[str, Instance],
        run: Run,
        *,
        mapped: bool,
        on_block: BlockEnded | None = None,
    ) -> None:
        """`mapped`: page faults must become level too, as connections map the pools; `on_block`: is
        called with every block too."""
        self._on_block = on_block
        self._arms = arms
        self._instances = instances
        self._run = run
        self._lines: list[SliceLine] = []
        self._mapped = mapped
        self._used = {arm: use_of(instance) for arm, instance in instances.items()}
        self._reads: dict[str, list[float]] = {arm: [] for arm in arms}
        self._faults: dict[str, list[float]] = {arm: [] for arm in arms}

    def watch(self, cap_ns: int, length_ns: int) -> Settled:
        """Go on with the load up to `cap_ns` in all, in blocks of slices, and see."""
        block_ns = len(self._arms) * length_ns
        done = len(self._lines) // len(self._arms)
        blocks = max(10, round(cap_ns / block_ns))
        waits = WaitSampling(list(self._instances.values()))
        try:
            self._lines += self._run([length_ns] * (blocks - done), self._note)
        finally:
            share = waits.stop()
        require_work(self._lines)
        return self._settled(blocks, block_ns, share)

    def _note(self, block: Sequence[SliceLine]) -> None:
        for line in block:
            before, now = self._used[line.arm], use_of(self._instances[line.arm])
            self._used[line.arm] = now
            done = line.transactions or math.nan
            blocks = (now.requested_bytes - before.requested_bytes) / BLOCK_BYTES
            self._reads[line.arm].append(blocks / done)
            self._faults[line.arm].append((now.mapped_pages - before.mapped_pages) / done)
        if self._on_block is not None:
            self._on_block(block)

    def _settled(self, blocks: int, block_ns: int, wal_flush_share: float) -> Settled:
        lines = self._lines
        # A cut is counted in slices of an arm: one a block.
        cuts = [
            settled_after([_rate(line) for line in lines if line.arm == arm]) for arm in self._arms
        ]
        levels = {arm: level_after(self._reads[arm]) for arm in self._arms}
        done = sum(line.transactions for line in lines)
        latency_ns = sum(line.latency_sum_ns for line in lines) / done
        few = few_faults(latency_ns)
        maps = {arm: level_after(self._faults[arm], few) for arm in self._arms if self._mapped}
        every = [*cuts, *levels.values(), *maps.values()]
        warm_blocks = longest_cut(every, blocks)
        busy_s = sum(line.busy_with_debt_ns / line.clients for line in lines) / 1e9
        return Settled(
            warmup_ns=warmup_of(warm_blocks, block_ns),
            settled=None not in cuts,
            falling=tuple(arm for arm, level in levels.items() if level is None),
            mapping=tuple(arm for arm, level in maps.items() if level is None),
            faults={arm: _ends(self._faults[arm]) for arm in self._arms},
            reads={arm: _ends(self._reads[arm]) for arm in self._arms},
            wal_flush_share=wal_flush_share,
            latency_ns=latency_ns,
            control_ns=typical_ns(lines[warm_blocks * len(self._arms) :] or lines, self._arms[0]),
            transactions_per_second=done / busy_s if busy_s else 0.0,
        )


def longest_cut(cuts: Iterable[int | None], blocks: int) -> int:
    """Blocks that are warm-up for all; what had not settled takes all that were watched."""
    return max(blocks if cut is None else cut for cut in cuts)


def warmup_of(blocks: int, block_ns: int) -> int:
    """The warm-up, in ns, of epochs whose pilot had so many blocks of it; not capped."""
    return max(WARMUP_FLOOR_NS, round(blocks * block_ns * WARMUP_MARGIN))


def typical_ns(lines: Sequence[SliceLine], arm: str) -> float:
    """What a transaction of an arm takes in the middle one of its slices: a pilot is short, and one
    disturbed second must not decide. 0 where no slice has any."""
    arm_lines = [line for line in lines if line.arm == arm and line.transactions]
    return float(
        statistics.median([x.busy_with_debt_ns / x.transactions for x in arm_lines] or [0.0])
    )


def _ends(reads: Sequence[float]) -> tuple[float, float]:
    finite = [read for read in reads if math.isfinite(read)] or [0.0]
    quarter = max(1, len(finite) // 4)
    return round(statistics.fmean(finite[:quarter]), 4), round(
        statistics.fmean(finite[-quarter:]), 4
    )


def _rate(line: SliceLine) -> float:
    busy = line.busy_with_debt_ns
    return line.transactions / busy if busy else 0.0
