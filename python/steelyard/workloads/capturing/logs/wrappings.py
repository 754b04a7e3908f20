"""Takes from lines what shows of containers put before them: their name, a stream, and a time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.other_lines import holds_statement, is_of_server
from steelyard.workloads.capturing.logs.syslog import is_syslog

# docker compose logs: "db-1  | 2026-11-28 ..."
_NAME = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*) +\|(?: |(?=\r?$))")
# docker logs -t, kubectl logs --timestamps; the files of containerd and CRI-O ("stderr F") beside.
_STAMP = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) "
    r"(?:(?P<stream>stdout|stderr) (?P<tag>[FP])(?::\S*)? )?"
)
_MOST = 0.8
"""This share of the first lines has it, so that one in a statement is no wrapping."""


class Wrapping:
    """What stands before the text of every line of a log."""

    def __init__(self, path: Path, pattern: re.Pattern[str], name: str | None) -> None:
        self._path, self._pattern, self._name = path, pattern, name

    def unwrapped(self, lines: Iterable[str]) -> Iterator[str]:
        """The texts of the lines, those together that were cut into parts; others' are left out.

        UsageError: another container has statements too.
        """
        parts: dict[str, str] = {}
        for line in lines:
            match = self._pattern.match(line)
            if match is None:
                yield line
                continue
            fields = match.groupdict()
            text, stream = line[match.end() :], fields.get("stream") or ""
            if self._name is not None and fields["name"] != self._name:
                if holds_statement(text):
                    raise _several(self._path, {self._name, fields["name"]})
                continue
            text = parts.pop(stream, "") + text
            if fields.get("tag") == "P":
                parts[stream] = text.removesuffix("\n")
            else:
                yield text
        yield from parts.values()

    def without(self, prefix: str) -> str:
        """A log_line_prefix without the wrapping that was named with it."""
        match = self._pattern.match(prefix)
        return prefix if match is None else prefix[match.end() :]


def wrappings_of(path: Path, head: Sequence[str], prefix: str | None) -> list[Wrapping]:
    """Those that the first lines have, the outermost first. `prefix`: what was named, which may
    begin with one, or look so.

    UsageError: several containers have lines of a server.
    """
    wrappings: list[Wrapping] = []
    lines = [line for line in head if line.strip()]
    for pattern in (_NAME, _STAMP):
        matches = [(line, match) for line in lines if (match := pattern.match(line)) is not None]
        if len(matches) <= _MOST * len(lines) or any(is_syslog(line) for line in lines):
            continue
        name = None
        if pattern is _NAME:
            if prefix is not None and "|" in prefix and pattern.match(prefix) is None:
                continue
            name = _name(path, matches)
        wrapping = Wrapping(path, pattern, name)
        wrappings.append(wrapping)
        lines = list(wrapping.unwrapped(lines))
    return wrappings


def _name(path: Path, matches: Sequence[tuple[str, re.Match[str]]]) -> str:
    """The container of which the lines are a server's; of none, the one with most lines."""
    counted = Counter(match["name"] for _, match in matches)
    servers = {
        match["name"]
        for line, match in matches
        if is_of_server(text := line[match.end() :]) or holds_statement(text)
    }
    if len(servers) > 1:
        raise _several(path, servers)
    return next(iter(servers), counted.most_common(1)[0][0])


def _several(path: Path, names: set[str]) -> UsageError:
    return UsageError(
        f'could not read log "{path}": it has lines of several servers: {", ".join(sorted(names))}',
        hint="docker compose logs --no-log-prefix NAME writes those of one.",
    )
