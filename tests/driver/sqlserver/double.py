"""A double of SQL Server for tests: login, transactions, prepared statements, signals, failures.

It holds what it is sent against the specification: a request must name the transaction that is
open, a handle must have been given, a transaction does not begin inside of a procedure.
"""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from driver.sqlserver import tokens
from driver.sqlserver.sealed import Pipe, Plain, Sealed
from driver.sqlserver.tokens import Request

USER, PASSWORD = "sa", "Pässw0rd"
_TRANSACTION_WORDS = ("BEGIN", "COMMIT", "ROLLBACK", "IF @@TRANCOUNT")


@dataclass
class Double:
    """What the server is like, and what it has seen."""

    answer: Callable[[str], bytes | None] | None = None
    """The tokens that answer a text; None of them: the usual. Empty: the connection is closed."""
    answer_in: Callable[[str, str], bytes | None] | None = None
    """The same, of the database that the login named."""
    admit: Callable[[str], bytes | None] | None = None
    """The error that a login to a database meets; None: it is let in."""
    context: ssl.SSLContext | None = None
    strict: bool = False
    """TLS begins at once."""
    encryption: int | None = None
    """What it says of encryption; None: as it is."""
    requests: list[Request] = field(default_factory=list)
    logins: list[dict[str, str]] = field(default_factory=list)
    signals: int = 0
    """Attention signals that stopped a statement."""
    committed: int = 0
    """Changes that were committed."""
    rolled_back: int = 0
    port: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def uri(self, words: str = "encrypt=disable", user: str = f"{USER}:{PASSWORD}") -> str:
        """Where it is reached."""
        return f"sqlserver://{user}@127.0.0.1:{self.port}/d?{words}"

    @property
    def texts(self) -> list[str]:
        """What was sent as a text alone."""
        return [one.text for one in self.requests if one.procedure == 0]

    @contextmanager
    def running(self) -> Iterator[Double]:
        """Serves on a port of its own."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
            yield self

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                Connection(self, connection).serve()
            except (OSError, ssl.SSLError):
                return  # the client went, or did not want what there is


class Connection:
    """One client."""

    def __init__(self, double: Double, connection: socket.socket) -> None:
        self.double = double
        if double.strict and double.context is not None:
            connection = double.context.wrap_socket(connection, server_side=True)
        self.socket = connection
        self.pipe: Pipe = Plain(connection)
        self.held = b""
        self.open = 0
        """The transaction that is, by its number."""
        self.begun = 0
        self.pending = 0
        """Changes in it."""
        self.prepared: dict[int, str] = {}
        self.database = ""

    def serve(self) -> None:
        """Until the client goes."""
        double = self.double
        kind, _ = self._message()
        assert kind == tokens.PRELOGIN
        encrypts = double.context is not None
        said = double.encryption if double.encryption is not None else (1 if encrypts else 2)
        self._send(tokens.prelogin(said))
        if double.context is not None and not double.strict:
            self.pipe = Sealed(self.socket, double.context)
        kind, content = self._message()
        assert kind == tokens.LOGIN
        login = tokens.read_login(content)
        double.logins.append(login)
        if (login["user"], login["password"]) != (USER, PASSWORD):
            self._send(tokens.error(18456, f"Login failed for user '{login['user']}'.", 14))
            return
        self.database = login["database"]
        refused = double.admit(self.database) if double.admit is not None else None
        if refused is not None:
            self._send(refused)
            return
        version = struct.unpack_from("<I", content, 4)[0]
        assert version == (0x08000000 if double.strict else 0x74000004)
        self._send(tokens.let_in(struct.pack("<I", 0x74000004)))
        while True:
            kind, content = self._message()
            if kind == tokens.ATTENTION:
                self._send(tokens.done(tokens.ACKNOWLEDGED))
                continue
            reply = self._reply(tokens.read_request(kind, content))
            if not reply:
                return
            self._send(reply)

    def _message(self) -> tuple[int, bytes]:
        content = b""
        while True:
            while len(self.held) < 8 or len(self.held) < struct.unpack_from(">H", self.held, 2)[0]:
                received = self.pipe.receive()
                if not received:
                    raise ConnectionError("the client went")
                self.held += received
            kind, status, length = struct.unpack_from(">BBH", self.held)
            content += self.held[8:length]
            self.held = self.held[length:]
            if status & 1:
                return kind, content

    def _send(self, content: bytes) -> None:
        self.pipe.send(tokens.packets(tokens.REPLY, content))

    def _reply(self, request: Request) -> bytes:
        with self.double.lock:
            self.double.requests.append(request)
        if request.transaction != self.open:
            return tokens.error(3989, "the request names another transaction than the open one")
        text, handle = request.text, request.handle
        if request.procedure == tokens.EXECUTE:
            if handle not in self.prepared:
                return tokens.error(
                    8179, f"Could not find prepared statement with handle {handle}."
                )
            text = self.prepared[handle]
        if request.procedure and text.startswith(_TRANSACTION_WORDS):
            return tokens.error(266, "Transaction count after EXECUTE indicates a mismatch")
        reply = self._execute(text)
        if request.procedure and reply:
            reply = tokens.within_procedure(reply)
            number = 0
            if request.procedure == tokens.PREPARE_AND_EXECUTE:
                self.prepared.pop(handle or 0, None)
                number = len(self.double.requests)
                self.prepared[number] = text
            reply += tokens.returned(number) if number else tokens.done(0, 0, 0xFE)
        return reply

    def _execute(self, text: str) -> bytes:
        own = self.double.answer(text) if self.double.answer is not None else None
        if self.double.answer_in is not None:
            own = self.double.answer_in(text, self.database)
        if own is not None:
            return self._after(own)
        match text.split(maxsplit=1)[0]:
            case "BEGIN":
                self.begun += 1
                self.open = self.begun
                reply = tokens.began(self.open) + tokens.done()
            case "COMMIT":
                reply = self._end(committed=True)
            case "ROLLBACK" | "IF":
                reply = self._end(committed=False)
            case "WAITFOR":
                reply = self._wait(text)
            case "UPDATE":
                self.pending += 1
                reply = tokens.done(tokens.COUNTED, 1) if self.open else self._end(committed=True)
            case "SELECT":
                reply = tokens.rows("n", 7)
            case _:
                reply = tokens.done()
        return reply

    def _after(self, own: bytes) -> bytes:
        """A deadlock's victim loses its transaction."""
        if own.startswith(b"\xaa") and struct.unpack_from("<I", own, 3)[0] == 1205:
            return own[:-13] + self._end(committed=False)[:-13] + own[-13:]
        return own

    def _end(self, *, committed: bool) -> bytes:
        number, self.open = self.open, 0
        with self.double.lock:
            if committed:
                self.double.committed += self.pending
            else:
                self.double.rolled_back += 1
        self.pending = 0
        if not number:
            return tokens.done(tokens.COUNTED, 1)
        return tokens.ended(number, committed=committed) + tokens.done()

    def _wait(self, text: str) -> bytes:
        """Until its time has come, or a signal."""
        hours, minutes, seconds = text.split("'")[1].split(":")
        until = time.monotonic() + int(hours) * 3600 + int(minutes) * 60 + float(seconds)
        self.socket.settimeout(max(until - time.monotonic(), 0.001))
        try:
            kind, _ = self._message()
        except TimeoutError:
            return tokens.done()
        finally:
            self.socket.settimeout(None)
        assert kind == tokens.ATTENTION
        with self.double.lock:
            self.double.signals += 1
        return tokens.done(tokens.ACKNOWLEDGED)
