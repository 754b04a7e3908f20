"""Processes are pinned where they are told to be; one that has ended is left out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator

import pytest

from steelyard.engines.account import choose_account
from steelyard.engines.programs import pin
from steelyard.model.errors import EngineError


@pytest.fixture
def waiting() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the servers' account that waits until it is let go."""
    account = choose_account(None)
    own = {} if os.geteuid() else {"user": account.uid, "group": account.gid}
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, **own)
    yield process
    process.communicate()


def test_one_that_has_ended_is_left_out_and_the_others_are_pinned(
    waiting: subprocess.Popen[bytes],
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    last = max(os.sched_getaffinity(0))
    pin(choose_account(None), {ended.pid: [last], waiting.pid: [last]})
    assert os.sched_getaffinity(waiting.pid) == {last}


def test_a_processor_that_there_is_not_is_an_error(waiting: subprocess.Popen[bytes]) -> None:
    with pytest.raises(EngineError, match="to processors"):
        pin(choose_account(None), {waiting.pid: [1000]})
