"""`--json` has where the time goes at each contrast, beside what the record holds."""

from __future__ import annotations

import json

from record.made import line_of, verdict_of
from steelyard.cli.views.verdict_view import verdict_json
from steelyard.evaluation.threats.run import ServersOfTheirOwn
from steelyard.record.spent import Spent, SpentLine
from steelyard.record.verdict import TimePart, TimeParts
from steelyard.wording.threats.threat import threat_of


def _part(name: str, control: float, arm: float, high: float | None) -> TimePart:
    return TimePart.model_validate(
        {
            "part": name,
            "control_us": control,
            "arm_us": arm,
            "difference_us": arm - control,
            "low_us": arm - control - 1,
            "high_us": high,
        }
    )


def test_parts_and_cause_stand_at_their_contrast() -> None:
    queue = _part("queue", 10.0, 30.0, 21.0)
    time = TimeParts(
        control="on",
        arm="off",
        epochs=12,
        control_us=110.0,
        arm_us=130.0,
        parts=(_part("processor", 100.0, 100.0, None), queue),
        cause=queue,
    )
    verdict = verdict_of(contrasts=(line_of(arm="off", control="on"),), time=(time,))
    told = json.loads(verdict_json(verdict))
    [contrast] = told["contrasts"]
    assert contrast["arm"] == "off"
    assert contrast["cause"] == "processor wait"
    assert contrast["parts"] == [
        {
            "name": "processor",
            "control_us": 100.0,
            "arm_us": 100.0,
            "difference_us": 0.0,
            "low_us": -1.0,
            "high_us": None,
        },
        {
            "name": "processor wait",
            "control_us": 10.0,
            "arm_us": 30.0,
            "difference_us": 20.0,
            "low_us": 19.0,
            "high_us": 21.0,
        },
    ]
    assert told["scope"] == "machine"


def test_of_servers_that_stand_elsewhere_the_scope_is_these_instances() -> None:
    line = line_of(arm="db2:5432", control="db1:5432", threats=(threat_of(ServersOfTheirOwn()),))
    assert json.loads(verdict_json(verdict_of(line)))["scope"] == "instances"


def test_where_the_wall_time_went_stands_in_it() -> None:
    line = SpentLine(epoch=12, phases_ns={"start": 1_500_000_000, "measure": 4_500_000_000})
    verdict = verdict_of(line_of(arm="off", control="on"), spent=Spent.of([line]))
    told = json.loads(verdict_json(verdict))
    assert told["spent"] == {
        "seconds": 6.0,
        "loaded_seconds": 4.5,
        "phases": [{"phase": "start", "seconds": 1.5}, {"phase": "measure", "seconds": 4.5}],
    }
    assert "spent" not in json.loads(verdict_json(verdict_of(line_of(arm="off", control="on"))))


def test_where_no_time_was_told_there_are_no_parts() -> None:
    verdict = verdict_of(contrasts=(line_of(arm="off", control="on"),))
    told = json.loads(verdict_json(verdict))
    [contrast] = told["contrasts"]
    assert (contrast["parts"], contrast["cause"]) == ([], None)
