"""Whatever can be seen has its words, each kind of threat its cause and advice."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.cli.commands import COMMANDS
from steelyard.evaluation.threats.epochs import WeighedBefore
from steelyard.evaluation.threats.numbers import ClosedLoopBroken
from steelyard.evaluation.threats.pool_warmth import PoolNotWarm, ReadsFell
from steelyard.model.threat import Observation, Quoted, Threat, ThreatKind
from steelyard.wording.threats.threat import TEXTS, threat_of
from wording.threats.samples import SAMPLES

GOLDEN = Path(__file__).parents[2] / "golden" / "threats.txt"
PAGE = Path(__file__).parents[3] / "docs" / "method" / "causes.md"
INVALIDATING = {
    "unequal drops",
    "balance's ledger",
    "debug build of the driver",
    "wrong answer from the workload",
    "drift looks like an arm",
    "not held still",
}


def every_subclass(base: type[Observation]) -> Iterator[type[Observation]]:
    """Those that have a name in their module: a dataclass with slots is a class made anew, and the
    one that was written stays among the subclasses."""
    for subclass in base.__subclasses__():
        if getattr(sys.modules[subclass.__module__], subclass.__name__, None) is subclass:
            yield subclass
        yield from every_subclass(subclass)


@pytest.mark.parametrize("kind", ThreatKind)
def test_the_page_of_doubts_names_each_and_how_it_weighs(kind: ThreatKind) -> None:
    _, _, section = PAGE.read_text(encoding="utf-8").partition("## 8. Doubts")
    names = [name for row in re.findall(r"^\|.*\|$", section, re.M) for name in row.split(" · ")]
    cells = {name.strip("| ") for row in names for name in row.split(" | ")}
    sometimes = {
        of.kind
        for of in every_subclass(Observation)
        if of.invalidates is not Observation.invalidates and hasattr(of, "kind")
    }
    mark, dagger = "**" if kind.value in INVALIDATING else "*", " †" if kind in sometimes else ""
    assert f"{mark}{kind.value}{mark}{dagger}" in cells


@pytest.mark.parametrize("kind", ThreatKind)
def test_every_threat_says_what_was_seen_the_likely_cause_and_what_to_do(kind: ThreatKind) -> None:
    threat = threat_of(Quoted(kind, "seen"))
    assert threat.to_json().keys() == {"name", "seen", "cause", "advice", "invalidates"}
    assert threat.name == kind.value
    assert threat.seen == "seen"
    assert min(len(threat.cause), len(threat.advice)) > 20
    assert not threat.cause.endswith(".")
    assert not threat.advice.endswith(".")
    assert threat.invalidates is (kind.value in INVALIDATING)


def test_every_thing_that_can_be_seen_has_its_sentence_and_a_sample() -> None:
    classes = every_subclass(Observation)
    named = {of for of in classes if hasattr(of, "kind") or of.raises is not Observation.raises}
    assert set(TEXTS) == named
    assert {type(sample) for sample in SAMPLES} == named


def test_the_sentences_are_those_that_were_read_and_found_good() -> None:
    """One golden file for all of them: what a change of words changes is seen there at once."""
    lines = [
        f"{type(sample).__name__}: {threat.name}: {threat.seen}"
        for sample in SAMPLES
        for threat in (threat_of(sample),)
    ]
    assert "\n".join(lines) + "\n" == GOLDEN.read_text(encoding="utf-8")


@given(st.floats(1e-7, 1e9), st.floats(1.05, 100.0))
def test_no_figure_has_an_exponent(figure: float, times: float) -> None:
    fell = ReadsFell("on", figure * times, figure, figure / times)
    broken = ClosedLoopBroken("on", 8, figure, figure * times, figure / times, figure)
    for observation in (PoolNotWarm((fell,), None), broken):
        assert not re.search(r"\de[+-]?\d", threat_of(observation).seen)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: type(sample).__name__)
def test_a_sentence_has_no_full_stop_and_one_line(sample: Observation) -> None:
    threat = threat_of(sample)
    assert threat.seen
    assert "\n" not in threat.seen
    assert not threat.seen.endswith(".")
    assert threat.name == sample.name
    assert threat.invalidates is sample.invalidates


def test_advice_names_only_commands_that_there_are() -> None:
    every = [threat_of(Quoted(kind, "seen")) for kind in ThreatKind]
    every += [threat_of(sample) for sample in SAMPLES]
    named = {
        command
        for threat in every
        for command in re.findall(r"`steelyard ([a-z]+)", f"{threat.cause} {threat.advice}")
    }
    assert "calibrate" in named
    assert named <= set(COMMANDS)


@pytest.mark.long
def test_a_threat_of_an_older_record_has_the_name_that_it_has_now() -> None:
    now = threat_of(WeighedBefore(2))
    older = Threat(**{**now.to_json(), "name": "attempt k"})  # type: ignore[arg-type]
    assert older == now
    assert older.name == "weighed before"
