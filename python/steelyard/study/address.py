"""Says what a study of running servers may hold: arms that are sessions, nothing of our own.

Takes an address apart, so that it is known again however it is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Protocol
from urllib.parse import unquote

from steelyard.study.arm import Arm
from steelyard.study.secrets import holds_password

HOUSED = frozenset({"sqlserver"})
"""Kinds of server at whose address arms are databases that are made there for the weighing, and
not sessions: their settings are those of a database, and they pay their own debt."""
IN_TURNS = frozenset({"postgres"})
"""Kinds of server whose checkpoints can be seen and spaced, so that `layout = "auto"` weighs what
acts through them over whole cycles; one that another package brings, where the study says so."""
IN_CYCLES = frozenset({"postgres"})
"""Of these, kinds whose servers can stand still and be brought into their own time."""
LOG_APART = frozenset({"postgres"})
"""Kinds of server whose write-ahead log can be in a directory of its own by a link."""
WHOLE_CYCLES = frozenset({"turns", "cycles"})
"""Layouts that measure whole checkpoint cycles: of servers that we start, and cut by time."""
_OURS = {
    "source": "data is taken in only by servers that we start",
    "sql": "nothing is written into a server that is not ours",
    "needs": "what a server can do is its own matter",
    "memory": "only servers that we start can be held to it",
    "disk": "only servers that we start can be held to it",
    "statement_counters": "nothing is installed in a server that is not ours",
    "contrib": "nothing is installed in a server that is not ours",
    "archive": "the files of its log are not ours to read",
}
"""Keys of a study that need a server that we start, and why."""


class LoadOfStudy(Protocol):
    """What these rules read of the workload of a study."""

    @property
    def machines(self) -> int:
        """Load machines that the clients are dealt over."""


class AddressedStudy(Protocol):
    """What these rules read of a study."""

    @property
    def address(self) -> str | None:
        """Of a running server, common to all arms."""

    @property
    def every_arm(self) -> Sequence[Arm]:
        """The control, then the arms."""

    @property
    def workload(self) -> LoadOfStudy:
        """What loads the arms."""

    @property
    def layout(self) -> str:
        """How the arms take turns."""

    @property
    def cost(self) -> str:
        """Which of its cost an arm is held to."""


def require_reachable(study: AddressedStudy, *, own_databases: bool) -> None:
    """ValueError where a study of running servers asks for what only our own servers can do; with
    `own_databases` its arms are databases that are made at the address."""
    addresses = [study.address, *(arm.address for arm in study.every_arm)]
    if not any(addresses):
        if study.workload.machines > 1:
            raise ValueError(
                "workload.machines: several load machines reach arms at addresses only, and not "
                "the servers that are started on this one"
            )
        return
    if own_databases and any(addresses[1:]):
        raise ValueError(
            "arms are databases of one server here: give one address, and none to an arm"
        )
    if own_databases and study.workload.machines > 1:
        raise ValueError("workload.machines: SQL Server is loaded by this machine alone")
    if study.address is None and None in addresses[1:]:
        raise ValueError("every arm needs an address, or the study one for all of them")
    if any(holds_password(address) for address in addresses if address):
        raise ValueError(
            "an address says a password, which would stand in the record: leave it to PGPASSWORD, "
            "SQLCMDPASSWORD, a password file or a service file"
        )
    for key, why in _OURS.items():
        if getattr(study, key):
            raise ValueError(f'"{key}" does not go with an address: {why}')
    cycles = study.layout in WHOLE_CYCLES
    if cycles or (study.cost == "whole" and not own_databases):
        key = f'layout = "{study.layout}"' if cycles else 'cost = "whole"'
        raise ValueError(
            f"{key} needs servers that we start and stop: an address is weighed as it is"
        )
    for arm in study.every_arm:
        wrong = {
            "bindir": arm.bindir,
            "profile": arm.profile,
            "sql": arm.sql,
            "connect": arm.connect != "socket",
            "directory": arm.directory,
            "wal_directory": arm.wal_directory,
            "pooler": arm.pooler,
            "replication": arm.replication,
            "checksums": not arm.checksums,
            "weight.background": arm.weight.background,
        }
        refused = [key for key, present in wrong.items() if present]
        if refused:
            raise ValueError(
                f'arm "{arm.name or arm.role}" has "{refused[0]}", which needs a server that we '
                "start: at an address an arm has settings of its sessions, a role, a database"
            )


_PAIR = re.compile(
    r"\s*([^\s=]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?:\s+|$)", re.DOTALL
)
_URI = re.compile(r"\s*([A-Za-z][\w+.-]*)://(.*?)\s*", re.DOTALL)
_HOST = re.compile(r"(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?")
_OF_ACCESS = re.compile(
    r"passw.*|passfile|ssl(cert|key|rootcert|crl|password)|(fallback_)?application_name"
    r"|connect_timeout|keepalives.*|tcp_user_timeout"
)
"""Words by which a server lets one in, or a connection is watched: they change nothing of what is
weighed."""
_PLAIN = re.compile(r"[\w.:/,@%+-]+")
_OF_SERVER = ("host", "hostaddr", "port", "service")


def address_words(address: str) -> dict[str, str]:
    """The words of a connection string, or of a URI, that say which server, database and session
    is reached; of what is neither, it alone. A host's name is in lower case."""
    uri = _URI.fullmatch(address)
    words = _keywords(address) if uri is None else _uri_words(uri[1], uri[2])
    if words is None:
        return {"address": address}
    words = {word: value for word, value in words.items() if value}
    if "host" in words:
        words.pop("hostaddr", None)
        host = words["host"]
        words["host"] = host if host.startswith("/") else host.lower()
    return {word: value for word, value in words.items() if not _OF_ACCESS.fullmatch(word)}


