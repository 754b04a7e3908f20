"""How long a script sleeps is found by executing it without a server, its options as chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.model.units import NS_PER_MS, NS_PER_S
from steelyard.study.read import read_study
from steelyard.workloads.reading.folder import find_workload
from steelyard.workloads.reading.resolved import resolve
from steelyard.workloads.reading.scripts import Script, longest_pause_ns, resolve_scripts


@pytest.mark.parametrize(
    ("text", "pause_ns"),
    [
        ("SELECT 1;", 0),
        ("\\sleep 2\nSELECT 1;", 2 * NS_PER_S),
        ("\\sleep 20 ms\nSELECT 1;\n\\sleep :long us", 20 * NS_PER_MS + 7_000),
        ("\\if :long > 7\n\\sleep 9 s\n\\endif\nSELECT 1;", 0),
        ("\\set nap random(1, 3)\n\\sleep :nap s\nSELECT 1;", 3 * NS_PER_S),
        ("SELECT 1 AS one\n\\gset\n\\sleep 5 s\nSELECT :one;", 5 * NS_PER_S),
        ("\\sleep 20ms\nSELECT 1;\n\\sleep 3S", 20 * NS_PER_MS + 3 * NS_PER_S),
        ("SELECT 1; \\sleep 3 s\nSELECT 2\n\\sleep :long ms \n", 3 * NS_PER_S + 7 * NS_PER_MS),
        ("\\set nap 2.75\n\\sleep :nap s\nSELECT 1;", 2 * NS_PER_S),
        ("\\set nap -ln(0.5) * 1000\n\\sleep :nap ms\nSELECT 1;", 693 * NS_PER_MS),
        ("\\sleep -3 s\n\\sleep +1 s\nSELECT 1;", NS_PER_S),
        ("\\sleep 2 s\r\nSELECT 1;\r\n", 2 * NS_PER_S),
        ("-- \\sleep 9 s\nSELECT 1 -- \\sleep 9 s\n; /* \n\\sleep 9 s\n */ SELECT 2;", 0),
    ],
)
def test_the_sleeps_of_a_transaction_are_added_up(text: str, pause_ns: int) -> None:
    assert longest_pause_ns("mine", text, {"long": "7"}) == pause_ns


@pytest.mark.parametrize("name", ["tproc-c", "tproc-c-client"])
def test_keying_and_thinking_times_are_found_where_they_are_asked_for(name: str) -> None:
    def resolved(thinking: bool) -> list[Script]:
        workload = find_workload(name, {"thinking": thinking})
        return resolve_scripts(workload, workload.mix(), 1)

    assert {script.pause_ns for script in resolved(False)} == {0}
    pauses = {script.name: script.pause_ns / NS_PER_S for script in resolved(True)}
    # Keying of 18, 3 and 2 s; thinking of 12 or 5 s in the mean, ten times that at most.
    assert 18 + 3 * 12 < pauses["new-order"] < 18 + 120
    assert all(2 + 3 * 5 < pause < 3 + 120 for pause in pauses.values())


QUOTED = "\\set a 1\nSELECT ':a';\n"
PIPELINE = "SELECT 1;\n\\startpipeline\nSELECT 2;\n\\endpipeline\n"


@pytest.mark.parametrize(
    ("text", "mode", "other", "place"),
    [
        (QUOTED, None, "simple", "mine:2:9"),
        (QUOTED, "extended", "simple", "mine:2:9"),
        ("SELECT 1 \\; SELECT 2;\n", "prepared", "simple", "mine:1:10"),
        (PIPELINE, "simple", "prepared", "mine:2:1"),
    ],
)
def test_a_script_that_its_mode_cannot_send_says_which_mode_can(
    text: str, mode: str | None, other: str, place: str
) -> None:
    pgbench = find_workload("pgbench")
    texts = {"select": "SELECT 1;", "mine": text}
    with pytest.raises(StudyError, match='script "mine" cannot be sent as') as refused:
        resolve_scripts(pgbench, dict.fromkeys(texts, 1), 1, texts=texts, mode=mode)
    assert place in str(refused.value)
    assert f"--set workload.mode={other}" in str(refused.value)
    assert len(resolve_scripts(pgbench, dict.fromkeys(texts, 1), 1, texts=texts, mode=other)) == 2


def test_the_mode_of_a_study_is_that_of_its_scripts(tmp_path: Path) -> None:
    file = tmp_path / "quoted.sql"
    file.write_text(QUOTED)
    script = f"workload.scripts={{'{file}' = 1}}"
    with pytest.raises(StudyError, match="cannot be sent as prepared"):
        resolve(read_study("settings", [script]).workload)
    [resolved] = resolve(read_study("settings", [script, "workload.mode=simple"]).workload).scripts
    assert not resolved.writes


ANSWERED = "SELECT min(a) AS low, max(a) AS high FROM t \\gset\n"


@pytest.mark.parametrize(
    "text",
    [
        ANSWERED + "\\set a random(:low + 1, :high)\nSELECT :a;\n",
        ANSWERED + "\\set a 100 / (:high - :low)\nSELECT :a;\n",
        "SELECT 7 AS n \\aset x_\n\\if 1 / (:x_n - 1) > 0\nSELECT 1;\n\\endif\n",
    ],
)
def test_an_expression_of_answers_may_have_a_result_that_it_has_not_with_ones(text: str) -> None:
    [script] = resolve_scripts(find_workload("pgbench"), {"mine": 1}, 1, texts={"mine": text})
    assert (script.several, script.writes) == (True, False)


@pytest.mark.parametrize("text", ["\\set a 1 / 0\n" + ANSWERED, "\\set a 1 / 0\nSELECT :a;\n"])
def test_an_expression_that_no_answer_changes_is_refused(text: str) -> None:
    with pytest.raises(StudyError, match="division by zero"):
        resolve_scripts(find_workload("pgbench"), {"mine": 1}, 1, texts={"mine": text})


def test_a_script_may_read_what_another_one_sets() -> None:
    pgbench = find_workload("pgbench")
    texts = {
        "first": "\\set key random(5, 9)\nSELECT 2 AS nap \\gset my_\n",
        "second": "SELECT 10 / (:key - 1);\n\\sleep :my_nap s\n",
        "third": "\\set k 10 / (:key - 1)\nSELECT :k;\n",
    }
    scripts = resolve_scripts(pgbench, dict.fromkeys(texts, 1), 1, texts=texts)
    assert [script.pause_ns for script in scripts] == [0, NS_PER_S, 0]
    with pytest.raises(StudyError, match='undefined variable "key"'):
        resolve_scripts(pgbench, {"second": 1}, 1, texts=texts)
    texts = {"first": "SELECT 1 AS one \\gset\n", "second": "SELECT :two;\n"}
    with pytest.raises(StudyError, match='undefined variable "two"'):
        resolve_scripts(pgbench, dict.fromkeys(texts, 1), 1, texts=texts)


def test_a_script_is_evaluated_with_the_number_of_its_clients(tmp_path: Path) -> None:
    file = tmp_path / "shared.sql"
    file.write_text("\\set part 100 / (:clients - 1)\nSELECT :part;\n")
    changes = [f"workload.scripts={{'{file}' = 1}}", "workload.clients=3"]
    [script] = resolve(read_study("settings", changes).workload).scripts
    assert script.text.startswith("\\set part")
    with pytest.raises(StudyError, match="division by zero"):
        resolve(read_study("settings", [changes[0], "workload.clients=1"]).workload)
