"""Reads a server's configuration files, and writes them anew without what belongs to its place.

The syntax is that of guc-file.l: `name = value`, `name value`, quotes doubled or escaped, comments,
and the three includes, whose paths are relative to the file they stand in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from steelyard.engines.intake import Neutralised
from steelyard.engines.postgres.settings import SLOT_SETTINGS
from steelyard.model.errors import EngineError
from steelyard.model.secrets.redaction import is_secret_setting

MAIN, AUTOMATIC = "postgresql.conf", "postgresql.auto.conf"
_LINE = re.compile(
    r"""^\s*(?P<name>[A-Za-z_][A-Za-z0-9_$]*(?:\.[A-Za-z_][A-Za-z0-9_$]*)?)
        (?:\s*=\s*|\s+)
        (?:'(?P<quoted>(?:[^'\\]|''|\\.)*)'|(?P<plain>[^\s'\#]+))\s*(?:\#.*)?$""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"''|\\([0-7]{1,3}|.)")
_LETTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_INCLUDES = ("include", "include_if_exists", "include_dir")
_DEEPEST = 10  # CONF_FILE_MAX_DEPTH

_RULES: tuple[tuple[str, str], ...] = (
    (r"port|listen_addresses|unix_socket_.*|.*_file|data_directory|bonjour.*|cluster_name",
     "the place is its slot's"),
    (r"logging_collector|log_destination|log_directory|log_filename|log_rotation_.*|log_file_mode"
     r"|log_truncate_on_rotation|log_line_prefix|syslog_.*|event_source|stats_temp_directory",
     "its log is kept by the weighing"),
    (r"restore_command|archive_cleanup_command|recovery_.*|primary_.*|promote_trigger_file"
     r"|standby_mode|trigger_file|hot_standby_feedback|sync_replication_slots",
     "the copy is a server of its own"),
    (r"archive_mode|archive_command|archive_library|archive_timeout",
     "nothing is archived from it"),
    (r"synchronous_standby_names|synchronized_standby_slots|standby_slot_names",
     "no standby follows it: commits would wait for ever"),
    (r"ssl.*|krb_.*|gss_.*|password_encryption|oauth_.*|db_user_namespace|authentication_timeout",
     "no client logs in to it"),
)  # fmt: skip
_PATTERNS = [(re.compile(pattern, re.IGNORECASE), why) for pattern, why in _RULES]

SET: Mapping[str, str] = {
    "archive_mode": "off",
    "listen_addresses": "",
    # A subscription in the copy would fetch from its publisher.
    "max_logical_replication_workers": "0",
}
"""What the copy is given in any case."""


@dataclass(frozen=True)
class Configuration:
    """Settings by name, lower case, in the order of their files, and what was left out."""

    settings: Mapping[str, str]
    neutralised: tuple[Neutralised, ...] = ()

    def without(self, name: str, why: str) -> Configuration:
        """Without one more setting."""
        kept = {known: value for known, value in self.settings.items() if known != name}
        return Configuration(kept, (*self.neutralised, Neutralised(name, why)))

    def without_library(self, library: str, why: str) -> Configuration:
        """Without a library that every new process, session or the server would load."""
        kept, gone = dict(self.settings), list(self.neutralised)
        for name in PRELOADING:
            libraries = _listed(kept.get(name, ""))
            if library in libraries:
                kept[name] = ", ".join(one for one in libraries if one != library)
                gone.append(Neutralised(f"{library} in {name}", why))
        return Configuration(kept, tuple(gone))

    def text(self) -> str:
        """As a configuration file."""
        lines = [
            f"{name} = '{value.replace(chr(92), chr(92) * 2).replace(chr(39), chr(39) * 2)}'\n"
            for name, value in self.settings.items()
        ]
        return "# Of the original, without what belonged to its place.\n" + "".join(lines)


PRELOADING = ("shared_preload_libraries", "session_preload_libraries", "local_preload_libraries")


def _listed(text: str) -> list[str]:
    return [one.strip().strip('"') for one in text.split(",") if one.strip()]


def read_configuration(directory: Path, main: Path | None = None) -> Configuration:
    """The settings of a data directory, neutralised. `main`: where its postgresql.conf stands, if
    not in it. EngineError names the line that cannot be read."""
    main = main or directory / MAIN
    found: dict[str, str] = {}
    for file in (main, directory / AUTOMATIC):
        if file.is_file():
            for name, value in _settings(file, 0):
                found.pop(name, None)  # the last one counts, and stands where it was said
                found[name] = value
    return neutralise(found)


def read_file(file: Path) -> Configuration:
    """The settings of one file with its includes, neutralised, without what a copy is given.
    EngineError: it cannot be read."""
    found = neutralise(dict(_settings(file, 0)))
    kept = {name: value for name, value in found.settings.items() if name not in SET}
    return Configuration(kept, found.neutralised)


def neutralise(settings: Mapping[str, str]) -> Configuration:
    """Without what belongs to the place, the followers and the users of the original."""
    kept, gone = {}, []
    for name, value in settings.items():
        why = _why(name, value)
        if why is None:
            kept[name] = value
        else:
            gone.append(Neutralised(name, why))
    return Configuration({**kept, **SET}, tuple(gone))


def _why(name: str, value: str) -> str | None:
    if name in SLOT_SETTINGS:
        return "the place is its slot's"
    known = next((why for pattern, why in _PATTERNS if pattern.fullmatch(name)), None)
    if known is None and name in SET:
        return "the copy is a server of its own"
    return known or ("its value may be a secret" if is_secret_setting(name, value) else None)


def _settings(file: Path, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        raise EngineError(f'could not read "{file}": its includes go in a circle')
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise EngineError(
            f'could not read configuration file "{file}": {error.strerror}'
        ) from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.match(line)
        if found is None:
            raise EngineError(
                f'could not read configuration file "{file}": line {number} is no setting',
                detail="The line is not shown: it may hold a password.",
            )
        name = found["name"].lower()
        value = found["plain"] if found["quoted"] is None else _unescaped(found["quoted"])
        if name in _INCLUDES:
            for inner in _included(file.parent / value, name):
                yield from _settings(inner, depth + 1)
        else:
            yield name, value


def _included(path: Path, how: str) -> list[Path]:
    if how == "include_dir":
        names = [one for one in path.glob("*.conf") if not one.name.startswith(".")]
        return sorted(names)
    if how == "include_if_exists" and not path.is_file():
        return []
    return [path]


def _unescaped(text: str) -> str:
    """A quoted value as the server reads it (GUC_scanstr)."""

    def one(found: re.Match[str]) -> str:
        if found[1] is None:
            return "'"
        if found[1][0] in "01234567":
            return chr(int(found[1], 8) & 0xFF)
        return _LETTERS.get(found[1], found[1])

    return _ESCAPE.sub(one, text)


_OPTION = re.compile(r'"-c"\s+"config_file=([^"]+)"|--config[-_]file=([^"\s]+)')


def configuration_elsewhere(directory: Path) -> Path | None:
    """Where the server's last command line says that its configuration stands (postmaster.opts),
    as with Debian's packages; None: it says nothing of it, or it cannot be read."""
    try:
        words = (directory / "postmaster.opts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _OPTION.search(words)
    if found is None:
        return None
    path = Path(found[1] or found[2])
    return path if path.is_file() else None
