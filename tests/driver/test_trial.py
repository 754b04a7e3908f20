"""Scripts are executed before a load until they succeed, with other values at each try."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from steelyard.driver.trial import TRIES, try_each

DIVISION, SYNTAX = "22012", "42601"


@dataclass(frozen=True)
class _Answer:
    """One execution that failed with a state, or succeeded."""

    state: str | None
    capped: int = 0
    error_messages: Mapping[str, str] = field(default_factory=dict)

    @property
    def transactions(self) -> int:
        return int(self.state is None)

    @property
    def failed(self) -> int:
        return int(self.state is not None)

    @property
    def errors(self) -> Mapping[str, int]:
        return {self.state: 1} if self.state else {}


@pytest.mark.parametrize(
    ("state_of", "numbers", "works"),
    [
        pytest.param(lambda n: None, [0], True, id="succeeds"),
        pytest.param(lambda n: DIVISION if n < 2 else None, [0, 1, 2], True, id="fails at times"),
        pytest.param(lambda n: DIVISION, [*range(TRIES)], False, id="fails always"),
        pytest.param(lambda n: SYNTAX, [0], False, id="is wrong"),
    ],
)
def test_each_try_has_a_number_of_its_own(
    state_of: Callable[[int], str | None], numbers: Sequence[int], works: bool
) -> None:
    tries = []

    def client(pending: Sequence[str], number: int) -> list[_Answer]:
        tries.append(number)
        return [_Answer(state_of(number)) for _ in pending]

    [only] = try_each(["script"], client).values()
    assert tries == numbers
    assert only.never_works is not works
