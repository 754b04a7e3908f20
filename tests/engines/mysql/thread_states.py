"""What the threads of a process do now."""

from __future__ import annotations

from steelyard.engines.local.processes import sample, threads_of


def states_of(pid: int) -> set[str]:
    """The states of its threads, as /proc/PID/stat has them."""
    seen = [sample(tid) for tid in threads_of(pid)]
    return {one.state for one in seen if one is not None}
