"""Says why arms should not share the machine: no room for their data, or write-back shared."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steelyard.evaluation.threats.cycles import write_back_shared
from steelyard.running.preparing.memory_room import MemoryRoom, memory_room, pool_bytes
from steelyard.running.preparing.setup import Setup
from steelyard.running.turns.solo_run import SoloRun
from steelyard.wording.threats.threat import threat_of


def room_of(setup: Setup, runs: Mapping[str, SoloRun]) -> MemoryRoom:
    """What the arms take, by the size of their files as they are on the disk."""
    arms = setup.own_slots.arms
    pools = {arm: pool_bytes(prepared.engine, prepared.settings) for arm, prepared in arms.items()}
    every = min(run.file_bytes for run in runs.values())
    free = setup.laboratory.host.sample().memory_available_bytes
    return memory_room(pools, every // len(arms), setup.study.workload.clients, free)


def shared_write_back(setup: Setup, runs: Mapping[str, SoloRun]) -> str:
    """What the pilot saw of it, of the first arm that shows it: it runs alone, so what it dirtied
    and the devices did not write by then is left to whoever comes after; empty: nothing."""
    control, *others = setup.design.arms
    queues = [run.queue for run in runs.values() if not math.isnan(run.queue)]
    queue = max(queues, default=math.nan)
    observations = (
        write_back_shared(
            {name: runs[name].dirtied_bytes for name in (control, arm)},
            {name: runs[name].written_bytes for name in (control, arm)},
            queue,
        )
        for arm in others
    )
    first = next((shared for shared in observations if shared is not None), None)
    return "" if first is None else threat_of(first).seen
