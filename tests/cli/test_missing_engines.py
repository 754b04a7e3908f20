"""What a repetition needs and this machine does not have is fetched before anything is weighed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from steelyard.cli.weighing import reproduce
from steelyard.cli.weighing import reproduce as module
from steelyard.cli.weighing.reproduce import (
    ReproduceRequest,
    begin_reproduction,
    fetch_engines,
    missing_engines,
)
from steelyard.engines.builds.same_builder import BuildRequest
from steelyard.model.errors import EngineError
from steelyard.reproductions.reproduction import names, read_reproduction


class Machine:
    """A machine with some engines; `offline`: no other can be fetched. Notes what was run."""

    def __init__(self, *found: str, offline: bool = False) -> None:
        self.found, self.offline = set(found), offline
        self.ran: list[Sequence[str]] = []

    def find_arms(
        self, wanted: Sequence[BuildRequest], account: str | None, *, contrib: bool
    ) -> list[str]:
        [one] = wanted
        if one.version not in self.found:
            raise EngineError(f'no "{one.version}" is found on this machine')
        return [one.version]

    def run(self, words: Sequence[str]) -> int:
        self.ran.append(words)
        return int(self.offline or words[0] == "weigh")


@pytest.fixture
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Machine:
    here = Machine("18", **getattr(request, "param", {}))
    monkeypatch.setattr(module, "adapter", lambda name: here)
    monkeypatch.setattr(module, "run", here.run)
    monkeypatch.setattr(reproduce, "run", here.run)
    return here


def every_weighing(name: str) -> list[tuple[str, ...]]:
    study = read_reproduction(name)
    return [study.words(step) for step in study.steps]


def request(folder: Path, name: str = "versions-reserva") -> ReproduceRequest:
    return ReproduceRequest(
        name=name, only="original", longer=False, full=False, changes=(), seed=17,
        record=folder, account="builder", as_json=False,
    )  # fmt: skip


def test_what_the_published_studies_need_is_named_as_engines_add_takes_it(machine: Machine) -> None:
    missing = {name: missing_engines(every_weighing(name), None) for name in names()}
    assert missing["versions-reserva"] == ["16.4", "17.0", "18.4"]
    assert missing["read-after-insert"] == ["17"]
    assert missing["page-verify"] == ["mysql-5.7"]
    assert missing["checksums"] == missing["tuning"] == []
    machine.found |= {"16.4", "npm-18.4"}
    assert missing_engines(every_weighing("versions-reserva"), None) == ["17.0"]


def test_every_value_of_a_sweep_is_looked_at(machine: Machine) -> None:
    words = ("versions", "--sweep", "control.version=15,16", "--set", "arm.version=18")
    assert missing_engines([words], None) == ["15", "16"]


def test_they_are_fetched_before_the_first_step_and_said_in_one_line(
    machine: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Exception, match='step "original" ended with status 1'):
        begin_reproduction(request(tmp_path / "repeated"))
    fetched = [["engines", "add", version, "--as", "builder"] for version in ("16.4", "17.0")]
    assert machine.ran[:2] == fetched
    assert machine.ran[2][0] == "weigh"
    first = capsys.readouterr().err.splitlines()[0]
    assert first == "missing here, so fetched first by `steelyard engines add`: 16.4, 17.0"


@pytest.mark.parametrize("machine", [{"offline": True}], indirect=True)
def test_offline_it_says_what_to_add_and_nothing_is_weighed(
    machine: Machine, tmp_path: Path
) -> None:
    with pytest.raises(EngineError) as refused:
        begin_reproduction(request(tmp_path / "repeated"))
    assert "nothing was weighed" in refused.value.primary
    assert refused.value.hint is not None
    assert "steelyard engines add 16.4; steelyard engines add 17.0" in refused.value.hint
    assert [words[0] for words in machine.ran] == ["engines"]
    assert list(tmp_path.iterdir()) == []


def test_where_nothing_is_missing_nothing_is_said(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_engines(missing_engines(every_weighing("checksums"), None), None)
    assert machine.ran == []
    assert capsys.readouterr().err == ""
