"""Starts the driver's process, hands it a plan, and reads slices as they end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import IO, Any, Self

from steelyard.driver.answer import SliceAnswer, SliceProgress
from steelyard.driver.plan import DrivePlan, SliceRequest
from steelyard.engines.defer_signals import defer_signals
from steelyard.model.errors import DriverError

_GOODBYE_SECONDS = 10.0
_CANCEL_SECONDS = 3.0
_LAST_WORDS = 2000


class Driver:
    """A running driver, connected to every arm of its plan. Ends with its `with` block.

    It runs in a session of its own, so that Ctrl-C on the terminal reaches only the process that
    started it; it ends by itself when that is gone.
    """

    def __init__(self, process: subprocess.Popen[bytes], stderr: IO[bytes]) -> None:
        self._process = process
        self._stderr = stderr
        self._driving = False
        self.connected: dict[str, list[int]] = {}
        """Backend process ids of every arm, by client."""
        self.io = ""
        """The I/O backend: "io_uring", or "epoll" where the kernel does not permit that."""

        self.encryption: dict[str, str | None] = {}
        """Protocol and cipher of every arm's connections; None where they are plain."""

    @classmethod
    def start(cls, plan: DrivePlan) -> Self:
        """Start the process and connect every client; DriverError when that cannot be done."""
        stderr = open(os.memfd_create("steelyard-driver"), "w+b")  # noqa: SIM115  closed in kill()
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "steelyard.driver.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            process_group=0,  # a Ctrl-C is ours; the session is shared with servers of threads
        )
        driver = cls(process, stderr)
        try:
            driver._send({"protocol": plan.protocol, "plan": plan.to_json()})
            answer = driver._receive()
            driver.connected, driver.io = answer["connected"], answer["io"]
            driver.encryption = answer["encryption"]
        except BaseException:
            driver.kill()
            raise
        return driver

    @property
    def pid(self) -> int:
        """The process id of the driver."""
        return self._process.pid

    def run(
        self,
        slices: Sequence[SliceRequest],
        progress: Callable[[SliceProgress], None] | None = None,
    ) -> Iterator[SliceAnswer]:
        """Drive the slices in order; each is yielded as it ends. DriverError ends the driver.

        `progress` gets the counts so far of a slice that asks for them.
        """
        self._send({"slices": [request.to_json() for request in slices]})
        self._driving = True
        while "done" not in (answer := self._receive()):
            if "slice" in answer:
                yield SliceAnswer.of_json(answer["slice"])
            elif progress is not None:
                progress(SliceProgress(**answer["progress"]))
        self._driving = False

    def run_one(self, request: SliceRequest) -> SliceAnswer:
        """Drive one slice to its end."""
        [answer] = self.run([request])
        return answer

    def close(self) -> None:
        """Disconnect and end; a driver in the middle of slices cancels what it had begun."""
        with defer_signals():
            if self._process.poll() is None:
                # Errors do not matter here: kill() ends it in any case.
                with contextlib.suppress(DriverError, subprocess.TimeoutExpired):
                    self._process.wait(self._ask_to_end())
            self.kill()

    def _ask_to_end(self) -> float:
        """Seconds that it may take."""
        if self._driving:
            assert self._process.stdout is not None
            self._process.stdout.close()  # it ends when its answers are not read
            return _CANCEL_SECONDS
        self._send({"end": True})
        return _GOODBYE_SECONDS

    def kill(self) -> None:
        """End the process at once; nothing of it is left running. Safe to call twice."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None and not stream.closed:
                with contextlib.suppress(BrokenPipeError):  # a command that will not be read
                    stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _send(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise self._gone() from error

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._gone()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            error = answer["error"]
            raise DriverError(error["primary"], detail=error["detail"], hint=error["hint"])
        return answer

    def _gone(self) -> DriverError:
        """The error for a driver that ended without the command to end."""
        if self._stderr.closed:
            return DriverError("the load driver is closed")
        status = self._process.wait()
        self._stderr.seek(0)
        message = self._stderr.read().decode(errors="replace")[-_LAST_WORDS:].strip()
        cause = f"signal {-status}" if status < 0 else f"exit status {status}"
        return DriverError(
            f"the load driver ended unexpectedly: {cause}",
            detail=message or "It left no message on standard error.",
        )
