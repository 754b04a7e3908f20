"""Engines whose servers cannot be brought into their own time are refused, with what to type."""

from __future__ import annotations

import pytest

from steelyard.model.errors import EngineError
from steelyard.running.cycles.suspension import suspendable
from steelyard.running.layout_choice import LAYOUTS
from story.noop.engine import NoopEngine
from story.noop.journal import NOOP_IDENTITY


class Plain:
    """An engine, and a server of it, that nothing holds still."""

    identity = NOOP_IDENTITY


class Spaced(Plain):
    """One whose checkpoints can be spaced, and nothing more."""

    log_checkpoints: dict[str, str] = {}  # noqa: RUF012  as the protocol has it

    def cycle(self, settings: object) -> None:
        """As the protocol has it."""

    def scaled(self, settings: object, factor: float) -> None:
        """As the protocol has it."""


@pytest.mark.parametrize(("engine", "turns"), [(Plain(), False), (Spaced(), True)])
def test_an_engine_without_own_time_is_refused_and_turns_are_offered_where_it_has_them(
    engine: Plain, turns: bool
) -> None:
    with pytest.raises(EngineError, match="cannot be weighed in cycles") as refused:
        LAYOUTS["cycles"].require_engine(engine)  # type: ignore[arg-type]
    assert ("layout=turns" in (refused.value.hint or "")) == turns
    assert "layout=slices" in (refused.value.hint or "")
    LAYOUTS["cycles"].require_engine(NoopEngine())


def test_a_server_that_cannot_be_held_still_is_refused() -> None:
    with pytest.raises(EngineError, match="cannot be held still: noop") as refused:
        suspendable(Plain())  # type: ignore[arg-type]
    assert "layout=turns" in (refused.value.hint or "")
