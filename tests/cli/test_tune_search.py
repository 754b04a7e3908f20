"""`steelyard tune --search` races, confirms, is resumed, and says what failed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import Steelyard
from steelyard.cli.weighing import search as searching
from steelyard.model.errors import DriverError, StudyError, WeighingError
from steelyard.model.identity import Identity
from steelyard.record.verdict import Verdict
from steelyard.study.read import read_study
from steelyard.study.study import Study
from steelyard.tuning.profile.proposing import Accepting
from tuning.profile.accepting import ALLOWED
from tuning.search.raced import Balance, work_mem_helps

pytest.importorskip("optuna")
SEARCH = ("tune", "--search", "--study", "shared-buffers", "--seed", "3", "--record", "found")
SMALL = ("--trials", "6", "--memory", "8GB", "--set", "workload.clients=4")
Weigh = Callable[[Study, int, Path, str | None], Verdict]


@pytest.fixture
def weighed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Weigh], None]:
    """Puts a scripted weighing in place of real ones, and what a server accepts without one."""
    build = Identity("postgres", "18.4", 180004, "", "", "", "bundle", "/nowhere", False)
    accepting = Accepting(build, ALLOWED)
    monkeypatch.setattr(searching, "_allowed_settings", lambda study, account: accepting)

    def by(weigh: Weigh) -> None:
        monkeypatch.setattr(searching, "weigh_into", weigh)

    return by


def scripted(balance: Balance) -> Weigh:
    """Weighs by the balance, and notes every record in a file: the program is another process."""

    def weigh(study: Study, seed: int, place: Path, account: str | None) -> Verdict:
        with Path("weighed").open("a") as file:
            print(place.name, *(arm.name for arm in study.arms), file=file)
        return balance.weigh(study, seed, place)

    return weigh


def test_it_races_candidates_and_confirms_the_winner(
    forked: Steelyard, tmp_path: Path, weighed: Callable[[Weigh], None]
) -> None:
    weighed(scripted(Balance(work_mem_helps)))
    said = forked(*SEARCH, *SMALL, "--json")
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    assert told == json.loads((tmp_path / "found" / "found.json").read_text())
    assert (told["seed"], told["attempts"]) == (3, 6)
    records = [line.split()[0] for line in (tmp_path / "weighed").read_text().splitlines()]
    assert len(records) == told["weighings"]
    assert records[:2] == ["round-01", "round-01-epochs-3"]
    assert records[-1] == "confirmation"
    assert [one["number"] for one in told["trials"]] == [1, 2, 3, 4, 5, 6]
    assert told["winner"] in told["trials"]
    [confirmed] = told["confirmed"]["contrasts"]
    assert confirmed["arm"] == f"trial-{told['winner']['number']}"
    assert "round-01: trial-1, trial-2, trial-3, trial-4, 2 epochs" in said.stderr


def test_it_prints_every_attempt_and_only_the_fresh_figure_as_the_verdict(
    forked: Steelyard, tmp_path: Path, weighed: Callable[[Weigh], None]
) -> None:
    weighed(scripted(Balance(work_mem_helps)))
    said = forked(*SEARCH, *SMALL)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("6 candidates in ")
    assert all(f"\ntrial-{number}" in said.stdout for number in range(1, 7))
    [line] = json.loads((tmp_path / "found" / "found.json").read_text())["confirmed"]["contrasts"]
    read, low, high = (line[f"{one}_percent"] for one in ("estimate", "low", "high"))
    assert low < read < high
    fresh = f"The fresh weighing read {read:+.2f} % [{low:+.2f}, {high:+.2f}]; that one counts."
    assert fresh.replace("-", "−") in " ".join(said.stdout.split())
    assert "It does not show a gain." not in said.stdout
    assert "\nwork_mem = " in said.stdout


def test_where_the_fresh_weighing_shows_no_gain_it_says_so(
    forked: Steelyard, weighed: Callable[[Weigh], None]
) -> None:
    def luck(study: Study, seed: int, place: Path, account: str | None) -> Verdict:
        helps = (lambda settings: 0.0) if place.name == "confirmation" else work_mem_helps
        return Balance(helps).weigh(study, seed, place)

    weighed(luck)
    said = forked(*SEARCH, *SMALL)
    assert said.returncode == 0, said.stderr
    assert "that one counts. It does not show a gain. Its settings:" in " ".join(
        said.stdout.split()
    )


def test_what_was_interrupted_reports_nothing_and_is_resumed(
    forked: Steelyard, tmp_path: Path, weighed: Callable[[Weigh], None]
) -> None:
    def interrupted(study: Study, seed: int, place: Path, account: str | None) -> Verdict:
        verdict = Balance(work_mem_helps).weigh(study, seed, place)
        ended = place.name == "confirmation"
        return verdict.model_copy(update={"interrupted": ended})

    weighed(interrupted)
    said = forked(*SEARCH, *SMALL)
    assert said.returncode == 130
    assert said.stdout == ""
    assert "go on: steelyard tune --resume found" in said.stderr
    assert not (tmp_path / "found" / "found.json").exists()
    weighed(scripted(Balance(work_mem_helps)))
    assert forked("tune", "--resume", "found").returncode == 0
    assert json.loads((tmp_path / "found" / "found.json").read_text())["confirmed"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StudyError("the budget is too short for 2 epochs in turns"), 2),
        (DriverError("no space left on device"), 3),
        (WeighingError("no transaction succeeded in the pilot"), 3),
    ],
)
def test_what_keeps_every_candidate_from_being_weighed_is_an_error(
    forked: Steelyard,
    tmp_path: Path,
    weighed: Callable[[Weigh], None],
    error: Exception,
    status: int,
) -> None:
    def failing(study: Study, seed: int, place: Path, account: str | None) -> Verdict:
        raise error

    weighed(failing)
    said = forked(*SEARCH, *SMALL)
    assert said.returncode == status
    assert str(error) in said.stderr
    assert said.stdout == ""
    assert not (tmp_path / "found" / "found.json").exists()


def test_a_weighing_that_lost_its_epochs_names_the_candidate_that_cost_them(
    forked: Steelyard, tmp_path: Path, weighed: Callable[[Weigh], None]
) -> None:
    """Such a weighing ends in an error, after its verdict was written."""
    balance = Balance(crashes=lambda place, arm, epoch: arm == "trial-2")
    weigh = scripted(balance)

    def losing(study: Study, seed: int, place: Path, account: str | None) -> Verdict:
        verdict = weigh(study, seed, place, account)
        if not any(arm.name == "trial-2" for arm in study.arms):
            return verdict
        place.mkdir(parents=True)
        (place / "plan.json").write_text("{}")
        # A verdict on disk has no NaN, and is not read with one.
        (place / "verdict.json").write_text(json.dumps(verdict.to_json()).replace("NaN", "0.0"))
        raise WeighingError("3 epochs in a row were lost: crashed: trial-2")

    weighed(losing)
    said = forked(*SEARCH, *SMALL, "--json")
    assert said.returncode == 0, said.stderr
    outcomes = [one["outcome"] for one in json.loads(said.stdout)["trials"]]
    assert outcomes[1] == "failed: crashed in 2 of 2 epochs"
    assert sum(one.startswith("failed") for one in outcomes) == 1


def test_where_all_candidates_fail_that_is_what_it_says(
    forked: Steelyard, tmp_path: Path, weighed: Callable[[Weigh], None]
) -> None:
    weighed(scripted(Balance(crashes=lambda place, arm, epoch: arm.startswith("trial-"))))
    said = forked(*SEARCH, *SMALL)
    assert said.returncode == 0, said.stderr
    assert "every candidate failed in the search: nothing to confirm" in said.stdout
    assert "better than the control" not in said.stdout


def test_memory_that_the_controls_settings_take_is_refused_before_any_work(
    forked: Steelyard, tmp_path: Path, weighed: Callable[[Weigh], None]
) -> None:
    weighed(scripted(Balance()))
    upkeep = ("--set", "control.settings.maintenance_work_mem=600MB")
    said = forked(*SEARCH, *SMALL, "--memory", "1GB", *upkeep)
    assert said.returncode == 2
    assert "cannot search settings for 1024 MB of memory and 4 clients" in said.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_build_and_the_memory_that_are_named_are_those_of_the_search(
    forked: Steelyard, tmp_path: Path, weighed: Callable[[Weigh], None]
) -> None:
    weighed(scripted(Balance(work_mem_helps)))
    said = forked(*SEARCH, *SMALL, "--memory", "1GB", "--version", "16", "--work", "mixed")
    assert said.returncode == 0, said.stderr
    assert "candidates take at most 1024 MB of memory (as given), as mixed" in said.stderr
    plan = json.loads((tmp_path / "found" / "search.json").read_text())
    assert (plan["basis"]["memory_bytes"], plan["basis"]["kind"]) == (1 << 30, "mixed")
    assert read_study(str(tmp_path / "found" / "study.toml")).control.version == "16"


@pytest.mark.long
@pytest.mark.postgres
def test_real_servers_are_searched(steelyard: Steelyard, tmp_path: Path) -> None:
    """Three candidates, select-only, against a control whose pool holds next to nothing."""
    short = ("--trials", "3", "--memory", "512MB", "--budget", "20s")
    small = ("workload.scale=5", "workload.clients=2", "control.settings.shared_buffers=1MB")
    changes = [word for one in small for word in ("--set", one)]
    said = steelyard(*SEARCH, *short, *changes, "--json", timeout=1500)
    assert said.returncode == 0, said.stderr
    told = json.loads(said.stdout)
    assert len(told["trials"]) == 3
    assert not [one["outcome"] for one in told["trials"] if one["outcome"].startswith("failed")]
    assert (tmp_path / "found" / "round-01" / "report.html").is_file()
    assert {one["epochs"] for one in told["trials"]} <= {2, 4, 6}
    if told["winner"] is None:
        assert max(one["search_percent"] for one in told["trials"]) <= 0
    else:
        [line] = told["confirmed"]["contrasts"]
        assert line["arm"] == f"trial-{told['winner']['number']}"
        assert (tmp_path / "found" / "confirmation" / "report.html").is_file()
    again = steelyard("tune", "--resume", "found", "--json")
    assert json.loads(again.stdout) == told, "nothing is weighed again"
