"""An arm that could not start says why, and what to do."""

from __future__ import annotations

from steelyard.model.errors import ServerError
from steelyard.running.measuring.arm_loss import ArmLostError


def test_an_arm_that_could_not_start_keeps_the_servers_words_and_what_to_type() -> None:
    refused = ServerError("could not work on it", detail="restart-only", hint="weigh a copy")
    other = ServerError("could not start", detail="no room")
    lost = ArmLostError.at_start({"arm": refused, "control": other})
    assert (lost.primary, lost.hint) == ('arm "arm": could not work on it', "weigh a copy")
    assert lost.detail == 'restart-only\narm "control": could not start\nno room'
    assert lost.outcome == "could not start: arm, control"
