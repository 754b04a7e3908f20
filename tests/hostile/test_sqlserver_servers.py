"""A SQL Server that is not ours keeps no control connection waiting.

Promise: SAFETY.md, "Servers and files of others".
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable

import pytest

from driver.sqlserver.double import Double
from hostile.fake_postgres import Client, serving
from steelyard.engines.defer_signals import interruptible
from steelyard.engines.sqlserver.session import connected
from steelyard.engines.sqlserver.uri import read_uri
from steelyard.model.errors import DriverError, ServerError


def _half_a_header(client: Client) -> None:
    client.send(b"\x04\1\0")
    client.stay_silent()


NO_LOGIN: dict[str, Callable[[Client], None]] = {
    "never speaks": Client.stay_silent,
    "half a header": _half_a_header,
    "a packet of 64 kB of zeros": lambda client: client.send_for_ever(bytes(1 << 16)),
    "closes": lambda _: None,
}


@pytest.mark.parametrize("mode", NO_LOGIN.values(), ids=NO_LOGIN)
def test_a_login_ends_in_the_time_to_connect(mode: Callable[[Client], None]) -> None:
    with serving(mode) as port:
        address = read_uri(f"sqlserver://sa:p@127.0.0.1:{port}/d?encrypt=disable&connect-timeout=1")
        with pytest.raises(ServerError) as raised, connected(address):
            pass
    assert raised.value.detail


def test_ctrl_c_is_obeyed_during_a_login() -> None:
    with serving(Client.stay_silent) as port:
        address = read_uri(f"sqlserver://sa:p@127.0.0.1:{port}/d?encrypt=disable")
        ended = threading.Event()

        def press() -> None:
            """Again after some seconds: Python drops what is raised in a callback of its own."""
            pause_s = 0.3
            while not ended.wait(pause_s):
                signal.raise_signal(signal.SIGINT)
                pause_s = 4.0

        threading.Thread(target=press, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt), connected(address):
            pass
        ended.set()
        assert time.monotonic() - began < 15  # the login would take 20 s


def test_a_statement_that_is_not_answered_ends_the_session() -> None:
    with Double().running() as double:
        address = read_uri(double.uri())
        with (
            pytest.raises(ServerError, match=r"no answer within 0\.5 s"),
            connected(address, within_s=0.5) as session,
        ):
            session.execute("WAITFOR DELAY '01:00:00';")


def test_what_a_call_returns_or_raises_comes_through_its_thread() -> None:
    assert interruptible(lambda: 7) == 7
    with pytest.raises(DriverError, match="no connection"):
        interruptible(_fail)


def _fail() -> None:
    raise DriverError("no connection")
