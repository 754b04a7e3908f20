"""Probes the device before weighings whose profiles are worked out from what it does."""

from __future__ import annotations

from steelyard.cli.command_line import say
from steelyard.cli.weighing.subcommand import run
from steelyard.engines.cache import cache_root, open_cache
from steelyard.tuning.probe.kept import last_probe


def probe_first() -> None:
    """Probe the device beneath the cache where no probe of it is kept; where that cannot be, say
    so: a profile is then worked out without."""
    if last_probe(open_cache().root, cache_root()) is not None:
        return
    say("the device was not probed yet, so that is done first: steelyard probe")
    if run(["probe"]) != 0:
        say("not probed: profiles are worked out without what the device does")
