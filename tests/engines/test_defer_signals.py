"""Who asks a program to end while it cleans up is heard when it is clean."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from steelyard.engines.defer_signals import defer_signals, stopping


@pytest.fixture(autouse=True)
def on_a_terminal() -> Iterator[None]:
    """Ctrl-C is KeyboardInterrupt, wherever these tests run."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ask() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def asked_while(done: list[str], *, within_another: bool = False) -> None:
    with defer_signals():
        if within_another:
            with defer_signals():
                ask()
        ask()
        done.append("in peace")
    done.append("not heard")


@pytest.mark.parametrize("within_another", [False, True])
def test_ctrl_c_is_heard_when_the_work_is_done(within_another: bool) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        asked_while(done, within_another=within_another)
    assert done == ["in peace"]
    with pytest.raises(KeyboardInterrupt):
        ask()


def test_at_the_end_there_is_nothing_left_to_hear() -> None:
    with defer_signals(at_the_end=True), defer_signals():
        ask()
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("reason", [KeyboardInterrupt, SystemExit])
def test_who_was_asked_to_end_hears_no_more(reason: type[BaseException]) -> None:
    done: list[str] = []
    try:
        raise reason("first")
    except reason:
        asked_while(done)
    assert done == ["in peace", "not heard"]


def test_an_error_that_somebody_caught_does_not_swallow_ctrl_c() -> None:
    done: list[str] = []
    try:
        raise ValueError("a server died")
    except ValueError:
        with pytest.raises(KeyboardInterrupt):
            asked_while(done)
    assert done == ["in peace"]


def test_handlers_are_put_back_after_an_error() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ValueError, match="broken"), defer_signals():
        raise ValueError("broken")
    assert signal.getsignal(signal.SIGTERM) is before


def test_other_threads_may_clean_up_too() -> None:
    done = []

    def clean() -> None:
        with defer_signals():
            done.append(True)

    thread = threading.Thread(target=clean)
    thread.start()
    thread.join()
    assert done == [True]


def cleaning_up(done: list[str]) -> Iterator[None]:
    """A generator whose cleanup has parts that hold signals back themselves."""

    def stop() -> None:
        with defer_signals():
            ask()
            done.append("first")
        done.append("second")

    with stopping(stop):
        yield


def test_a_closed_generator_cleans_up_through_every_ctrl_c() -> None:
    done: list[str] = []
    generator = cleaning_up(done)
    next(generator)
    generator.close()
    assert done == ["first", "second"]


def test_after_another_ending_ctrl_c_is_heard_as_ever() -> None:
    done: list[str] = []
    generator = cleaning_up(done)
    next(generator)
    with pytest.raises(KeyboardInterrupt):
        generator.throw(ValueError)
    assert done == ["first"]
