"""Each statement that was timed is judged by itself: the worst first, with share and plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pytest

from record.made import line_of, verdict_of
from steelyard.analysis.decision.max_t import joint_flips
from steelyard.cli.views.ci import markdown
from steelyard.cli.views.verdict_view import render_verdict
from steelyard.evaluation.mean_times import statement_rows
from steelyard.model.readings import ArmTotals, EpochTotals
from steelyard.record.environment import Inspection
from steelyard.record.verdict import Statement, Verdict
from steelyard.report.answer.scripts import within_scripts
from steelyard.verdict.rejudge import differences

EFFECTS = {
    r"tx:1 \set id random(1, 100)": 0.9,
    "tx:2 BEGIN;": 0.0,
    "tx:3 UPDATE t SET n = :n::int": 0.5,
    "tx:5 SELECT n FROM t WHERE id = :id; SELECT 'a:1 b';": 0.2,
    "tx:5 SELECT 'a:1 b';": -0.3,
    "tx:6 END;": 0.0,
    "one:1 SELECT 2": 0.1,
}
SEQ, INDEX = "Seq Scan on t", "Index Scan using t_pkey on t"
PLANS = {
    "tx: UPDATE t SET n = $1::int WHERE id = $2": (INDEX, SEQ),
    "tx: SELECT n FROM t WHERE id = $1": (INDEX, INDEX),
    "tx: SELECT 'a:1 b'": ("Result", "Result"),
    "one: SELECT 2": ("Result", "Result"),
}
INSPECTION = Inspection(
    compared=0,
    statements=0,
    writes=False,
    arms={},
    build_profile="release",
    plans={
        "on": {name: plan for name, (plan, _) in PLANS.items()},
        "off": {name: plan for name, (_, plan) in PLANS.items()},
    },
)


def noisy(effects: Mapping[str, float], spread: float = 0.001) -> list[EpochTotals]:
    """Twelve epochs in which every command is executed 100 times, for about 100 µs each."""
    draw = np.random.default_rng(5)
    made = []
    for number in range(12):
        arms = {}
        for slot, arm in enumerate(("on", "off")):
            means = {
                name: 100e3 * (1 + effect * slot) * np.exp(draw.normal(0, spread))
                for name, effect in effects.items()
            }
            statements = {name: (100, round(100 * mean)) for name, mean in means.items()}
            arms[arm] = ArmTotals(arm, slot, 1, 100, 10**9, 10**9, statements=statements)
        made.append(EpochTotals(number, {"on": 0, "off": 1}, ("on", "off"), arms))
    return made


def judged(epochs: list[EpochTotals]) -> list[Statement]:
    return statement_rows(epochs, INSPECTION, "on", "off", 0.01)


def test_statements_come_worst_first_and_what_the_client_does_comes_last() -> None:
    rows = judged(noisy(EFFECTS))
    assert [(row.statement[:5], row.verdict) for row in rows[:3]] == [
        ("tx:3 ", "slower"), ("tx:5 ", "slower"), ("one:1", "slower"),
    ]  # fmt: skip
    assert {(row.statement, row.verdict) for row in rows[3:5]} == {
        ("tx:2 BEGIN;", "equivalent"), ("tx:6 END;", "equivalent"),
    }  # fmt: skip
    assert (rows[-2].statement, rows[-2].verdict) == ("tx:5 SELECT 'a:1 b';", "faster")
    assert rows[-1].statement.startswith(r"tx:1 \set")
    assert (rows[-1].verdict, rows[-1].share_percent) == (None, None)
    assert sum(row.share_percent or 0 for row in rows) == pytest.approx(100)
    assert sum(row.executed_percent or 0 for row in rows) == pytest.approx(100)
    assert rows[0].arm_us == pytest.approx(150, rel=0.01)


def test_a_statement_has_its_whole_sql_and_the_flip_of_its_plan() -> None:
    rows = {row.statement: row for row in judged(noisy(EFFECTS))}
    update = rows["tx:3 UPDATE t SET n = :n::int"]
    assert update.sql == "UPDATE t SET n = $1::int WHERE id = $2"
    assert update.flips == ("Index Scan on t by t_pkey → Seq Scan on t",)
    both = [rows[name] for name in EFFECTS if name.startswith("tx:5")]
    assert [row.sql for row in both] == ["SELECT n FROM t WHERE id = $1", "SELECT 'a:1 b'"]
    assert not any(row.flips for row in both)
    assert rows["tx:2 BEGIN;"].sql == ""


def test_intervals_hold_jointly_over_all_that_was_timed() -> None:
    epochs = noisy(EFFECTS, 0.05)
    table = np.array(
        [
            [
                np.log(one.arms["off"].statements[name][1] / one.arms["on"].statements[name][1])
                for name in EFFECTS
            ]
            for one in epochs
        ]
    )
    expected = dict(zip(EFFECTS, joint_flips(table), strict=True))
    for row in judged(epochs):
        interval = expected[row.statement].interval
        assert row.low_percent == pytest.approx(100 * np.expm1(interval.low))
        assert row.high_percent == pytest.approx(100 * np.expm1(interval.high))


def test_a_statement_that_an_epoch_lacks_is_shown_without_a_change() -> None:
    epochs = noisy(EFFECTS)
    rare = "tx:9 SELECT 9"
    for one in epochs[1:]:
        for arm in one.arms.values():
            arm.statements[rare] = (5, 35_000)  # type: ignore[index]
    rows = {row.statement: row for row in judged(epochs)}
    assert rows[rare].verdict == "inconclusive"
    assert rows[rare].estimate_percent is None
    assert rows[rare].control_us == pytest.approx(7)


def test_terminal_and_summary_show_statements_of_scripts_that_hold_several() -> None:
    verdict = verdict_of(line_of(), statements=tuple(judged(noisy(EFFECTS))))
    shown = [row.statement for row in within_scripts(verdict, "off")]
    assert len(shown) == 5
    assert not any(name.startswith("one:") or "\\set" in name for name in shown)
    for text in (render_verdict(verdict, 100), markdown(verdict)):
        assert "2 slower, 1 faster, 2 unchanged" in text
        assert text.index("tx:3") < text.index("tx:5") < text.index("tx:2")
        assert "Index Scan on t by t" in text
    assert "tx:5 (2)" in render_verdict(verdict, 100)
    alone = [row for row in verdict.statements if row.script == "one"]
    assert "statements:" not in render_verdict(verdict_of(line_of(), statements=tuple(alone)), 100)


def verdict_with(rows: Iterable[Statement]) -> Verdict:
    return verdict_of(line_of(), statements=tuple(rows), measured_seconds=1.0)


def test_an_older_verdict_whose_statements_stand_in_their_order_is_not_another() -> None:
    rows = judged(noisy(EFFECTS))
    keys = ("statement", "arm", "control", "estimate_percent", "low_percent", "high_percent")
    older = [
        {**{key: getattr(row, key) for key in keys}, "confidence": 0.95}
        | {"control_us": row.control_us, "arm_us": row.arm_us}
        for row in sorted(rows, key=lambda row: row.statement)
    ]
    before = verdict_with(map(Statement.model_validate, older))
    assert differences(before, verdict_with(rows)) == []
    older[0]["arm_us"] = 1.0
    changed = verdict_with(map(Statement.model_validate, older))
    assert len(differences(changed, verdict_with(rows))) == 1
