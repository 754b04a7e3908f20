"""Threads of a process, and what they used, on a process of our own."""

from __future__ import annotations

import os
import threading
import time

from steelyard.engines.account import Account
from steelyard.engines.local.processes import threads_of
from steelyard.engines.mysql.life.server import BACKGROUND, SERVER, SESSION, ThreadAccount

OURSELVES = Account("", os.geteuid(), os.getegid())


def burn(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_each_thread_has_its_time_and_ended_ones_stay_in_the_process() -> None:
    stop, ready = threading.Event(), threading.Event()
    numbers: list[int] = []

    def work() -> None:
        numbers.append(threading.get_native_id())
        burn(0.05)
        ready.set()
        stop.wait()

    thread = threading.Thread(target=work)
    account = ThreadAccount(os.getpid(), OURSELVES)
    before = account.use()
    thread.start()
    ready.wait()
    account.serving(numbers)
    during = account.use()
    stop.set()
    thread.join()
    # Python's thread has ended before the kernel's has: it leaves /proc a moment later.
    until = time.monotonic() + 10
    while numbers[0] in threads_of(os.getpid()) and time.monotonic() < until:
        time.sleep(0.001)
    after = account.use()
    [session] = [one for one in during.processes if one.duty == "session"]
    assert session.pid == numbers[0]
    assert session.kind == SESSION
    assert session.cpu_ns > 45e6
    assert during.cpu_ns - before.cpu_ns >= session.cpu_ns * 0.9
    assert after.cpu_ns >= during.cpu_ns
    assert numbers[0] not in {one.pid for one in after.processes}


def test_the_process_itself_is_the_server_and_the_rest_works_in_the_background() -> None:
    kinds = {one.pid: one.kind for one in ThreadAccount(os.getpid(), OURSELVES).use().processes}
    assert kinds.pop(os.getpid()) == SERVER
    assert set(kinds.values()) <= {BACKGROUND}


def test_a_process_that_has_gone_has_no_threads() -> None:
    assert threads_of(2**22 + 1) == []
