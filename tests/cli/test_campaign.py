"""Campaigns begin in a folder of their own, are weighed on where they stopped, and say how."""

from __future__ import annotations

import json
import shlex
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Steelyard
from steelyard.cli.commands import calibrate
from steelyard.cli.weighing import bisect, sweep
from steelyard.cli.weighing import campaign as module
from steelyard.cli.weighing.bisect import BISECTION, BisectRequest
from steelyard.cli.weighing.campaign import Campaign, CampaignKind, OtherStudyError, show
from steelyard.cli.weighing.reproduce import REPETITION
from steelyard.cli.weighing.search import SEARCH
from steelyard.cli.weighing.sweep import SWEEP, SweepRequest
from steelyard.model.errors import RecordError, StudyError, UsageError
from steelyard.record.ledger import LEDGER
from steelyard.record.sweep import SweepPlan
from steelyard.record.verdict import Verdict
from steelyard.running.preparing.recording import Question
from steelyard.study.read import read_study, write_study
from steelyard.study.study import Study
from steelyard.tuning.search.trial import SearchPlan
from steelyard.workloads.reading.resolved import resolve_workload
from tuning.search.raced import BASIS, Balance

KINDS = (SWEEP, BISECTION, SEARCH, REPETITION)
STUDY = read_study("shared-buffers", [])
by_kind = pytest.mark.parametrize("kind", KINDS, ids=[kind.plan_file for kind in KINDS])


@by_kind
def test_a_plan_is_read_back_from_the_folder_it_was_begun_in(
    kind: CampaignKind, tmp_path: Path
) -> None:
    begun = kind.begin(tmp_path / "mine", "usual", {"seed": 4}, "postgres")
    assert kind.open(tmp_path / "mine", "postgres") == begun
    assert begun.plan() == {"seed": 4}


@by_kind
def test_none_begins_where_something_is(kind: CampaignKind, tmp_path: Path) -> None:
    for name, make in (("folder", Path.mkdir), ("file", Path.touch)):
        make(tmp_path / name)
        with pytest.raises(RecordError, match="it exists") as refused:
            kind.begin(tmp_path / name, "usual", {})
        assert refused.value.hint is None
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(RecordError, match="it exists"):
        kind.begin(tmp_path / "link", "usual", {})


@by_kind
def test_where_one_of_its_kind_is_the_refusal_says_how_it_goes_on(
    kind: CampaignKind, tmp_path: Path
) -> None:
    folder = tmp_path / "it's mine"
    kind.begin(folder, "usual", {})
    with pytest.raises(RecordError) as refused:
        kind.begin(folder, "usual", {})
    command = shlex.split(str(refused.value.hint).removeprefix("Go on with the one in it: "))
    assert command == ["steelyard", *kind.resumed_by, "--resume", str(folder)]


@by_kind
def test_a_folder_of_another_kind_is_refused(kind: CampaignKind, tmp_path: Path) -> None:
    for other in KINDS:
        if other.plan_file != kind.plan_file:
            folder = tmp_path / other.plan_file
            other.begin(folder, "usual", {})
            with pytest.raises(RecordError, match=f"has no {kind.plan_file}"):
                kind.open(folder)


def test_without_a_folder_it_is_kept_below_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    campaign = SWEEP.begin(None, "checksums-by-clients", {})
    assert campaign.folder.parent == Path("records/checksums-by-clients")
    assert campaign.plan_file.is_file()


def test_plans_of_sweeps_and_searches_come_back_whole(tmp_path: Path) -> None:
    swept = SweepPlan(key="workload.clients", values=("2", "4"), order=(1, 0), seed=7, study="aa")
    sought = SearchPlan(seed=4, trials=8, durability=(), basis=BASIS, first={"work_mem": "64MB"})
    for kind, plan in ((SWEEP, swept), (SEARCH, sought)):
        campaign = kind.begin(tmp_path / kind.plan_file, "usual", plan.to_json())
        assert type(plan).of_json(campaign.plan(), "plan") == plan


def test_secrets_are_left_out_of_what_is_kept(tmp_path: Path) -> None:
    campaign = SWEEP.begin(tmp_path / "mine", "usual", {"changes": ["x=host=h password=s3cret"]})
    campaign.keep("swept.json", {"why": "postgres://app:s3cret@h/shop refused"})
    assert all("s3cret" not in file.read_text() for file in campaign.folder.iterdir())


