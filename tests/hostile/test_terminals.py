"""Text of others reaches a terminal, and files that are read on one, without commands to it."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from markupsafe import Markup
from rich.live import Live
from rich.text import Text

from hostile.conftest import Call
from steelyard.cli.terminal import Output, console, own
from steelyard.model.files.printable import printable, printable_line
from steelyard.report.page import templates
from steelyard.workloads.capturing.writing import _description

HOSTILE = {
    "clipboard": ("vm\x1b]52;c;cm0gLXJm\x07", r"vm\x1b]52;c;cm0gLXJm\x07"),
    "colour": ("\x1b[31mred", r"\x1b[31mred"),
    "C1": ("a\x9b31mb", r"a\x9b31mb"),
    "carriage return": ("wrong\rright", r"wrong\x0dright"),
    "backspace": ("no\x08\x08ok", r"no\x08\x08ok"),
    "delete": ("a\x7f", r"a\x7f"),
    "nul": ("a\x00b", r"a\x00b"),
    "override": ("a\u202egpj.exe", "a\\u202egpj.exe"),
    "isolate": ("\u2066a\u2069", "\\u2066a\\u2069"),
    "surrogate": ("file\udcff", "file\\udcff"),
    "line separator": ("a\u2028b", "a\\u2028b"),
}
BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("case", HOSTILE)
def test_what_a_terminal_would_obey_is_shown_as_it_is_written(case: str) -> None:
    text, shown = HOSTILE[case]
    assert printable(text) == printable(printable(text)) == shown


def test_what_is_ordinary_stays_as_it_is() -> None:
    ordinary = "−4.1 % µs\n\tאבג ▕░▏ 日本 \N{NO-BREAK SPACE}é\\x1b"
    assert printable(ordinary) == ordinary
    assert printable_line("a\nb\tc") == r"a\x0ab\x09c"


@pytest.mark.parametrize("case", HOSTILE)
def test_the_printing_border_escapes_text_and_lets_our_own_moves_pass(case: str) -> None:
    raw = io.BytesIO()
    stream = Output(io.TextIOWrapper(raw, encoding="utf-8"))
    text, shown = HOSTILE[case]
    print(text, file=stream, flush=True)
    assert raw.getvalue().decode() == f"{shown}\n"
    own(stream).write("\r\x1b[K")
    own(stream).flush()
    assert raw.getvalue().endswith(b"\r\x1b[K")


@pytest.mark.parametrize("case", HOSTILE)
def test_a_live_picture_has_its_colours_and_no_commands_of_others(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    raw, (text, shown) = io.BytesIO(), HOSTILE[case]
    stream = Output(io.TextIOWrapper(raw, encoding="utf-8"))
    terminal = console(stream)
    with Live(console=terminal, auto_refresh=False) as live:
        live.console.print(Text(text, style="red"))
        live.update(Text(text), refresh=True)
    stream.own.flush()
    written = raw.getvalue().decode()
    assert "\x1b[31m" in written  # ours
    theirs = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", written)
    assert not BAD.search(theirs)
    for dropped in (r"\x07", r"\x08", r"\x0d"):  # by rich itself
        shown = shown.replace(dropped, "")
    assert shown in theirs


def test_an_error_that_quotes_a_server_is_escaped(steelyard: Call) -> None:
    called = steelyard("weigh", "\x1b]0;title\x07\u202e")
    assert called.status == 2
    assert not BAD.search(called.output)
    assert r"\x1b]0;title\x07\u202e" in called.output


def test_a_terminal_that_is_gone_ends_nothing_and_is_written_to_no_more() -> None:
    master, terminal = pty.openpty()
    stream = Output(io.TextIOWrapper(os.fdopen(terminal, "wb"), encoding="utf-8"))
    os.close(master)
    for _ in range(3):
        print("progress", file=stream, flush=True)
    stream.own.write("\x1b[K")
    stream.close()


PIPED = """
import sys
from steelyard.cli.terminal import take_over
take_over()
for stream in (sys.stdout, sys.stderr):
    try:
        print("first", file=stream, flush=True)
        sys.exit(1)
    except BrokenPipeError:
        print("and the cleanup speaks", file=stream, flush=True)
"""


def test_a_closed_pipe_is_an_error_once_and_lets_the_cleanup_speak(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [sys.executable, "-c", PIPED], stdout=writer, stderr=writer, check=False, cwd=tmp_path
    )
    os.close(writer)
    assert ended.returncode == 0


def test_a_capture_of_a_log_with_lines_in_its_name_writes_none_of_them(tmp_path: Path) -> None:
    named = "log\n[options.evil]\ndefault = true\n#\x1b[31m"
    described = _description(named, named, "extended", [])
    parsed = tomllib.loads(described)
    assert set(parsed["options"]) == {"think"}
    assert not BAD.search(described)


@pytest.mark.parametrize("case", HOSTILE)
def test_a_page_shows_what_hides_the_order_of_letters(case: str) -> None:
    text, shown = HOSTILE[case]
    page = (
        templates(Path())
        .from_string("{{ name }}|{{ safe }}")
        .render(name=f"<{text}>", safe=Markup("<b>a\u202eb</b>"))
    )
    assert page == f"&lt;{shown}&gt;|<b>a\\u202eb</b>"
