"""A build's summary says the verdict in Markdown; JUnit fails where a condition holds."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from types import SimpleNamespace
from typing import Any, cast

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from record.made import line_of, plan_of, verdict_of
from steelyard.cli.commands.weigh import FAILED, _end
from steelyard.cli.views.ci import escaped, junit, markdown
from steelyard.cli.views.history.list_view import reading_words
from steelyard.evaluation.rule import FailCondition
from steelyard.history.entry import KnownReading
from steelyard.record.verdict import Verdict
from steelyard.report.plan import plan_rows

THREAT = {
    "name": "steal or throttling",
    "seen": "the hypervisor took 2.3 % | of <processor> time",
    "cause": "others",
    "advice": "wait",
    "invalidates": False,
}
SLOWER = {
    "verdict": "slower",
    "estimate_percent": -4.0,
    "low_percent": -5.0,
    "high_percent": -3.0,
    "sentence": "patched is slower",
}
CONDITIONS = [FailCondition.parse("slower:2%")]


def told(*lines: dict[str, Any]) -> Verdict:
    contrasts = tuple(line_of(**{"arm": f"arm{n}", **line}) for n, line in enumerate(lines))
    return verdict_of(contrasts=contrasts, sentence="arm0 is *slower*", command="steelyard weigh x")


def test_a_condition_that_holds_is_a_failure_and_what_is_invalid_is_skipped() -> None:
    verdict = told(SLOWER, {"verdict": "inconclusive"}, {"verdict": "invalid"})
    suite = ET.fromstring(junit(verdict, CONDITIONS))
    assert suite.attrib["tests"] == "3"
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("1", "1")
    first, second, third = suite
    failure = first.find("failure")
    assert failure is not None
    assert "−4.00 % [−5.00, −3.00], beyond 2 %" in failure.attrib["message"]
    assert second.find("failure") is None
    assert second.find("skipped") is None
    assert third.find("skipped") is not None
    assert first.attrib["name"] == "arm0 against on: throughput"


def test_without_conditions_nothing_fails() -> None:
    assert ET.fromstring(junit(told(SLOWER), [])).attrib["failures"] == "0"


@given(st.text())
def test_any_name_gives_xml_and_a_table_of_five_columns(name: str) -> None:
    verdict = told({**SLOWER, "arm": name or "x", "threats": ({**THREAT, "seen": name},)})
    assert ET.fromstring(junit(verdict, CONDITIONS)) is not None
    [row] = [line for line in markdown(verdict).splitlines() if line.startswith("| ")][1:]
    assert row.replace("\\\\", "").replace("\\|", "").count("|") == 6


def test_the_summary_has_sentence_table_doubts_and_command() -> None:
    text = markdown(told({**SLOWER, "threats": (THREAT,)}))
    assert text.startswith("### ▼ checksums: slower\n")
    assert "arm0 is \\*slower\\*" in text
    assert "| arm0 against on | throughput | −4.00 % | \\[−5.00, −3.00\\] % | ▼ slower |" in text
    assert (
        "- **steal or throttling**: the hypervisor took 2.3 % \\| of \\<processor\\> time" in text
    )
    assert text.endswith("```\nsteelyard weigh x\n```\n")
    assert "none of the known threats" in markdown(told(SLOWER))


@pytest.mark.parametrize("letter", "\\`*_{}[]<>#|~")
def test_markup_is_escaped(letter: str) -> None:
    assert escaped(f"a{letter}b") == f"a\\{letter}b"


@pytest.mark.parametrize(
    ("verdicts", "heading"),
    [
        (["slower"], "### ▼ checksums: slower"),
        (["slower", "slower"], "### ▼ checksums: slower"),
        (["faster", "slower"], "### checksums: ▼ 1 slower, ▲ 1 faster"),
        (["faster", "invalid", "faster"], "### checksums: ▲ 2 faster, ✕ 1 invalid"),
    ],
)
def test_the_heading_is_true_of_every_arm(verdicts: list[str], heading: str) -> None:
    text = markdown(told(*({**SLOWER, "verdict": word} for word in verdicts)))
    assert text.splitlines()[0] == heading


def test_a_weighing_that_was_stopped_says_so() -> None:
    stopped = told(SLOWER).model_copy(update={"interrupted": True})
    assert "stopped before its planned end" in markdown(stopped)
    assert "stopped" not in markdown(told(SLOWER))
    [case] = ET.fromstring(junit(stopped, []))
    assert "stopped before its planned end" in (case.findtext("system-out") or "")


def test_a_pair_of_arms_beside_the_control_has_its_row_and_its_doubts() -> None:
    pair = line_of(**SLOWER, arm="b", control="a", threats=(THREAT,))
    text = markdown(told(SLOWER).model_copy(update={"pairs": (pair,)}))
    assert "| b against a | throughput | −4.00 % |" in text
    assert "steal or throttling" in text


@pytest.mark.parametrize("slower", ["control", "pair", "none"])
def test_a_condition_looks_at_a_pair_of_arms_too(slower: str) -> None:
    equal = {"verdict": "equivalent", "estimate_percent": 0.0}
    pair = line_of(**(SLOWER if slower == "pair" else equal), arm="b", control="a")
    verdict = told(SLOWER if slower == "control" else equal).model_copy(update={"pairs": (pair,)})
    suite = ET.fromstring(junit(verdict, CONDITIONS))
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("2", str(int(slower != "none")))
    names = [case.attrib["name"] for case in suite if case.find("failure") is not None]
    expected = {"control": ["arm0 against on"], "pair": ["b against a"], "none": []}[slower]
    assert names == [f"{name}: throughput" for name in expected]
    gate = next(line for line in markdown(verdict, CONDITIONS).splitlines() if "gate:" in line)
    assert ("closed" in gate) == (slower != "none")
    assert all(name in gate for name in expected or ("arm0 against on", "b against a"))
    if slower == "none":
        _end(verdict, CONDITIONS)
        return
    with pytest.raises(typer.Exit) as ended:
        _end(verdict, CONDITIONS)
    assert ended.value.exit_code == FAILED


RENDERED = MarkdownIt("gfm-like", {"linkify": False})


def shown_text(text: str) -> str:
    """What a reader sees of Markdown: its words, without what is markup."""
    tokens = RENDERED.parse(text)
    return "".join(
        child.content for token in tokens for child in token.children or () if child.content
    )


@given(st.text(st.sampled_from("ab1 -+.)=#>&;|`*_~<!$[](){}\\\n\tlt"), max_size=30))
def test_a_reader_sees_the_letters_of_any_text_and_no_markup(text: str) -> None:
    tokens = RENDERED.parse(escaped(text))
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    assert shown_text(escaped(text)) == " ".join(text.split())
    table = f"| head |\n|---|\n| {escaped(text)} |"
    assert shown_text(table) == f"head{' '.join(text.split())}"


@given(st.text(st.sampled_from("a`\n '"), max_size=20))
def test_no_command_ends_its_block(command: str) -> None:
    verdict = told(SLOWER).model_copy(update={"command": f"steelyard weigh {command}"})
    *_, last = RENDERED.parse(markdown(verdict))
    assert last.type == "fence"
    assert last.content == f"steelyard weigh {command}\n"


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("throughput", "throughput"),
        ("latency_mean", "mean latency"),
        ("geometric_mean", "geometric mean time"),
    ],
)
def test_a_metric_is_called_alike_in_the_summary_the_history_and_the_plan(
    metric: str, words: str
) -> None:
    assert f"against on | {words} |" in markdown(told({**SLOWER, "metric": metric}))
    percents = {"low_percent": -5.0, "estimate_percent": -4.0, "high_percent": -3.0}
    reading = cast(KnownReading, SimpleNamespace(metric=metric, **percents))
    assert reading_words(reading) == f"−4.00 % [−5.00, −3.00] of {words}"
    assert ("metric that decides", words) in plan_rows(plan_of(metric=metric))
