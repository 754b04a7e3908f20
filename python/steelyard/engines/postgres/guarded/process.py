"""Holds one connection of libpq at a time, for a guarded connection on the other end of a pipe.

libpq computes a login, and grows its buffers, without returning to Python: a server can keep it
busy for hours, and no signal handler runs meanwhile. This process may be killed at any moment, and
the kernel does so by itself when a request takes longer, or more memory or processor time, than its
limits allow.
"""

from __future__ import annotations

import os
import pwd
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

from steelyard.engines.postgres.guarded.frames import (
    DATA,
    HEAD,
    JSON,
    MOST_BYTES,
    packed_json,
    unpacked,
)
from steelyard.engines.postgres.libpq.client_encoding import use_utf8

MEMORY_BYTES = 256 << 20
"""Address space beyond that of the process after its imports."""
LOGIN_PROCESSOR_S = 4
"""Processor time of a login: some millions of SCRAM iterations. PostgreSQL's default is 4096."""
MOST_ROWS = 200_000
MOST_TEXT = 4000
"""Characters of an error's text that are passed on."""
_CANCEL_S = 1
_PARENT_S = 1.0


class Interrupts:
    """Turns SIGINT into a KeyboardInterrupt while a request is worked on, and only then."""

    def __init__(self) -> None:
        self.busy = False
        signal.signal(signal.SIGINT, self._arrived)
        for number in (signal.SIGALRM, signal.SIGXCPU):
            signal.signal(number, signal.SIG_DFL)

    def _arrived(self, number: int, frame: object) -> None:
        if self.busy:
            raise KeyboardInterrupt


