"""On a terminal something is said within half a second; elsewhere nothing is added."""

from __future__ import annotations

import io
import threading

import pytest

from steelyard.cli import terminal


class Stream(io.StringIO):
    def __init__(self, tty: bool) -> None:
        super().__init__()
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty


def ended() -> None:
    for one in threading.enumerate():
        if one.name == "sign of life":
            one.join(10)


@pytest.fixture(autouse=True)
def unsaid(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    event = threading.Event()
    monkeypatch.setattr(terminal, "_written", event)
    return event


def test_who_waits_is_told_what_is_under_way() -> None:
    stream = Stream(tty=True)
    terminal.sign_of_life("judge: reads the numbers …", stream, after_s=0.0)
    ended()
    assert stream.getvalue() == "judge: reads the numbers …\n"


def test_nothing_is_added_to_what_was_printed_in_time(unsaid: threading.Event) -> None:
    stream = Stream(tty=True)
    unsaid.set()
    terminal.sign_of_life("judge: reads the numbers …", stream, after_s=60.0)
    ended()
    assert stream.getvalue() == ""


def test_nothing_is_added_to_a_pipe() -> None:
    stream = Stream(tty=False)
    terminal.sign_of_life("judge: reads the numbers …", stream, after_s=0.0)
    ended()
    assert stream.getvalue() == ""


def test_whatever_is_printed_counts_as_a_sign(unsaid: threading.Event) -> None:
    raw = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    terminal.Output(raw).write("said")
    assert unsaid.is_set()
