"""Pins processes to processors, by a child with the server's own user id."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence

from steelyard.engines.account import Account
from steelyard.model.errors import EngineError


def pin(account: Account, processors: Mapping[int, Sequence[int]]) -> None:
    """Pin each process id to its processors; EngineError names the first that could not be. One
    that has ended needs none and is left out.

    sched_setaffinity(2) wants CAP_SYS_NICE or the target's user id; root in a container lacks the
    first, so the call is made by a child that has the second.
    """
    wanted = {pid: sorted(set(allowed)) for pid, allowed in processors.items()}
    if not wanted:
        return

    def pin_all() -> list[int] | None:
        for pid, allowed in wanted.items():
            try:
                os.sched_setaffinity(pid, allowed)
            except ProcessLookupError:
                continue
            except OSError as error:
                return [pid, error.errno or 0]
        return None

    failed = account.call(pin_all)
    if failed is not None:
        pid, number = failed
        raise EngineError(
            f"could not pin process {pid} to processors {wanted[pid]}: {os.strerror(number)}",
            detail=_DETAILS.get(number),
        )


_DETAILS = {
    errno.EINVAL: "None of these processors may be used here (container, cpuset).",
    errno.EPERM: "The process belongs to another account than the server's.",
}
