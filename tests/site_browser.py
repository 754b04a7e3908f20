"""Drives headless Chromium by its DevTools protocol over pipes: pages, keys, sizes, pictures."""

from __future__ import annotations

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "chrome"))), None)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
PATIENCE_SECONDS = 60
KEYS = {"Enter": 13, "Tab": 9, "Escape": 27}


class Browser:
    """One page of a browser; everything that it asked for is in `asked`."""

    def __init__(self, directory: Path) -> None:
        if PROGRAM is None:
            pytest.skip("no chromium on the path: apt-get install chromium")
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()

        def as_three_and_four() -> None:
            one, other = os.dup(to_read), os.dup(to_write)
            os.dup2(one, 3)
            os.dup2(other, 4)

        self._program = subprocess.Popen(
            [PROGRAM, *FLAGS, f"--user-data-dir={directory / 'profile'}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=as_three_and_four,  # noqa: PLW1509  nothing else runs in this process
        )
        os.close(to_read)
        os.close(to_write)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session = ""
        self._loaded = 0
        self.asked: list[str] = []
        self.errors: list[str] = []
        targets = self._call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self._call("Emulation.setFocusEmulationEnabled", enabled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._program.kill()
        self._program.wait()
        os.close(self._to)
        os.close(self._from)

    def open(self, address: str, width: int, height: int = 900) -> None:
        """Open a page at a width, in CSS pixels."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 720,
        )
        before = self._loaded
        self._call("Page.navigate", url="about:blank")
        while self._loaded == before:
            self._message()
        before = self._loaded
        self.asked.clear()
        self._call("Page.navigate", url=address)
        while self._loaded == before:
            self._message()

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript says in the page."""
        told = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def awaited(self, expression: str) -> Any:
        """What a promise of JavaScript comes to."""
        told = self._call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in told, told
        return told["result"].get("value")

    def scheme(self, name: str) -> None:
        """`"light"` or `"dark"`, as the person's system has it."""
        self._call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": name}],
        )

    def without_scripts(self) -> None:
        """Pages that are opened from now on run none."""
        self._call("Emulation.setScriptExecutionDisabled", value=True)

    def printed(self) -> bytes:
        """The page as PDF, as it is printed on A4."""
        told = self._call("Page.printToPDF", preferCSSPageSize=True)
        return base64.b64decode(told["data"])

    def press(self, key: str) -> None:
        """A key, as a person presses it."""
        text = {} if key in ("Tab", "Escape") else {"text": "\r" if key == "Enter" else key}
        told = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, ord(key[0].upper()))}
        self._call("Input.dispatchKeyEvent", type="keyDown", **told, **text)
        self._call("Input.dispatchKeyEvent", type="keyUp", **told)

    def press_and_go(self, key: str) -> None:
        """A key that leads to another page."""
        before = self._loaded
        self.press(key)
        while self._loaded == before:
            self._message()

    def picture(self, file: Path) -> None:
        """What is seen, as PNG."""
        told = self._call("Page.captureScreenshot", format="png")
        file.write_bytes(base64.b64decode(told["data"]))

    def _call(self, method: str, **values: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": values}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], PATIENCE_SECONDS)
            assert ready, "the browser says nothing"
            more = os.read(self._from, 1 << 16)
            assert more, "the browser ended"
            self._buffer += more
        first, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(first)
        values = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loaded += 1
            case "Network.requestWillBeSent":
                self.asked.append(values["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(values["exceptionDetails"]["text"])
            case "Log.entryAdded" if values["entry"]["level"] == "error":
                self.errors.append(values["entry"]["text"])
        return message
