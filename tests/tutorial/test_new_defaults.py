"""A platform engineer follows the tutorial on new defaults: a server that runs, a gate, many
machines."""

from __future__ import annotations

import csv
import json

import pytest

from engines.postgres.intake.original import Original
from tutorial.conftest import Reader

pytestmark = [pytest.mark.postgres, pytest.mark.long]


def test_new_defaults_are_weighed_gated_and_collected_as_the_tutorial_says(
    reader: Reader, shop: Original
) -> None:
    reader.reach(shop)
    said = reader.follow_all("new-defaults.md")
    asked = json.loads((reader.directory / "asked" / "verdict.json").read_text())
    assert asked["contrasts"][0]["arm"] == "random_page_cost=1.1"
    assert asked["contrasts"][0]["verdict"] != "invalid"
    gate = json.loads((reader.directory / "runner1" / "verdict.json").read_text())
    assert gate["contrasts"][0]["arm"] == "new.conf"
    assert "exit status 2" not in said[1]
    with (reader.directory / "answers.csv").open(newline="") as file:
        assert {row["study"] for row in csv.DictReader(file)} == {"settings", "sessions"}
    assert "new.conf" in (reader.directory / "pages" / "index.html").read_text()
    assert shop.ask("SELECT count(*) FROM orders", "shop") == [(20000,)]
