"""Writes and reads the messages between a guarded connection and its process.

A message is a letter, its length (4 bytes, big-endian) and a body: "J" is JSON, "D" a piece of
COPY data, "E" its end. JSON and not pickle: what reads a hostile server does not choose what the
program constructs.
"""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from typing import Any

HEAD = struct.Struct(">cI")
JSON, DATA, END = b"J", b"D", b"E"
MOST_BYTES = 16 << 20
"""Of a message: an answer to a control statement is smaller by far."""
PIECE = 1 << 20
"""Of COPY data in one message."""


def packed(kind: bytes, body: bytes) -> bytes:
    """A message as bytes."""
    return HEAD.pack(kind, len(body)) + body


def packed_json(value: object) -> bytes:
    """A value as a message. ValueError: it is larger than a message may be."""
    body = json.dumps(_plain(value), separators=(",", ":")).encode()
    if len(body) > MOST_BYTES:
        raise ValueError(f"larger than {MOST_BYTES >> 20} MB")
    return packed(JSON, body)


def unpacked(body: bytes) -> Any:
    """The value of a JSON message. ValueError: it is none."""
    try:
        return _value(json.loads(body))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _plain(value: Any) -> Any:
    """With what JSON has no form for marked by its type; a time or an address becomes a text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {"object": {str(name): _plain(item) for name, item in value.items()}}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": bytes(value).hex()}
    return str(value)


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if isinstance(plain, dict):
        [(kind, inner)] = plain.items()
        if kind == "decimal":
            return Decimal(inner)
        if kind == "bytes":
            return bytes.fromhex(inner)
        return {name: _value(item) for name, item in inner.items()}
    return plain
