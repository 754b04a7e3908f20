"""Lets the tests of telemetry weigh in memory, as the story's tests do."""

from __future__ import annotations

from story.conftest import weigh_in

__all__ = ["weigh_in"]
