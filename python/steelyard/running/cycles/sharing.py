"""Says why arms should not share the machine: no room for their data, or write-back shared."""

from __future__ import annotations

import math
from collections.abc import Mapping

from steelyard.evaluation.threats.cycles import write_back_words
from steelyard.running.preparing.memory_room import MemoryRoom, memory_room, pool_bytes
from steelyard.running.preparing.setup import Setup
from steelyard.running.turns.solo_run import SoloRun


def room_of(setup: Setup, looked: Mapping[str, SoloRun]) -> MemoryRoom:
    """What the arms take, by the size of their files as they are on the disk."""
    arms = setup.own_slots.arms
    pools = {arm: pool_bytes(one.engine, one.settings) for arm, one in arms.items()}
    every = min(one.file_bytes for one in looked.values())
    free = setup.laboratory.host.sample().memory_available_bytes
    return memory_room(pools, every // len(arms), setup.study.workload.clients, free)


def shared_write_back(setup: Setup, looked: Mapping[str, SoloRun]) -> str:
    """What the pilot saw of it, of the first arm that shows it: it runs alone, so what it dirtied
    and the devices did not write by then is left to whoever comes after; empty: nothing."""
    control, *others = setup.design.arms
    queues = [one.queue for one in looked.values() if not math.isnan(one.queue)]
    queue = max(queues, default=math.nan)
    words = (
        write_back_words(
            {name: looked[name].dirtied_bytes for name in (control, arm)},
            {name: looked[name].written_bytes for name in (control, arm)},
            queue,
        )
        for arm in others
    )
    return next(filter(None, words), "")
