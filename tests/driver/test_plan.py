"""Plans as the driver reads them."""

from __future__ import annotations

import json

from steelyard.driver.plan import DriveArm, DrivePlan, DriveScript, SliceRequest
from steelyard.model.endpoint import MYSQL, Endpoint
from steelyard.model.secrets.secret import Secret

ARM = DriveArm("on", Endpoint("/tmp/x", 5432, "u", "d", password=Secret("secret")), clients=8)


def test_a_plan_is_plain_json() -> None:
    plan = DrivePlan(arms=(ARM,), scripts=(DriveScript("s", "SELECT 1;"),), processors=(0, 1))
    read = json.loads(json.dumps(plan.to_json()))
    assert read["processors"] == [0, 1]
    assert read["arms"][0]["weight"] == {"double_work": 0.0, "stall": 0.0, "stall_ns": 0}
    assert read["scripts"][0] == {"name": "s", "text": "SELECT 1;", "weight": 1, "rows": None}


def test_a_password_is_not_shown() -> None:
    plan = DrivePlan(arms=(ARM,), scripts=())
    assert "secret" not in repr(plan)
    assert plan.to_json()["arms"][0]["password"] == "secret"  # the driver's pipe has it


def test_a_slice_names_only_what_is_asked() -> None:
    assert SliceRequest(arm=1, length_ns=5).to_json() == {"arm": 1, "length_ns": 5, "tag": None}
    asked = SliceRequest(arm=0, count=3, tag={"block": 1})
    assert asked.to_json() == {"arm": 0, "count": 3, "tag": {"block": 1}}


def test_a_number_that_is_none_of_json_goes_as_the_text_that_it_is() -> None:
    numbers = {
        "most": 2**63 - 1, "more": 2**63, "least": -(2**63), "less": -(2**63) - 1, "key": 2**64 - 1,
        "endless": float("inf"), "none": float("nan"), "half": 0.5, "word": "x", "truth": True,
    }  # fmt: skip
    plan = DrivePlan((ARM,), (DriveScript("s", "SELECT 1;"),), variables=numbers)
    read = json.loads(json.dumps(plan.to_json(), allow_nan=False))["variables"]
    assert read == numbers | {
        "more": "9223372036854775808", "less": "-9223372036854775809",
        "key": "18446744073709551615", "endless": "inf", "none": "nan",
    }  # fmt: skip


def test_an_arm_on_mysql_is_told_in_its_own_words() -> None:
    endpoint = Endpoint("/run/my.sock", 3306, "u", "d", protocol=MYSQL)
    driven = DriveArm("a", endpoint, 2, session=("SET sql_mode = ''",))
    plan = DrivePlan((driven,), (DriveScript("s", "SELECT 1;"),))
    [arm] = plan.to_json()["arms"]
    assert plan.protocol == MYSQL
    assert (arm["host"], arm["password"], arm["clients"]) == ("/run/my.sock", "", 2)
    assert arm["session"] == ["SET sql_mode = ''"]
    assert not {"channel_binding", "protocol", "options"} & arm.keys()
