"""Joins a Ray cluster, and calls its actors: once each, and with a limit to every wait.

Ray carries orders and answers, never transactions. Ray retries nothing by itself (`max_restarts=0`,
`max_task_retries=0`). Ray notices after 15 to 55 seconds that a machine is gone (health_check_* in
ray_config_def.h), so every call has a deadline of its own.
"""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from typing import Any

from steelyard.fleet.load_generators.load_agent import LostError
from steelyard.model.errors import DriverError, SteelyardError, UsageError

HOST = "steelyard_host"
"""The resource of which a machine that may be used offers 1; so no two loads share one."""
OFFER = f"--resources='{{\"{HOST}\": 1}}'"
ANSWER_S = 5.0
CALL_S = 10.0
WATCH_S = 5.0
LONG_CALL_S = 180.0
"""Longest until every client is connected, or until all have stopped."""
ONCE = {"num_cpus": 0, "resources": {HOST: 1}, "max_restarts": 0, "max_task_retries": 0}
"""Of every actor: it has its machine for itself, and is neither started nor called again."""


_JOINED = ExitStack()
"""Held while a cluster is joined: Ray prints there that a node died (listen_error_messages of
ray/_private/worker.py), which is no part of a result."""


@dataclass(frozen=True)
class Failure:
    """An error as it crosses: its three parts."""

    primary: str
    detail: str | None
    hint: str | None


def with_ray_errors(do: Callable[[], Any]) -> Any:
    """What it returns, or its error as a value."""
    try:
        return do()
    except SteelyardError as error:
        return Failure(error.primary, error.detail, error.hint)


class Remote:
    """An actor that is called with a limit to every wait."""

    def __init__(self, actor: Any, name: str) -> None:
        self.actor = actor
        self.name = name
        self.lost = False

    def kill(self) -> None:
        """End the actor; its driver ends when its input does."""
        import ray

        self.lost = True
        with suppress(ray.exceptions.RayError, ValueError):  # it is gone already
            ray.kill(self.actor, no_restart=True)

    def call(self, method: str, *arguments: Any, patience_s: float) -> Any:
        """What a method answers. DriverError: its own. LostError: there was no answer in time."""
        return _unwrapped(self._answer(self._ask(method, arguments), patience_s))

    def call_watched(self, method: str, *arguments: Any) -> Any:
        """The same of what takes any time: meanwhile the actor must answer to `alive`."""
        import ray

        reference = self._ask(method, arguments)
        while not ray.wait([reference], timeout=WATCH_S)[0]:
            if self.lost:
                raise LostError("its Ray actor is gone")
            self.call("alive", patience_s=CALL_S)
        return _unwrapped(self._answer(reference, CALL_S))

    def _ask(self, method: str, arguments: Sequence[Any]) -> Any:
        return getattr(self.actor, method).remote(*arguments)

    def _answer(self, reference: Any, patience_s: float) -> Any:
        import ray

        try:
            return ray.get(reference, timeout=patience_s)
        except ray.exceptions.GetTimeoutError as error:
            self.lost = True
            raise LostError(
                f"no answer within {patience_s:.0f} s",
                detail="It stands still, or the network between it and this machine is gone.",
            ) from error
        except ray.exceptions.RayError as error:
            self.lost = True
            raise LostError("its Ray actor is gone", detail=str(error).strip()) from error


def _unwrapped(answer: Any) -> Any:
    if isinstance(answer, Failure):
        raise DriverError(answer.primary, detail=answer.detail, hint=answer.hint)
    return answer


def connect(address: str | None) -> None:
    """Join the cluster at an address, or the one that runs here. UsageError: Ray is not installed.
    DriverError: no cluster, or one of another version."""
    try:
        import ray
    except ImportError as error:
        raise UsageError(
            "Ray is not installed", hint="Install it: pip install 'steelyard[fleet]'"
        ) from error
    leave()  # what is left of an earlier one
    try:
        _require_answer(address)
        _JOINED.enter_context(redirect_stdout(sys.stderr))
        with _own_signals():
            ray.init(
                address=address or "auto",
                namespace="steelyard",
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
    except (OSError, RuntimeError, ValueError) as error:
        leave()
        where = f'at "{address}"' if address else "on this machine"
        raise DriverError(
            f"could not join a Ray cluster {where}",
            detail=str(error).strip(),
            hint="Start one, with the same Ray and Python everywhere: `ray start --head` here, and "
            f"on each load machine `ray start --address=HERE:6379 {OFFER}`.",
        ) from error


def leave() -> None:
    """Leave the cluster; safe to call twice, and of none that was joined."""
    import ray

    ray.shutdown()
    _JOINED.close()


def _require_answer(address: str | None) -> None:
    """OSError where nothing listens at `HOST:PORT`: Ray itself would try for a minute."""
    host, colon, port = (address or "").rpartition(":")
    if colon and "/" not in host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_S).close()


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; a weighing that is ended tidies up, so it is given back."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
