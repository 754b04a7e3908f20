"""Tells the lines of one server from others' by what syslog, journald or an envelope says of them.

Processes of two servers have the same numbers, so that their sessions cannot be told apart.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.model.errors import UsageError
from steelyard.workloads.capturing.logs.other_lines import holds_statement, is_of_server

Source = tuple[tuple[str, str], ...]
"""Where a line is from: a server, pod or host, and what it is in, each after the name of its key.
Empty: nothing says it."""

_STREAM, _SOURCE = "logStreamName", "source"
_KEYS = (
    ("logging_pod",),  # CloudNativePG
    ("kubernetes.pod_name", "kubernetes.namespace_name", "kubernetes.pod_namespace"),  # Fluent Bit
    ("kubernetes.pod.name", "kubernetes.namespace"),  # Filebeat
    ("resource.labels.database_id",),  # Cloud SQL
    ("resource.labels.pod_name", "resource.labels.namespace_name", "resource.labels.cluster_name"),
    ("resource.labels.instance_id",),
    (_STREAM,),  # CloudWatch
    ("logStream",),  # and its subscriptions
    ("resourceId",),  # Azure
    ("kubernetes.pod", "kubernetes.namespace"),
    ("container_name",),
    ("container.name", "host.name"),  # Filebeat, of Docker
    ("CONTAINER_NAME", "_HOSTNAME"),
    ("_SYSTEMD_UNIT", "_HOSTNAME"),
    ("_HOSTNAME",),
    ("container_id",),  # Vector
    ("container.id",),
    ("attrs.tag",),  # Docker, by --log-opt tag
    ("host.name",),
    ("host.hostname",),  # Logstash
    ("host",),
    ("hostname",),
    (_SOURCE,),  # Graylog
)
"""Of the first of these whose first key is there, the others are parts of the name. Shippers write
objects in objects, or their keys as one: "kubernetes.pod_name"."""
_STREAMS = (_STREAM, "logStream")
_NO_HOST = re.compile(r"std(?:out|err)|.*[/\\\s]", re.DOTALL)
"""What programs besides Graylog put there: a stream, a file, words."""
_NUMBER = re.compile(r"\.\d+$")
_Path = tuple[str, ...]


def _paths(key: str) -> Iterator[tuple[str, _Path]]:
    """The ways in which a key may be written, each with its path as jq has it."""
    first, *parts = key.split(".")
    for joined in itertools.product((False, True), repeat=len(parts)):
        path = [first]
        for part, is_joined in zip(parts, joined, strict=True):
            if is_joined:
                path[-1] += f".{part}"
            else:
                path.append(part)
        words = (json.dumps([word]) if "." in word else f".{word}" for word in path)
        yield "".join(words).removeprefix("."), tuple(path)


_PATHS = tuple(tuple(tuple(_paths(key)) for key in keys) for keys in _KEYS)


def source_of(envelope: Mapping[str, Any]) -> Source:
    """Where the line in an envelope is from."""
    for first, *others in _PATHS:
        if (own := _named(envelope, first)) is not None:
            parts = (_named(envelope, paths) for paths in others)
            return (own, *(part for part in parts if part is not None))
    return ()


def _named(
    envelope: Mapping[str, Any], paths: Iterable[tuple[str, _Path]]
) -> tuple[str, str] | None:
    for name, path in paths:
        if path[0] not in envelope or not (text := _text(envelope, path)):
            continue
        if name != _SOURCE or _NO_HOST.match(text) is None:
            return name, text
    return None


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
        if theirs != text and not (key in _STREAMS and _stem(theirs) == _stem(text)):
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