def address_text(words: Mapping[str, str]) -> str:
    """The words in the order of the alphabet: `"host=db1 port=5432 user=app"`."""
    return " ".join(
        f"{word}={value if _PLAIN.fullmatch(value) else json.dumps(value)}"
        for word, value in sorted(words.items())
    )


def server_text(address: str) -> str:
    """Of a connection string the words that say which server it leads to: `"host=db1 port=5432"`;
    empty: it has none."""
    words = address_words(address)
    return address_text({word: words[word] for word in _OF_SERVER if word in words})


def _keywords(text: str) -> dict[str, str] | None:
    """As libpq reads `host=db1 port=5432`; None: it does not."""
    words, at = dict[str, str](), 0
    while at < len(text.rstrip()):
        pair = _PAIR.match(text, at)
        if pair is None:
            return None
        value, at = pair[3] if pair[2] is None else pair[2], pair.end()
        words[pair[1]] = re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL)
    return words


def _uri_words(scheme: str, rest: str) -> dict[str, str]:
    """As libpq reads `postgresql://user@host:port/dbname?word=value`; with the scheme of others."""
    place, _, query = rest.partition("?")
    authority, _, database = place.partition("/")
    user, _, listed = authority.rpartition("@")
    hosts = [match for each in listed.split(",") if (match := _HOST.match(each)) is not None]
    ports = ",".join(match[3] or "" for match in hosts)
    words = {
        "scheme": "" if scheme in ("postgres", "postgresql") else scheme,
        "user": user.partition(":")[0],
        "host": ",".join(match[1] or match[2] for match in hosts),
        "port": ports if ports.strip(",") else "",
        "dbname": database,
    }
    pairs = (pair.partition("=") for pair in query.split("&"))
    words |= {word: value for word, _, value in pairs}
    return {word: unquote(value) for word, value in words.items()}


def require_archivable(engine: str) -> None:
    """ValueError: the log of such servers is not in files that an archive keeps one by one."""
    if engine not in LOG_APART:
        raise ValueError(f'"archive" needs servers of PostgreSQL, not of {engine}')
