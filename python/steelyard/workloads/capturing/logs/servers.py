"""Tells the lines of one server from others' by what syslog, journald or an envelope says of them.

Processes of two servers have the same numbers, so that their sessions cannot be told apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.other_lines import holds_statement, is_of_server

Source = tuple[tuple[str, str], ...]
"""Where a line is from: a server, pod or host, and what it is in, each after the name of its key.
Empty: nothing says it."""

_STREAM = "logStreamName"
_KEYS = (
    ("logging_pod",),  # CloudNativePG
    ("kubernetes.pod_name", "kubernetes.namespace_name", "kubernetes.pod_namespace"),  # Fluent Bit
    ("kubernetes.pod.name", "kubernetes.namespace"),  # Filebeat
    ("resource.labels.database_id",),  # Cloud SQL
    ("resource.labels.pod_name", "resource.labels.namespace_name", "resource.labels.cluster_name"),
    ("resource.labels.instance_id",),
    (_STREAM,),  # CloudWatch
    ("resourceId",),  # Azure
    ("container_name",),
    ("CONTAINER_NAME", "_HOSTNAME"),
    ("_SYSTEMD_UNIT", "_HOSTNAME"),
    ("_HOSTNAME",),
    ("host.name",),
    ("host",),
    ("hostname",),
)
"""Of the first of these whose first key is there, the others are parts of the name."""
_PATHS = tuple(tuple((key, tuple(key.split("."))) for key in keys) for keys in _KEYS)
_NUMBER = re.compile(r"\.\d+$")


def source_of(envelope: Mapping[str, Any]) -> Source:
    """Where the line in an envelope is from."""
    for paths in _PATHS:
        if paths[0][1][0] in envelope and _text(envelope, paths[0][1]):
            return tuple((key, text) for key, path in paths if (text := _text(envelope, path)))
    return ()


def _text(value: Any, path: Iterable[str]) -> str:
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""


@dataclass
class LogServer:
    """The server of a log: where its statements are from."""

    path: Path
    hint: Callable[[str, str], str]
    """Of a key and its value, what writes the lines that have it."""
    _sources: dict[str, Source] = field(default_factory=dict)
    """By the first key: of what names its lines otherwise nothing is known."""

    def takes(self, source: Source, text: str) -> bool:
        """Whether a line may be of the server, by where it is from; once that is known, others'
        are none of its.

        UsageError: another server has statements too.
        """
        own = self._sources.get(source[0][0]) if source else None
        if not source or own == source:
            return True
        difference = None if own is None else _difference(own, source)
        if own is not None and difference is None:
            return True
        if not (is_of_server(text) and holds_statement(text)):
            return own is None
        if difference is not None:
            key, ours, theirs = difference
            raise several_servers(self.path, {ours, theirs}, self.hint(key, ours))
        self._sources[source[0][0]] = source
        return True

    def is_from(self, source: Source) -> bool:
        """Whether what is from there is the server's, or may be."""
        own = self._sources.get(source[0][0]) if source else source
        return own is not None and _difference(own, source) is None


def _difference(source: Source, other: Source) -> tuple[str, str, str] | None:
    """The first key whose values differ, and both; None: they are of one server."""
    values = dict(other)
    for key, text in source:
        theirs = values.get(key, text)
        if theirs != text and not (key == _STREAM and _stem(theirs) == _stem(text)):
            return key, text, theirs
    return None


def _stem(stream: str) -> str:
    """A server's streams are numbered: orders-1.0"""
    return _NUMBER.sub("", stream)


def several_servers(path: Path, names: Iterable[str], hint: str) -> UsageError:
    """A log has lines of them. `hint`: what to type."""
    return UsageError(
        f'could not read log "{path}": it has lines of several servers: {", ".join(sorted(names))}',
        hint=hint,
    )