class Holder:
    """The connection, and what can be requested of it."""

    def __init__(self, requests: IO[bytes]) -> None:
        self._requests = requests
        self._connection: Any = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What one request results in; psycopg's errors."""
        operations: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "connect": self._connect,
            "execute": self._execute,
            "copy": self._copy,
            "time": self._time,
            "close": self._close,
        }
        return operations[request["do"]](request)

    @property
    def closed(self) -> bool:
        """Whether there is no connection any more."""
        return self._connection is None or bool(self._connection.closed)

    def _connect(self, request: dict[str, Any]) -> dict[str, Any]:
        import psycopg

        for name in [name for name in os.environ if name.startswith("PG")]:
            del os.environ[name]
        os.environ.update(request["environment"])
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = int(used.ru_utime + used.ru_stime) + 1
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (spent + LOGIN_PROCESSOR_S, most))
        self._connection = psycopg.connect(request["target"], autocommit=True, **request["words"])
        resource.setrlimit(resource.RLIMIT_CPU, (most, most))
        if not request["prepares"]:
            self._connection.prepare_threshold = None
        use_utf8(self._connection)
        info, wire = self._connection.info, self._connection.pgconn
        return {
            "server_version": info.server_version,
            "version": info.parameter_status("server_version"),
            "backend_pid": info.backend_pid,
            "password": info.password,
            "host": wire.host.decode(),
            "hostaddr": wire.hostaddr.decode(),
            "port": wire.port.decode(),
            "words": words_elsewhere(request["target"]),
            "configured_database": configured_database(request["target"]),
        }

    def _execute(self, request: dict[str, Any]) -> dict[str, Any]:
        query, values = request["query"].encode(), request["values"]
        cursor = self._connection.execute(query, values, prepare=request["prepare"])
        if cursor.description is None:
            return {"columns": None, "rows": [], "rowcount": cursor.rowcount}
        if cursor.rowcount > MOST_ROWS:
            raise MemoryError
        names = [column.name for column in cursor.description]
        return {"columns": names, "rows": cursor.fetchall(), "rowcount": cursor.rowcount}

    def _copy(self, request: dict[str, Any]) -> dict[str, Any]:
        pieces = _pieces(self._requests)
        try:
            with self._connection.cursor() as cursor:
                with cursor.copy(request["query"].encode()) as copy:
                    for piece in pieces:
                        copy.write(piece)
                return {"rowcount": cursor.rowcount}
        finally:
            for _ in pieces:  # the other end writes all of it in any case
                pass

    def _time(self, request: dict[str, Any]) -> dict[str, Any]:
        elapsed_ns = []
        for _ in range(request["times"]):
            began = time.monotonic_ns()
            self._connection.execute(request["query"].encode()).fetchall()
            elapsed_ns.append(time.monotonic_ns() - began)
        return {"ns": min(elapsed_ns)}

    def _close(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._connection is not None:
            self._connection.close()
        return {}


def configured_database(target: str) -> str | None:
    """The database that libpq takes from a service, else from the environment, for a connection
    string that names none; None: it would take the role's name. It changes this process's
    environment, by which libpq is asked."""
    name = next((each.val for each in _defaults(target) if each.keyword == b"dbname"), None)
    return name.decode(errors="surrogateescape") if name else None


def words_elsewhere(target: str) -> dict[str, str]:
    """The words that libpq takes from a service, else from the environment, for a connection string
    that has not got them, but for the password. What is libpq's own default is left out: another
    program's libpq has its own, and its account's name. It changes the environment likewise."""
    from psycopg.conninfo import conninfo_to_dict

    in_string = conninfo_to_dict(target)
    words = dict[str, str]()
    for option in _defaults(target):
        word, variable = option.keyword.decode(), (option.envvar or b"").decode()
        default = _login_name() if word == "user" else option.compiled
        named = bool(os.environ.get(variable)) or option.val != default
        if option.val and named and word != "password" and word not in in_string:
            words[word] = option.val.decode(errors="replace")
    return words


def _defaults(target: str) -> list[Any]:
    """What libpq assumes for each word where the service counts that a string names."""
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import Conninfo

    words = conninfo_to_dict(target)
    for word, variable in (("service", "PGSERVICE"), ("servicefile", "PGSERVICEFILE")):
        if word in words:
            os.environ[variable] = str(words[word])
    return Conninfo.get_defaults()


def _login_name() -> bytes | None:
    """The role of a connection that names none (fe-auth.c, pg_fe_getauthname)."""
    try:
        return os.fsencode(pwd.getpwuid(os.geteuid()).pw_name)
    except KeyError:
        return None


def main() -> None:
    """Answer requests until the other end closes the pipe."""
    import psycopg

    interrupts = Interrupts()
    _end_with(os.getppid())
    _limit_memory()
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    holder = Holder(requests)
    while (message := _message(requests)) is not None:
        request = unpacked(message[1])
        # Its default action ends the process, wherever that is.
        signal.setitimer(signal.ITIMER_REAL, request["limit_s"] or 0)
        try:
            interrupts.busy = True
            answer = packed_json(holder.answer(request))
        except KeyboardInterrupt:
            answer = packed_json({"error": {"canceled": True}, "closed": holder.closed})
        except psycopg.Error as error:
            answer = packed_json({"error": _described(error), "closed": holder.closed})
        except (MemoryError, ValueError, RecursionError, OverflowError) as error:
            answer = packed_json({"error": {"limit": str(error)}, "closed": holder.closed})
        finally:
            interrupts.busy = False
            signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(answer)
        answers.flush()
        if request["do"] == "copy" and b'"canceled"' in answer[:64]:
            return  # a message may have been read by half


def _described(error: Any) -> dict[str, Any]:
    """An error of psycopg or of the server, cut to a length that can be shown."""
    diag = error.diag
    return {
        "sqlstate": error.sqlstate,
        "text": _cut(str(error)) or f"an error {error.sqlstate} whose text could not be read",
        "primary": _cut(diag.message_primary),
        "detail": _cut(diag.message_detail),
        "hint": _cut(diag.message_hint),
    }


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} ..."


def _pieces(requests: IO[bytes]) -> Iterator[bytes]:
    while (message := _message(requests)) is not None and message[0] == DATA:
        yield message[1]


def _message(requests: IO[bytes]) -> tuple[bytes, bytes] | None:
    head = requests.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    kind, length = HEAD.unpack(head)
    if kind == JSON and length > MOST_BYTES:
        return None
    return kind, requests.read(length)


def _limit_memory() -> None:
    with open("/proc/self/statm", encoding="utf-8") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY_BYTES, now + MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_with(parent: int) -> None:
    """End this process when its parent has gone: a statement may still be waiting for its server.
    Not by PR_SET_PDEATHSIG, which is about the thread that started this process."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_S)
        os._exit(1)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


if __name__ == "__main__":
    main()
