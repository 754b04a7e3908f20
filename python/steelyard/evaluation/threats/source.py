"""Raises the threats of external data: what is otherwise than on the server that it belonged to."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.model.threat import Threat, raise_threat
from steelyard.model.threat_kind import ThreatKind
from steelyard.record.environment import SourceFacts


def source_threats(source: SourceFacts | None) -> Iterator[Threat]:
    """Where the arms have not the settings of the data's server."""
    if source is not None and source.settings_missing:
        yield raise_threat(ThreatKind.OTHER_SETTINGS, source.settings_missing)
    for one in () if source is None else source.replaced:
        if one.name == "shared_buffers" and "default" not in (one.theirs, one.used):
            seen = f"shared_buffers is {one.theirs} there, and {one.used} here: {one.why}"
            yield raise_threat(ThreatKind.OTHER_SETTINGS, seen)


def source_notes(source: SourceFacts | None) -> Iterator[str]:
    """What is otherwise in the copy, a line each; the lists themselves are in the report."""
    if source is None:
        return
    if source.changes:
        yield f"{source.changes}: in the report, and environment.json (source)"
    yield from source.doubts
