"""Repeats the arrivals of a captured workload at so many times their pace."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from steelyard.driver.plan import Replay
from steelyard.model.errors import UsageError
from steelyard.workloads.reading.arrivals import paced
from steelyard.workloads.reading.scripts import Script
from steelyard.workloads.reading.workload import Workload


def replay_of(workload: Workload, scripts: Sequence[Script], pace: float) -> Replay:
    """A captured workload's arrivals at so many times their pace. UsageError: it has none."""
    places = {script.name: place for place, script in enumerate(scripts)}
    try:
        arrivals, round_ns = paced(workload.arrivals, places, pace)
    except ValueError as error:
        raise UsageError(
            f'cannot repeat the arrivals of workload "{workload.name}": {error}'
        ) from error
    return Replay(arrivals, round_ns)


def replay_begins(replay: Replay | None, seed: int) -> int | None:
    """Where an epoch begins among recorded arrivals: drawn, so that epochs see different parts of
    them; every arm goes through the same ones, in its own time. None: there are none."""
    return None if replay is None else Random(seed).randrange(replay.round_ns)
