"""A published study that cannot be read is refused by its file and key, or by the nearest name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.reproductions.reproduction import names, read_reproduction


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("title = ", "cannot parse"),
        ('title = "x"', 'invalid value for "question"'),
        ("unknown = 1", 'invalid value for "title"'),
    ],
)
def test_a_file_that_is_wrong_is_named_with_its_key(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(StudyError, match=said):
        read_reproduction(str(tmp_path / "mine.toml"))


def test_a_name_that_is_almost_one_is_answered_with_the_nearest() -> None:
    with pytest.raises(StudyError) as refused:
        read_reproduction("checksum")
    assert 'Perhaps you meant "checksums"' in str(refused.value)
    assert json.dumps(names()[0])
