"""Claims that are cited are judged by their design, and repeated here or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from history.made import keep_record
from steelyard.cli.views.reproductions.page import claim_row
from steelyard.record.reader import read_verdict
from steelyard.record.record import Record
from steelyard.reproductions.reproduction import Reproduction, claim_names, read_reproduction


def test_every_claim_is_judged_by_its_design_and_is_weighed_or_says_why_not() -> None:
    claims = [read_reproduction(name) for name in claim_names()]
    assert len(claims) >= 12
    for claim in claims:
        assert claim.runs
        assert claim.interval
        assert claim.steps or claim.cannot
        assert claim.cannot == "" or not claim.cannot.endswith(".")
        assert all(step.claims for step in claim.steps)


def test_without_steps_it_says_why() -> None:
    facts = read_reproduction("graviton4").model_dump(by_alias=True)
    with pytest.raises(ValidationError, match='"cannot" says why'):
        Reproduction.model_validate({**facts, "cannot": ""})


def test_a_claim_stands_in_a_row_with_its_reading_or_why_there_is_none(tmp_path: Path) -> None:
    claim = read_reproduction("checksums-three-percent")
    verdict = read_verdict(Record.open(keep_record(tmp_path / "record")))
    assert verdict is not None
    assert claim_row(claim, {}).endswith(
        "| `steelyard reproduce checksums-three-percent` | not weighed yet |"
    )
    weighed = claim_row(claim, {"reading-256": verdict})
    assert "reading-256: off **faster** +2" in weighed
    assert "not weighed yet" not in weighed
    absent = claim_row(read_reproduction("linux-7-halves"), {})
    assert "| – | cannot be told here: it takes two kernels and 96 processors" in absent
    assert "reproduce lz4-almost-free --longer`" in claim_row(
        read_reproduction("lz4-almost-free"), {}
    )
