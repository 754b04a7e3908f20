"""Lines that name what they hold are columns of quantities, or cells of queries, no mixture."""

from __future__ import annotations

import numpy as np
import pytest

from foreign.judged_files import judged_text, percent
from foreign.reading import arms_of, sheet_of

RNG = np.random.default_rng(11)


def executions(forms: dict[str, float], runs: int = 12) -> str:
    """Lines in turn; form of a line → the number that it holds, give or take 1 %."""
    return "".join(
        form.format(number * RNG.normal(1, 0.01)) + "\n"
        for _ in range(runs)
        for form, number in forms.items()
    )


@pytest.mark.parametrize(
    ("forms", "place", "column"),
    [
        (("\nreal\t0m{:.3f}s", "user\t0m{:.3f}s", "sys\t0m{:.3f}s"), 0, "real time"),
        (("real {:.2f}", "user {:.2f}", "sys {:.2f}"), 0, "real time"),
        ((" Planning Time: {:.3f} ms", " Execution Time: {:.3f} ms"), 1, "Execution Time"),
        (("setup time: {:.3f} ms", "mean latency: {:.3f} ms"), 1, "mean latency"),
        (("wal,{:.2f}", "elapsed,{:.2f}", "lag,{:.2f}"), 1, "elapsed"),
    ],
)
def test_quantities_in_turn_are_columns_and_that_which_was_measured_is_judged(
    forms: tuple[str, ...], place: int, column: str
) -> None:
    off = executions(dict.fromkeys(forms, 31.0) | {forms[place]: 50.0})
    on = executions(dict.fromkeys(forms, 31.0) | {forms[place]: 40.0})
    judgement = judged_text(off, on)
    assert judgement.reading.column == column
    assert percent(judgement) == pytest.approx(-20, abs=2)


@pytest.mark.parametrize("form", ["{} {:.3f} ms", "{}: {:.3f} ms", "{},{:.3f}", "{}\t{:.3f} s"])
def test_names_of_queries_are_cells_of_one_arm(form: str) -> None:
    def text(factor: float) -> str:
        return "".join(
            form.format(f"Q{query}", 10**query * factor * RNG.normal(1, 0.01)) + "\n"
            for _ in range(4)
            for query in range(1, 5)
        )

    judgement = judged_text(text(1), text(0.9), unit="ms" if form == "{},{:.3f}" else None)
    assert judgement.reading.paired
    assert percent(judgement) == pytest.approx(-10, abs=2)


def test_names_of_arms_stay_names_of_arms() -> None:
    assert arms_of(sheet_of("off 12 ms\non 13 ms\noff 14 ms\non 15 ms\n")) == {
        "off": [12, 14],
        "on": [13, 15],
    }
