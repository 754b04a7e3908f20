"""Formats the result of a search for settings: its attempts, the winner, the fresh weighing."""

from __future__ import annotations

from steelyard.cli.views.text_layout import wrapped
from steelyard.cli.views.verdict_view import render_verdict
from steelyard.model.units import format_percent, percent_of_log
from steelyard.report.contrast_text import ends_of, reading_text
from steelyard.tuning.search.trial import Found, Trial


def search_lines(found: Found, width: int) -> list[str]:
    """Attempts are counted; only the confirmation has an interval."""
    lines = [f"{len(found.trials)} candidates in {found.weighings} weighings", ""]
    lines += [_row(one) for one in found.trials]
    lines.append("")
    if found.winner is None or found.confirmed is None:
        failed = all(one.failed for one in found.trials)
        why = "every candidate failed" if failed else "no candidate was better than the control"
        lines += wrapped(f"{why} in the search: nothing to confirm", width, "")
        return [*lines, "", f"record  {found.record}"]
    lines += [*render_verdict(found.confirmed, width).splitlines(), ""]
    lines += wrapped(_shrinkage(found.winner, found), width, "")
    lines += [f"{name} = {value}" for name, value in found.winner.settings.items()]
    return [*lines, "", f"search  {found.record}"]


def _row(one: Trial) -> str:
    ratio = one.log_ratio
    shown = "-" if ratio is None else format_percent(percent_of_log(ratio), 1)
    return f"{one.name:<10}{shown:>10}  {len(one.log_ratios)} epochs  {one.outcome}"


def _shrinkage(winner: Trial, found: Found) -> str:
    assert found.confirmed is not None
    [line] = [one for one in found.confirmed.contrasts if one.arm == winner.name]
    confirmed = "nothing" if line.estimate_percent is None else reading_text(line)
    sought = format_percent(percent_of_log(winner.log_ratio or 0.0), 1)
    low, high = ends_of(line)
    gained = (low or 0) > 0 if line.higher_is_better else (high or 0) < 0
    unproved = "" if gained else "It does not show a gain. "
    return (
        f"{winner.name} read {sought} in the search, the best of {len(found.trials)}: luck "
        f"flatters such a figure. The fresh weighing read {confirmed}; that one counts. "
        f"{unproved}Its settings:"
    )
