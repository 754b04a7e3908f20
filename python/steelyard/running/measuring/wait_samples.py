"""Samples, at random moments of the measured slices, what the driven arm's sessions wait for.

One sample is taken every 0.2 s on average and costs the driven server some 0.2 ms of processor
time. The moments are drawn, since a fixed step could keep time with the slices. A sample that began
before its slice or ended after it is not counted.
"""

from __future__ import annotations

import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from steelyard.engines.capabilities.counters import SampledWait, WaitProbe, Waits
from steelyard.engines.engine import Instance
from steelyard.engines.loading import work_database
from steelyard.model.errors import EngineError
from steelyard.record.epoch import WaitLine, WaitsLine
from steelyard.record.slice import SliceLine
from steelyard.running.measuring.load import Visit

MEAN_PAUSE_S = 0.2


@dataclass(frozen=True)
class _Sample:
    arm: str
    began_ns: int
    ended_ns: int
    waits: Sequence[SampledWait]


class WaitSamples:
    """Samples the arm that is driven, from its making until it is closed.

    An arm whose engine shows no waits, or whose server does not permit the query, has no samples.
    """

    def __init__(
        self, instances: Mapping[str, Instance], seed: int, now_ns: Callable[[], int]
    ) -> None:
        self._now_ns = now_ns
        self._rng = random.Random(seed)
        self._probes: dict[str, WaitProbe] = {}
        for arm, instance in instances.items():
            if isinstance(instance, Waits):
                try:
                    self._probes[arm] = instance.wait_probe(work_database(instance))
                except EngineError:
                    continue
        self._arm: str | None = None
        self._pending: deque[_Sample] = deque()
        self._events: dict[str, Counter[tuple[str, str]]] = {arm: Counter() for arm in self._probes}
        self._samples: Counter[str] = Counter()
        self._sessions: Counter[str] = Counter()
        self._ended = threading.Event()
        self._sampling = threading.Lock()
        self._thread = threading.Thread(target=self._sample_on, name="wait samples", daemon=True)
        if self._probes:
            self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it and disconnect; safe to call twice."""
        self._ended.set()
        if self._thread.ident is not None:
            self._thread.join()
        for probe in self._probes.values():
            probe.close()

    def during(self, visits: Sequence[Visit], lines: Iterable[SliceLine]) -> Iterator[SliceLine]:
        """The lines of these visits as they end; meanwhile the driven arm is sampled. Afterwards
        no sample is under way: the arm may be suspended."""
        following = [*(visit.arm for visit in visits[1:]), None]
        self._arm = visits[0].arm if visits else None
        for line, arm in zip(lines, following, strict=False):
            self._arm = arm
            self._count(line)
            yield line
        self._arm = None
        with self._sampling:
            pass  # the last one has its answer

    def lines(self) -> dict[str, WaitsLine]:
        """Arm → what was seen of it so far."""
        return {
            arm: WaitsLine(
                samples=self._samples[arm],
                sessions=self._sessions[arm],
                events=tuple(
                    WaitLine.model_validate({"event": event, "part": part, "sessions": number})
                    for (event, part), number in sorted(self._events[arm].items())
                ),
            )
            for arm in self._probes
            if self._samples[arm]
        }

    def _count(self, line: SliceLine) -> None:
        """Count the samples that lie within a slice; older ones belong to none."""
        while self._pending and self._pending[0].began_ns < line.end_ns:
            sample = self._pending.popleft()
            within = line.start_ns <= sample.began_ns and sample.ended_ns <= line.end_ns
            if sample.arm == line.arm and within and not line.dropped:
                self._samples[line.arm] += 1
                self._sessions[line.arm] += line.clients
                for wait in sample.waits:
                    self._events[line.arm][wait.event, wait.part] += wait.sessions

    def _sample_on(self) -> None:
        while not self._ended.wait(self._rng.uniform(0, 2 * MEAN_PAUSE_S)):
            with self._sampling:
                self._sample()

    def _sample(self) -> None:
        arm = self._arm
        probe = self._probes.get(arm) if arm is not None else None
        if arm is None or probe is None:
            return
        began_ns = self._now_ns()
        try:
            waits = probe.sample()
        except EngineError:
            return  # the server died: the load reports it
        self._pending.append(_Sample(arm, began_ns, self._now_ns(), waits))
