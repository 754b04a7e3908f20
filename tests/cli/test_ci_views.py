"""A build's summary says the verdict in Markdown; JUnit fails where a condition holds."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from record.made import line_of, verdict_of
from steelyard.cli.views.ci.junit import junit
from steelyard.cli.views.ci.markdown import escaped, markdown
from steelyard.evaluation.rule import FailCondition
from steelyard.record.verdict import Verdict

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
