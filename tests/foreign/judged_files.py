"""Judges files of other people's benchmarks as the command does, for tests of whole readings.

The layouts in `inputs/` are those of public tools and repositories, the numbers mostly drawn. What
is expected of them was computed apart with scipy (Welch's t and the paired t on logs).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from steelyard.foreign.comparison import Options, compare
from steelyard.foreign.copies import refuse_copies
from steelyard.foreign.formats import read_sheet
from steelyard.foreign.judgement.judge_numbers import judge_numbers
from steelyard.foreign.judgement.judgement import Judgement, NumberContrast
from steelyard.foreign.series import Order
from steelyard.foreign.source import open_source, source_of
from steelyard.model.errors import SteelyardError

INPUTS = Path(__file__).parent / "inputs"
RANDOM = {"order": Order.RANDOM}


def judged(*files: str, columns: Mapping[str, str] | None = None, **asked: Any) -> Judgement:
    """The judgement of `name` or `arm=name` in `inputs/`; `asked`: the fields of `Options`."""
    named = [text.rpartition("=")[::2] for text in files]
    sources = [(arm or None, open_source(INPUTS / name)) for arm, name in named]
    refuse_copies([source for _, source in sources])
    alone = len(sources) == 1 and sources[0][0] is None
    sheets = [(arm, read_sheet(source, None, columns, alone)) for arm, source in sources]
    return judge_numbers(compare(sheets, Options(**asked)))


def judged_text(*texts: str, columns: Mapping[str, str] | None = None, **asked: Any) -> Judgement:
    """The judgement of a text, or of one text an arm: a, b, c …"""
    alone = len(texts) == 1
    sheets = [
        (
            None if alone else "abcdefgh"[n],
            read_sheet(source_of(text.encode(), f"{n}"), None, columns, alone),
        )
        for n, text in enumerate(texts)
    ]
    return judge_numbers(compare(sheets, Options(**asked)))


def only(judgement: Judgement) -> NumberContrast:
    """The only contrast."""
    (contrast,) = judgement.contrasts
    return contrast


def percent(judgement: Judgement) -> float:
    """The estimate of the only contrast."""
    return only(judgement).estimate.in_percent().value


def verdict(judgement: Judgement) -> str:
    """The verdict of the only contrast."""
    return only(judgement).verdict.kind.value


def doubts(judgement: Judgement) -> set[str]:
    """The names of all threats."""
    return {threat.name for contrast in judgement.contrasts for threat in contrast.threats}


def refused(*files: str, **asked: Any) -> SteelyardError:
    """The error in place of a judgement."""
    with pytest.raises(SteelyardError) as error:
        judged(*files, **asked)
    return error.value


def refused_text(*texts: str, **asked: Any) -> SteelyardError:
    """The error in place of a judgement of texts."""
    with pytest.raises(SteelyardError) as error:
        judged_text(*texts, **asked)
    return error.value
