"""Serves the site on this machine alone, and makes it anew when records have come or changed.

Loopback only, reading only: requests that name another host in their head are refused, so that no
page of the network can read it through a browser (DNS rebinding), and folders are not listed. No
script runs but the site's own, whatever a report holds. `/metrics` is for Prometheus.
"""

from __future__ import annotations

import io
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any, BinaryIO
from urllib.parse import unquote, urlsplit

from steelyard.history.entry import Entry
from steelyard.history.export import newest_metrics
from steelyard.history.index import read_history
from steelyard.history.reading import HASHED
from steelyard.model.errors import SteelyardError, UsageError
from steelyard.site.pages import SCRIPTS, build_site, policy

LOOPBACK = "127.0.0.1"
METRICS = "/metrics"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_LOOK_SECONDS = 2.0
"""Records are looked at no more often than this, however many pages are asked for."""
MOST_CLIENTS = 64
"""Connections at a time: a browser opens six."""
SILENT_S = 10.0
"""A client that sends and takes nothing for so long is left."""
Announce = Callable[[str], None]


class SiteServer(ThreadingHTTPServer):
    """The server of a site; `address` is where it is reached."""

    daemon_threads = True
    request_queue_size = MOST_CLIENTS

    def __init__(self, records: Path, folder: Path, port: int, announce: Announce) -> None:
        self._records, self._folder, self._told = records, folder, announce
        self._seen: frozenset[tuple[str, int, int]] = frozenset()
        self._looked = 0.0
        self._entries: tuple[Entry, ...] = ()
        self._one_at_a_time = threading.Lock()
        self._clients: dict[socket.socket, None] = {}  # in the order of their coming
        self._clients_lock = threading.Lock()
        self.refresh()
        try:
            super().__init__((LOOPBACK, port), partial(_Pages, directory=str(folder)))
        except OSError as reason:
            raise UsageError(
                f"could not serve on port {port}: {reason.strerror}",
                hint="Name another one: --port 0 takes any that is free.",
            ) from reason

    def server_bind(self) -> None:
        """Binds without looking its own name up, which would ask a name server."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for a client; where there are too many, the oldest is sent away, since one that
        is served takes no time that counts."""
        with self._clients_lock:
            self._clients[request] = None
            oldest = next(iter(self._clients)) if len(self._clients) > MOST_CLIENTS else None
            if oldest is not None:
                del self._clients[oldest]
        if oldest is not None:
            with suppress(OSError):  # it has left by itself
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """The client is gone."""
        with self._clients_lock:
            self._clients.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is no error; anything else is reported in a line."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self._told(f"could not answer a request: {type(error).__name__}: {error}")

    @property
    def address(self) -> str:
        """`"http://127.0.0.1:8321/"`."""
        return f"http://{LOOPBACK}:{self.server_address[1]}/"

    def refresh(self) -> None:
        """Make the site anew where a record was added, removed or changed since the last look."""
        with self._one_at_a_time:
            now = time.monotonic()
            if self._looked and now - self._looked < _LOOK_SECONDS:
                return
            files = _record_files(self._records)
            if files != self._seen or not self._looked:
                history = read_history(self._records)
                build_site(history, self._folder)
                self._seen, self._entries = files, history.entries
            self._looked = time.monotonic()

    def metrics(self) -> bytes:
        """The newest answer of each question and machine, as OpenMetrics. SteelyardError: the
        records cannot be read."""
        self.refresh()
        return newest_metrics(self._entries).encode()

    def refresh_or_report(self) -> None:
        """As `refresh`; an error is reported, and the pages stay as they were."""
        try:
            self.refresh()
        except SteelyardError as reason:
            self._told(str(reason))


class _Pages(SimpleHTTPRequestHandler):
    """Files of the site, to this machine alone."""

    server: SiteServer
    timeout = SILENT_S
    server_version = "Steelyard"
    sys_version = ""
    extensions_map = {  # noqa: RUF012  as the base class has it
        **SimpleHTTPRequestHandler.extensions_map,
        ".atom": "application/atom+xml",
        ".html": "text/html; charset=utf-8",
    }

    def send_head(self) -> BinaryIO | None:
        """Open the requested file, with pages up to date; None: it was refused."""
        if not self._host_is_ours():
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, explain=self._tunnel_words())
            return None
        if urlsplit(self.path).path == METRICS:
            return self._metrics()
        name = Path(unquote(urlsplit(self.path).path)).name
        if name.startswith(".") or "\0" in unquote(self.path):
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        if not name or name.endswith((".html", ".atom")):
            self.server.refresh_or_report()
        file: BinaryIO | None = super().send_head()
        return file

    def _metrics(self) -> BinaryIO | None:
        """Old figures would pass for new ones, so records that cannot be read are an error."""
        try:
            text = self.server.metrics()
        except SteelyardError as reason:
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE, explain=reason.primary)
            return None
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", OPENMETRICS)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        return io.BytesIO(text)

    def list_directory(self, path: object) -> None:
        """Folders are not listed."""
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        """With what keeps pages fresh, out of pages of others, and free of scripts of others."""
        self.send_header("Content-Security-Policy", f"{policy(*SCRIPTS)}; frame-ancestors 'none'")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        super().end_headers()

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  of the base class
        """Requests are not logged."""

    def _tunnel_words(self) -> str:
        """What to type where the address is that of a tunnel's other end, of another port."""
        port = self.server.server_address[1]
        return f"Only {self.server.address} is served: ssh -L {port}:{LOOPBACK}:{port} HOST"

    def _host_is_ours(self) -> bool:
        host = self.headers.get("Host", "").rpartition(":")
        return host[0] in (LOOPBACK, "localhost") and host[2] == str(self.server.server_address[1])


def _record_files(records: Path) -> frozenset[tuple[str, int, int]]:
    """Path, size and time of every file that the history is made of, and of reports."""
    files = set()
    for name in (*HASHED, "report.html"):
        for file in records.rglob(name):
            try:
                status = file.stat()
            except OSError:  # it went away meanwhile
                continue
            files.add((str(file), status.st_size, status.st_mtime_ns))
    return frozenset(files)
