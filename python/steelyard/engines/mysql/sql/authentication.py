"""Opens connections that give no password to a server that another one could pose as, or over an
open network, and that bound what a server may send.

PyMySQL does what any server asks for: it sends the password itself to one that wants it in clear
text, over plain TCP too, and encrypts it with whichever key comes over the same connection. Here
the rules are those of the driver (crates/mysql-wire/src/authentication.rs).

PyMySQL's timeouts are of one packet: a server that sends a byte now and then, or rows without end,
would be read for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pymysql import OperationalError, _auth
from pymysql.connections import Connection

_NATIVE = "mysql_native_password"
_FAILED = 2061
"""CR_AUTH_PLUGIN_ERR."""
_IN_THE_CACHE = b"\x01\x03"
"""What caching_sha2_password says after a proof that it could verify by itself."""
if TYPE_CHECKING:
    _Connection = Connection[Any]
else:
    _Connection = Connection
Handler = Callable[[_Connection], Any]
"""Makes what answers a plugin of a server, as PyMySQL's `auth_plugin_map` takes it."""

MOST_BYTES = 16 << 20
"""Of an answer; its values take some ten times as much memory."""
MOST_PACKETS = 100_000
"""Of an answer, which has a packet for each row and column."""
_LOST = 2013
"""CR_SERVER_LOST."""


class BoundedConnection(_Connection):
    """A connection on which logging in takes `connect_timeout` at most, each answer
    `read_timeout` (the login too), and is no larger than MOST_BYTES and MOST_PACKETS."""

    _until: float | None = None
    _within_s: float | None = None
    _left_bytes = MOST_BYTES
    _left_reads = 2 * MOST_PACKETS
    _logged_in = False

    def connect(self, sock: Any = None) -> None:
        """Connect and authenticate; pymysql's errors."""
        wire: Any = self
        self._logged_in = False
        connect_s = float(wire.connect_timeout)
        self._begin(min(connect_s, wire._read_timeout or connect_s))
        super().connect(sock)
        self._logged_in = True

    def _execute_command(self, command: int, sql: str | bytes) -> None:
        if self._logged_in:
            self._begin(self._read_timeout)  # type: ignore[attr-defined]
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _begin(self, within_s: float | None) -> None:
        self._within_s, self._left_bytes = within_s, MOST_BYTES
        self._left_reads = 2 * MOST_PACKETS  # its head and its body
        self._until = None if within_s is None else time.monotonic() + within_s

    def _read_bytes(self, num_bytes: int) -> bytes:
        wire: Any = self
        self._left_bytes -= num_bytes
        self._left_reads -= 1
        if self._left_bytes < 0 or self._left_reads < 0:
            most = f"{MOST_BYTES >> 20} MB" if self._left_bytes < 0 else f"{MOST_PACKETS} packets"
            wire._force_close()
            raise OperationalError(_LOST, f"the server sent more than {most} in one answer")
        pieces, left = [], num_bytes
        while left:
            piece = self._read_piece(wire, left)
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _read_piece(self, wire: Any, left: int) -> bytes:
        try:
            if self._until is not None:
                remaining_s = self._until - time.monotonic()
                if remaining_s <= 0:
                    raise TimeoutError
                wire._sock.settimeout(remaining_s)
            wire._current_timeout = -1.0  # no other one's
            piece: bytes = wire._rfile.read1(left)
        except TimeoutError:
            wire._force_close()
            raise OperationalError(
                _LOST, f"timed out: no answer within {self._within_s:g} s"
            ) from None
        except OSError as error:
            wire._force_close()
            raise OperationalError(
                _LOST, f"Lost connection to MySQL server during query ({error})"
            ) from error
        except BaseException:
            wire._force_close()
            raise
        if not piece:
            wire._force_close()
            raise OperationalError(_LOST, "Lost connection to MySQL server during query")
        return piece


class AuthSwitchConnection(BoundedConnection):
    """A connection on which no plugin begins with the greeting: a server that wants another one
    than mysql_native_password asks for it by name, and `handlers` answer."""

    _auth_plugin_name: str

    def _get_server_information(self) -> None:
        super()._get_server_information()  # type: ignore[misc]
        self._auth_plugin_name = self._auth_plugin_name and _NATIVE


def handlers(*, private: bool) -> dict[str, Handler]:
    """By the plugin. `private`: nothing reads the connection, or answers in the server's place: a
    Unix socket, or TLS with a verified certificate."""
    guarded: dict[str, Handler] = {
        "caching_sha2_password": CachingSha2,
        "sha256_password": Sha256,
        "mysql_old_password": LoginRefusal.of("mysql_old_password, which is not known here"),
    }
    if not private:
        for plugin in ("mysql_clear_password", "dialog"):
            guarded[plugin] = LoginRefusal.of(
                f"the password itself ({plugin}), which only goes through a Unix socket or an "
                "encrypted connection whose certificate is verified"
            )
    return guarded


class LoginRefusal:
    """Ends the connection instead of an answer."""

    def __init__(self, request: str) -> None:
        self._asked = request

    @classmethod
    def of(cls, request: str) -> Handler:
        """One for every connection."""
        return lambda _: cls(request)

    def authenticate(self, packet: object) -> None:
        """OperationalError."""
        raise OperationalError(_FAILED, f"the server asks for {self._asked}")


class _Sha2:
    """Base of both SHA-256 plugins. PyMySQL sends the password through an encrypted connection or a
    Unix socket. Else it would encrypt it by an RSA key that the server sends: this is refused,
    since over an open network anyone could have sent that key."""

    plugin = ""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def _refuse(self) -> None:
        LoginRefusal(
            f"the password itself ({self.plugin}), which only goes through a Unix socket or an "
            "encrypted connection"
        ).authenticate(None)


class CachingSha2(_Sha2):
    """caching_sha2_password: a proof is enough while the server has the password in its cache."""

    plugin = "caching_sha2_password"

    def authenticate(self, packet: Any) -> Any:
        """The server's last packet; OperationalError."""
        wire = self._connection
        if wire._secure or not wire.password:
            return _auth.caching_sha2_password_auth(wire, packet)
        nonce = packet.read_all().removesuffix(b"\0")
        wire.write_packet(_auth.scramble_caching_sha2(wire.password, nonce))
        answer = wire._read_packet()
        if answer.is_extra_auth_data():
            if answer.get_all_data() != _IN_THE_CACHE:
                self._refuse()
            answer = wire._read_packet()
        return answer


class Sha256(_Sha2):
    """sha256_password: it always wants the password itself."""

    plugin = "sha256_password"

    def authenticate(self, packet: Any) -> Any:
        """The server's last packet; OperationalError."""
        if not self._connection._secure and self._connection.password:
            self._refuse()
        answer: Any = _auth.sha256_password_auth  # has no types
        return answer(self._connection, packet)