class Weighings:
    """Stands for real weighings; `outcome` of each: what it raises, or whether it ended."""

    def __init__(self, outcome: Exception | bool) -> None:
        self.outcome = outcome
        self.directories: list[Path] = []

    def __call__(self, study: Any, seed: int, directory: Path, account: str | None) -> Verdict:
        self.directories.append(directory)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        verdict = Balance().weigh(STUDY, seed, directory)
        return verdict.model_copy(update={"interrupted": not self.outcome})


def campaign_with(
    outcome: Exception | bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Campaign, Weighings]:
    weighings = Weighings(outcome)
    monkeypatch.setattr(module, "weigh_into", weighings)
    return SWEEP.begin(folder, "usual", {}), weighings


def test_each_weighing_has_a_record_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, weighings = campaign_with(True, tmp_path / "mine", monkeypatch)
    campaign.weigh(STUDY, 1, "points/2")
    campaign.try_to_weigh(lambda: STUDY, 2, "points/4")
    assert weighings.directories == [campaign.folder / "points/2", campaign.folder / "points/4"]


def test_what_cannot_be_weighed_gives_its_reason_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = StudyError('unknown setting "x"', detail="It has none.", hint="Name another.")
    campaign, _ = campaign_with(failure, tmp_path / "mine", monkeypatch)
    assert campaign.try_to_weigh(lambda: STUDY, 1, "points/2") == 'unknown setting "x"'
    with pytest.raises(StudyError):
        campaign.weigh(STUDY, 1, "points/2")


def test_a_weighing_that_was_interrupted_ends_the_campaign_which_says_what_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign, weighings = campaign_with(False, tmp_path / "mine", monkeypatch)

    def weigh_points() -> None:
        with campaign.resumable():
            for name in ("points/2", "points/4"):
                campaign.try_to_weigh(lambda: STUDY, 1, name)

    with pytest.raises(KeyboardInterrupt):
        weigh_points()
    assert len(weighings.directories) == 1
    assert f"go on: steelyard weigh --resume {campaign.folder}" in capsys.readouterr().err


def begun_point(folder: Path, *changes: str) -> Path:
    """A point of a campaign that was interrupted."""
    point = folder / "points" / "2"
    point.mkdir(parents=True)
    (point / "plan.json").write_text("{}")
    (point / "study.toml").write_text(write_study(read_study("aa", changes)))
    return point


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("workload.clients=3", "workload.clients was 3, is "),
        ("settings.jit=off", "settings.jit was off, is not set"),
        ("decision.margin=7%", "decision.margin was 0.07, is not set"),
    ],
)
def test_a_campaign_is_not_resumed_by_a_study_that_was_changed(
    tmp_path: Path, change: str, said: str
) -> None:
    campaign = SWEEP.begin(tmp_path / "mine", "usual", {})
    point = begun_point(campaign.folder, change)
    before = {file: file.read_bytes() for file in point.iterdir()}
    with pytest.raises(OtherStudyError, match="was weighed by another study") as refused:
        campaign.weigh(read_study("aa"), 1, "points/2")
    assert said in refused.value.primary
    with pytest.raises(OtherStudyError):
        campaign.try_to_weigh(lambda: read_study("aa"), 1, "points/2")
    assert {file: file.read_bytes() for file in point.iterdir()} == before


def test_a_campaign_goes_on_by_a_study_whose_words_alone_were_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = SWEEP.begin(tmp_path / "mine", "usual", {})
    point = begun_point(campaign.folder, "title=of earlier")
    verdict = Balance().weigh(STUDY, 1, point)
    resumed: list[Path | None] = []

    def weigh(question: Question, *_: object) -> Verdict:
        resumed.append(question.resume)
        return verdict

    monkeypatch.setattr(module, "weigh", weigh)
    assert campaign.weigh(read_study("aa"), 1, "points/2") == verdict
    assert resumed == [point]


@by_kind
def test_one_process_weighs_into_a_campaign(kind: CampaignKind, tmp_path: Path) -> None:
    campaign = kind.begin(tmp_path / "mine", "usual", {})
    noun = kind.noun.partition(" ")[2]
    refusal = pytest.raises(RecordError, match=f"{noun} is in use")
    with campaign.resumable(), refusal, campaign.resumable():
        pass
    with campaign.resumable():
        assert [file.name for file in campaign.folder.iterdir()] == [kind.plan_file]


