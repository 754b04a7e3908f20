"""Passes a standby's connections on to its primary, each byte after half of a round trip.

A process of its own, started by `standby_group.py`: netem of the kernel would need root, a network
namespace and a module that many kernels lack. It ends when its standard input does, which is a pipe
of its owner.
"""

from __future__ import annotations

import os
import select
import socket
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

Readable = int | socket.socket
MOST_QUEUED_BYTES = 64 << 20
"""In one direction; more is left in the kernel's buffers, as a full line would."""
_PIECE_BYTES = 1 << 18


@dataclass
class Direction:
    """What one side of a connection has sent and the other has not got yet."""

    source: socket.socket
    sink: socket.socket
    queue: deque[tuple[int, bytes]] = field(default_factory=deque)
    queued_bytes: int = 0
    ended: bool = False  # the source sends nothing more
    closed: bool = False  # and the sink knows

    def receive(self, due_ns: int) -> None:
        """Take what has come; b"" is its end."""
        piece = self.source.recv(_PIECE_BYTES)
        self.ended = not piece
        self.queue.append((due_ns, piece))
        self.queued_bytes += len(piece)

    def send(self, now_ns: int) -> None:
        """Pass on what is due, as far as the sink takes it."""
        while self.queue and self.queue[0][0] <= now_ns:
            due_ns, piece = self.queue[0]
            if not piece:
                self.sink.shutdown(socket.SHUT_WR)
                self.closed = True
                self.queue.clear()
                return
            try:
                sent = self.sink.send(piece)
            except BlockingIOError:
                return
            self.queued_bytes -= sent
            self.queue.popleft()
            if sent < len(piece):
                self.queue.appendleft((due_ns, piece[sent:]))
                return


class Relay:
    """All connections through one socket."""

    def __init__(self, listener: socket.socket, upstream: str, delay_ns: int) -> None:
        self._listener = listener
        self._upstream = upstream
        self._delay_ns = delay_ns
        self._pairs: list[tuple[Direction, Direction]] = []

    def run(self, owner: int) -> None:
        """Until the owner's pipe ends."""
        while True:
            ready = self._wait(owner)
            if owner in ready and not os.read(owner, 1):
                return
            if self._listener in ready:
                self._accept()
            for pair in list(self._pairs):
                try:
                    self._pass_on(pair, ready)
                except OSError:
                    self._drop(pair)
                    continue
                if all(direction.closed for direction in pair):
                    self._drop(pair)

    def _wait(self, owner: int) -> list[Readable]:
        """What can be read, once anything can be read or written or the next piece is due."""
        readers: list[Readable] = [owner, self._listener]
        writers: list[socket.socket] = []
        first_ns, now_ns = None, time.monotonic_ns()
        for direction in (side for pair in self._pairs for side in pair):
            if not direction.ended and direction.queued_bytes < MOST_QUEUED_BYTES:
                readers.append(direction.source)
            if direction.queue:
                due_ns = direction.queue[0][0]
                if due_ns <= now_ns:
                    writers.append(direction.sink)
                else:
                    first_ns = due_ns if first_ns is None else min(first_ns, due_ns)
        timeout_s = None if first_ns is None else max(0, first_ns - now_ns) / 1e9
        # select(2), whose timeout is of microseconds: that of poll and epoll is of milliseconds.
        return select.select(readers, writers, [], timeout_s)[0]

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self._upstream)
        except OSError:
            client.close()
            server.close()
            return
        client.setblocking(False)
        server.setblocking(False)
        self._pairs.append((Direction(client, server), Direction(server, client)))

    def _pass_on(self, pair: tuple[Direction, Direction], ready: Sequence[Readable]) -> None:
        for direction in pair:
            if direction.source in ready:
                direction.receive(time.monotonic_ns() + self._delay_ns)
        for direction in pair:
            direction.send(time.monotonic_ns())

    def _drop(self, pair: tuple[Direction, Direction]) -> None:
        self._pairs.remove(pair)
        for direction in pair:
            direction.source.close()


def main(path: str, upstream: str, delay_ns: str, user: str, group: str) -> None:
    """Listen at a path until standard input ends, as the account; says a line once it does."""
    if int(user) != os.geteuid():
        os.setgroups([])
        os.setresgid(int(group), int(group), int(group))
        os.setresuid(int(user), int(user), int(user))
    os.umask(0o077)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        Relay(listener, upstream, int(delay_ns)).run(sys.stdin.fileno())


if __name__ == "__main__":
    main(*sys.argv[1:])
