"""A weighing is shown while it runs: as a chart on a terminal, as lines everywhere else."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from record.made import line_of, plan_of, verdict_of
from steelyard.cli.views.live_view import LiveView, PlainView, open_view, stage_bar
from steelyard.model.threat import Threat
from steelyard.record.contrast import ContrastLine
from steelyard.record.verdict import TimePart, TimeParts
from steelyard.running.stopwatch import Progress
from story.asked import Silent

NS = 1_000_000_000
PLAN = plan_of(look=8)
TURNS = plan_of(
    layout="turns",
    epochs=10,
    placement="free",
    turns={
        "time_scale": 4.0,
        "time_scale_why": "the smallest with which the budget holds enough epochs",
        "cycles": 2,
        "warmup_cap_ns": 60 * NS,
        "wait_ns": 90 * NS,
        "longest_ns": 90 * NS,
        "turn_ns": 122_984_490_318,
    },
)
THREAT = Threat("steal or throttling", "2.3 % in epoch 1", "", "", False)
VERDICT = verdict_of(line_of(), sentence="off is faster than on by 3.1 % [2.6, 3.5] of throughput")


def contrast(low: float | None, high: float | None, *d: float | None) -> ContrastLine:
    return line_of(estimate_percent=3.06, low_percent=low, high_percent=high, details={"d": d})


def play_slices(view: Progress) -> None:
    view.stage("load pgbench at scale 50")
    view.plan(PLAN)
    view.stage("epoch 1")
    view.epoch(1, 12, [contrast(None, None, 0.0301)], 102.3)
    view.threat(THREAT)
    view.epoch(2, 12, [contrast(None, None, None)], 93.0)
    view.note("the server of arm off was restarted")
    view.epoch(8, 12, [contrast(2.6, 3.51, 0.0282)], 37.2)
    view.verdict(VERDICT)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def drawn(width: int = 80, height: int = 30, **environment: str) -> str:
    stream = Terminal()
    console = Console(
        file=stream, width=width, height=height, force_terminal=True, _environ=environment
    )
    with LiveView(console) as view:
        play_slices(view)
    return stream.getvalue()


def test_without_a_terminal_every_epoch_is_one_plain_line() -> None:
    stream = io.StringIO()
    play_slices(PlainView(stream))
    assert stream.getvalue().splitlines() == [
        "load pgbench at scale 50",
        "plan: 12 epochs of 6.5 s, slices of 50 ms, placement symmetric, "
        "looks after epoch 8 and 12, seed 7",
        "epoch  1/12  off against on +3.06 %, so far +3.06 % no interval, 1 min 42 s left",
        "doubt: steal or throttling: 2.3 % in epoch 1",
        "epoch  2/12  off against on lost, so far +3.06 % no interval, 1 min 33 s left",
        "note: the server of arm off was restarted",
        "epoch  8/12  off against on +2.86 %, so far +3.06 % [+2.60, +3.51], 37 s left",
        "verdict: off is faster than on by 3.1 % [2.6, 3.5] of throughput.",
    ]


def test_what_the_record_held_already_is_said_when_a_weighing_is_gone_on_with() -> None:
    stream = io.StringIO()
    PlainView(stream).recalled(12, [contrast(2.6, 3.51, 0.03, None, 0.02)])
    said = "record: 3 of 12 epochs; off against on, so far +3.06 % [+2.60, +3.51]\n"
    assert stream.getvalue() == said


def test_the_dots_of_the_record_are_drawn_when_a_weighing_is_gone_on_with() -> None:
    stream = Terminal()
    with LiveView(Console(file=stream, width=80, height=30, force_terminal=True)) as view:
        view.plan(PLAN)
        view.recalled(12, [contrast(2.6, 3.51, 0.03, None, 0.02)])
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "epoch 3 of 12 · no verdict before epoch 8" in shown
    picture = shown.split("epoch 3 of 12")[-2]  # it is drawn once more at the end
    assert picture.count("•") == 2
    assert "+3.05 %" in picture
    assert "lost" in picture


def test_on_a_terminal_the_leading_cause_stands_under_the_chart_of_its_arm() -> None:
    stream = Terminal()
    cause = TimePart(
        part="wal", control_us=9.0, arm_us=3.0, difference_us=-6.0, low_us=-7.0, high_us=-5.0
    )
    told = TimeParts(
        control="on", arm="off", epochs=8, control_us=20, arm_us=13, parts=(cause,), cause=cause
    )
    with LiveView(Console(file=stream, width=100, height=30, force_terminal=True)) as view:
        view.plan(PLAN)
        view.epoch(8, 12, [contrast(2.6, 3.51, 0.03)], 37.2)
        view.why([told])
    said = "why, so far: writing and syncing WAL: −6 µs [−7, −5] of −7 µs a transaction"
    assert any(said in line for line in screen_of(stream.getvalue()))


def screen_of(written: str) -> list[str]:
    """The lines of a terminal that was given this: texts, new lines, lines up, lines erased."""
    lines, row, at = [""], 0, 0
    for text, number, code in re.findall(r"([^\x1b]+)|\x1b\[\??([\d;]*)([A-Za-z])", written):
        if code == "A":
            row -= int(number or 1)
        elif code == "K":
            lines[row] = ""
        for character in text:
            if character == "\n":
                row, at = row + 1, 0
                lines += [""] * (row + 1 - len(lines))
            elif character == "\r":
                at = 0
            else:
                lines[row] = f"{lines[row][:at]:<{at}}{character}{lines[row][at + 1 :]}"
                at += 1
    return lines


def test_on_a_terminal_loading_and_pilot_are_one_bar_that_moves() -> None:
    stream = Terminal()
    console = Console(file=stream, width=100, height=30, force_terminal=True)
    with LiveView(console) as view:
        for done in (1, 2, 3, 4):
            view.stage(f"load: {done:,}00,000 of 400,000 rows, 100 rows/s, 1 s left")
        view.stage("pilot: watch the load settle")
        view.plan(PLAN)
    lines = [line.rstrip() for line in screen_of(stream.getvalue()) if line.strip()]
    assert lines[0].startswith("plan: 12 epochs")
    assert not any("load" in line or "pilot" in line for line in lines), lines


def test_the_bar_is_as_full_as_the_stage_says_and_else_moves() -> None:
    assert stage_bar("load: 1,000 of 4,000 rows", 1) == f"▕{'█' * 6}{'░' * 18}▏"
    assert stage_bar("load: 4,000 of 4,000 rows", 1) == f"▕{'█' * 24}▏"
    moving = [stage_bar("pilot: every arm alone", n) for n in range(30)]
    assert all(len(one) == 26 and one.count("█") == 4 for one in moving)
    assert len(set(moving)) == 21
    assert stage_bar("", 3) == ""


def test_on_a_terminal_the_chart_the_dots_and_the_time_left_are_drawn() -> None:
    shown = drawn()
    for part in ("○", "├", "●", "•", "margin ±1 %", "37 s left", "lost", "faster ▸"):
        assert part in shown
    assert "no verdict before epoch 8" in shown
    assert "doubt: steal or throttling" in shown


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_drawn_line_is_wider_than_the_terminal(width: int) -> None:
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", drawn(width))
    assert max(map(len, re.split(r"[\r\n]", plain))) <= width


def test_no_color_is_honoured() -> None:
    colours = re.compile(r"\x1b\[[0-9;]*3[0-7]m")
    assert colours.search(drawn(TERM="xterm-256color"))
    assert not colours.search(drawn(TERM="xterm-256color", NO_COLOR="1"))


def test_the_view_fits_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    with open_view(io.StringIO()) as view:
        assert isinstance(view, PlainView)
    with open_view(Terminal()) as view:
        assert isinstance(view, LiveView)
    monkeypatch.setenv("TERM", "dumb")
    with open_view(Terminal()) as view:
        assert isinstance(view, PlainView)


@pytest.mark.parametrize(
    ("epochs", "words"),
    [
        (4, "no verdict: it needs 8 epochs (--set budget.epochs=8)"),
        (7, "no verdict: it needs 8 epochs (--set budget.epochs=8)"),
        (8, "one look after epoch 8"),
    ],
)
def test_epochs_that_are_too_few_for_a_verdict_are_said_before_they_are_measured(
    epochs: int, words: str
) -> None:
    stream = io.StringIO()
    PlainView(stream).plan(PLAN.model_copy(update={"epochs": epochs, "look": None}))
    assert words in stream.getvalue()


def play_turns(view: Progress) -> None:
    view.plan(TURNS)
    for arm, left in (("off", 1286.4), ("on", 1161.0)):
        for phase in ("evict", "warm up", "measure"):
            view.turn(3, arm, phase, left)
    view.epoch(3, 10, [contrast(None, None, 0.0301)], 1102.3)
    view.turn(11, "off", "evict", None)


def test_a_weighing_in_turns_writes_its_plan_and_a_line_a_turn() -> None:
    stream = io.StringIO()
    play_turns(PlainView(stream))
    assert stream.getvalue().splitlines() == [
        "plan: 10 epochs of 2 turns of about 2 min, 41 min in all, checkpoints 4 times as near, "
        "placement free, one look after epoch 10, seed 7",
        "epoch 3 of 10: turn of off, 21 min left",
        "epoch 3 of 10: turn of on, 19 min left",
        "epoch  3/10  off against on +3.06 %, so far +3.06 % no interval, 18 min 22 s left",
        "epoch 11: turn of off",
    ]


def test_a_turn_on_a_terminal_shows_epoch_time_left_arm_and_phase() -> None:
    stream = Terminal()
    with LiveView(Console(file=stream, width=100, height=30, force_terminal=True)) as view:
        play_turns(view)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    for arm, left in (("off", 21), ("on", 19)):
        for phase in ("evict", "warm up", "measure"):
            status = f"epoch 3 of 10 · {left} min left · no verdict before epoch 10"
            assert f"{status} · turn of {arm}: {phase}" in shown


def test_nobody_watching_is_fine() -> None:
    play_slices(Silent())
    play_turns(Silent())
