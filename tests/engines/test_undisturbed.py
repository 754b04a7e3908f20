"""Who asks a program to end while it cleans up is not heard, and is heard again afterwards."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from steelyard.engines.undisturbed import undisturbed


def test_ctrl_c_is_not_heard_meanwhile_and_is_afterwards() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with undisturbed():
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_handlers_are_put_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ValueError, match="broken"), undisturbed():
        raise ValueError("broken")
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_threads_may_clean_up_too() -> None:
    done = []

    def clean() -> None:
        with undisturbed():
            done.append(True)

    thread = threading.Thread(target=clean)
    thread.start()
    thread.join()
    assert done == [True]