@pytest.mark.parametrize("as_json", [False, True])
def test_it_is_shown_as_lines_or_as_one_object(
    capsys: pytest.CaptureFixture[str], as_json: bool
) -> None:
    show({"sweep": 1}, iter(["one", "two"]), as_json=as_json)
    printed = capsys.readouterr().out
    assert printed == (json.dumps({"sweep": 1}) if as_json else "one\ntwo") + "\n"


@pytest.fixture
def at_address(tmp_path: Path) -> dict[str, list[str]]:
    """Changes of study sessions: scripts that read, that write, and captured ones that read."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "call.sql").write_text("SELECT place_order();\n")
    described = 'name = "ours"\ntitle = "captured"\nloaded = false\ntried_first = true\n'
    (tmp_path / "workload.toml").write_text(f"{described}[scripts.call]\nwrites = false\n")
    for name, text in (("r", "SELECT 1;\n"), ("w", "UPDATE t SET a = 1;\n")):
        (tmp_path / f"{name}.sql").write_text(text)
    script = "workload.scripts={{ '{}/{}.sql' = 1 }}"
    own = {name: ["workload=own", script.format(tmp_path, name)] for name in ("r", "w")}
    changes = {"reads": own["r"], "writes": own["w"], "captured": [f"workload={tmp_path}"]}
    return {name: [*each, "address=host=db1 dbname=shop"] for name, each in changes.items()}


SWEPT = "arm.settings.work_mem=1MB,2MB"


def _sweep_request(changes: list[str], folder: Path, *, agreed: bool) -> SweepRequest:
    command = ("steelyard", "weigh")
    return SweepRequest("sessions", SWEPT, changes, False, 7, folder, None, command, False, agreed)


def test_a_sweep_that_writes_at_an_address_needs_a_yes_again_when_it_is_resumed(
    at_address: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaigns: list[Campaign] = []
    monkeypatch.setattr(sweep, "_go_on", lambda plan, campaign, **_: campaigns.append(campaign))
    folder = tmp_path / "sweep"
    for name in ("reads", "captured"):
        sweep.begin_sweep(_sweep_request(at_address[name], tmp_path / name, agreed=False))
    with pytest.raises(UsageError, match="writes into the database") as refused:
        sweep.begin_sweep(_sweep_request(at_address["writes"], folder, agreed=False))
    assert "--yes" in str(refused.value.hint)
    assert not folder.exists()
    sweep.begin_sweep(_sweep_request(at_address["writes"], folder, agreed=True))
    with pytest.raises(UsageError, match="writes into the database"):
        sweep.resume_sweep(folder, None, as_json=False)
    sweep.resume_sweep(folder, None, as_json=False, agreed=True)
    assert [campaign.agreed for campaign in campaigns] == [False, False, True, True]


def _bisect_request(changes: list[str], folder: Path, *, agreed: bool) -> BisectRequest:
    along, command = "settings.work_mem=1MB,2MB,4MB", ("steelyard", "history", "bisect")
    return BisectRequest(
        "sessions", along, None, None, changes, 7, folder, None, command, False, agreed
    )


def test_a_search_of_a_row_that_writes_at_an_address_needs_a_yes_again_when_it_is_resumed(
    at_address: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaigns: list[Campaign] = []
    monkeypatch.setattr(bisect, "_search", lambda plan, campaign, **_: campaigns.append(campaign))
    folder = tmp_path / "search"
    for name in ("reads", "captured"):
        bisect.begin_bisect(_bisect_request(at_address[name], tmp_path / name, agreed=False))
    with pytest.raises(UsageError, match="writes into the database") as refused:
        bisect.begin_bisect(_bisect_request(at_address["writes"], folder, agreed=False))
    assert "--yes" in str(refused.value.hint)
    assert not folder.exists()
    bisect.begin_bisect(_bisect_request(at_address["writes"], folder, agreed=True))
    for agreed in (False, True):  # what it weighs then asks for it, as everything in a campaign
        bisect.resume_bisect(folder, None, as_json=False, agreed=agreed)
    assert [campaign.agreed for campaign in campaigns] == [False, False, True, False, True]


@pytest.mark.parametrize(
    "command",
    [
        ("weigh", "sessions", "--set", "arm.settings.jit=off"),
        ("calibrate", "--set", "settings={}"),
        ("history", "bisect", "sessions", "--along", "settings.work_mem=1MB,2MB,4MB"),
    ],
    ids=lambda command: command[0],
)
def test_what_asks_for_a_yes_takes_one_and_waits_for_no_answer(
    at_address: dict[str, list[str]], forked: Steelyard, command: tuple[str, ...]
) -> None:
    places = ["address=host=127.0.0.1 port=1 dbname=shop", *at_address["writes"][:-1]]
    changes = [word for change in places for word in ("--set", change)]
    refused = forked(*command, *changes)
    assert refused.returncode == 2
    assert "writes into the database" in refused.stderr
    assert "--yes" in refused.stderr
    agreed = forked(*command, *changes, "--yes")
    assert agreed.returncode == 3, "there is no such server"
    assert "writes into the database" not in agreed.stderr


@pytest.mark.parametrize("agreed", [False, True])
def test_what_a_campaign_weighs_at_an_address_does_not_write_without_a_yes(
    at_address: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agreed: bool
) -> None:
    weighed: list[Study] = []

    def weigh(study: Study, seed: int, directory: Path, account: str | None) -> Verdict:
        weighed.append(study)
        return Balance().weigh(STUDY, seed, directory)

    monkeypatch.setattr(module, "weigh_into", weigh)
    campaign = replace(SWEEP.begin(tmp_path / "mine", "usual", {}), agreed=agreed)
    studies = {
        name: resolve_workload(read_study("sessions", [*changes, "arm.settings.jit=off"]))
        for name, changes in at_address.items()
    }
    campaign.weigh(studies["reads"], 1, "points/1")
    campaign.weigh(studies["captured"], 1, "points/2")
    settings = [study.settings for study in weighed]
    assert settings == 2 * [{} if agreed else {"default_transaction_read_only": "on"}]
    if agreed:
        campaign.weigh(studies["writes"], 1, "points/3")
        return
    with pytest.raises(UsageError, match="writes into the database"):
        campaign.weigh(studies["writes"], 1, "points/3")


def test_a_calibration_does_not_write_at_an_address(at_address: dict[str, list[str]]) -> None:
    with pytest.raises(UsageError, match="writes into the database"):
        calibrate._study(at_address["writes"], None)


@by_kind
def test_a_place_that_cannot_be_made_is_refused_with_what_to_type(kind: CampaignKind) -> None:
    with pytest.raises(RecordError, match=f"cannot keep {kind.noun} in") as refused:
        kind.begin(Path("/proc/nowhere/mine"), "usual", {})
    assert "--record DIR" in (refused.value.hint or "")


def test_each_weighing_of_a_campaign_says_which_files_a_studys_own_data_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without their digest a copy of what stood there before would be taken for them."""
    asked: list[Question] = []
    monkeypatch.setattr(module, "weigh", lambda question, *_: asked.append(question))
    dump = tmp_path / "shop.sql"
    for name, text in (("monday", "SELECT 1;\n"), ("tuesday", "SELECT 10;\n")):
        dump.write_text(text)
        study = read_study("aa", [f"source.place={dump}"])
        module.weigh_into(study, 1, tmp_path / name, None)
    first, second = (question.study.source for question in asked)
    assert first is not None
    assert second is not None
    assert (first.kind, second.kind) == ("dump", "dump")
    assert None not in (first.digest, second.digest, first.settings_digest)
    assert first.digest != second.digest
    assert {question.study.control.version for question in asked} == {study.control.version}


def test_what_a_campaign_weighs_is_judged_by_the_ledger_of_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions: list[Question] = []

    def weigh(question: Question, laboratory: object, view: object) -> Verdict:
        questions.append(question)
        return Balance().weigh(STUDY, 1, tmp_path)

    monkeypatch.setattr(module, "weigh", weigh)
    monkeypatch.setattr(module, "LocalLaboratory", lambda account: nullcontext())
    module.weigh_into(STUDY, 1, tmp_path / "points" / "1", None)
    assert [question.ledger for question in questions] == [LEDGER]
