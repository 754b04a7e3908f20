"""Reads from /proc/PID/io what processes read and wrote."""

from __future__ import annotations

from collections.abc import Sequence

from steelyard.engines.account import Account


def transferred(pids: Sequence[int], account: Account) -> tuple[int, int, int]:
    """Bytes from and to the block layer, and bytes asked for by read calls; a parent's figures
    hold its dead children's. `account`: whose processes they are."""
    try:
        return _transferred(pids)
    except PermissionError:
        # Root without CAP_SYS_PTRACE: the same files open for the server's own user id.
        # A process that is just ending is root's there for a moment: it is left out.
        read, written, requested = account.call(lambda: _transferred(pids, GONE_OR_GOING))
    return read, written, requested


GONE = (FileNotFoundError, ProcessLookupError)
GONE_OR_GOING = (*GONE, PermissionError)


def _transferred(
    pids: Sequence[int], passed_over: tuple[type[OSError], ...] = GONE
) -> tuple[int, int, int]:
    read = written = requested = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/io", "rb") as file:
                fields = dict(line.split(b": ") for line in file.read().splitlines())
        except passed_over:
            continue
        read += int(fields[b"read_bytes"])
        written += int(fields[b"write_bytes"])
        requested += int(fields[b"rchar"])
    return read, written, requested
