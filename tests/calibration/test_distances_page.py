"""docs/results/by-distance.md says what was weighed; every weighing of it is a command there is."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.study.read import read_study
from validation import distances
from validation.distances import ASKED, CHECKED, WEIGHINGS
from validation.pages.distances import page
from validation.pages.folded import outdated

RANGE = {"estimate_percent": -12.9, "low_percent": -21.6, "high_percent": -2.1}


def weighed(**changed: Any) -> dict[str, Any]:
    counts = {"control_images": 2.85, "arm_images": 3.3, "control_wal_bytes": 30818.0,
              "arm_wal_bytes": 33370.0}  # fmt: skip
    return {
        "key": "wal-compression, tproc-c", "words": ["settings", "--set", "a={b = 1}"],
        "arm": "arm", "control": "control", "metric": "throughput", **RANGE, "verdict": "slower",
        "epochs": 12, "epoch_sd_percent": 15.3, "d": [], "threats": ["drift", "drift"],
        "sentence": "", "time_scale": 1.0, "distance_seconds": 27.3, "seconds": 3900.0,
        "by_distance": [{"seconds": 5.0, **RANGE}],
        "curve": [{"from_seconds": 0.0, "to_seconds": 2.0, **RANGE, **counts}], "sums": [],
        "machine": {
            "kernel": "Linux 6", "processor": "P", "allowed_processors": [0, 1],
            "memory_bytes": 8e9, "virtual": True,
        },
        **changed,
    }  # fmt: skip


def test_a_weighing_has_its_verdict_its_curve_and_what_is_computed_of_it() -> None:
    text = page([weighed()], ["wal-compression, tproc-c", "another"], CHECKED)
    row = "control: -12.9 % | -21.6 … -2.1 % | slower | turns | 1 | 27 s | 12 | 15.3 % |"
    assert f"{row} drift | 65 |" in text
    assert "| 0–2 | -12.9 % | -21.6 … -2.1 % | 2.85 | 3.30 | 30,818 bytes | 33,370 bytes |" in text
    assert "| 5 s | -12.9 % | -21.6 … -2.1 % |" in text
    assert "steelyard weigh settings --set 'a={b = 1}'" in text
    assert "Not yet weighed: another." in text


def test_a_curve_of_unlike_cycles_says_so() -> None:
    sums = [{"arm": "control", "cycle_seconds": 3.7}, {"arm": "arm", "cycle_seconds": 41.0}]
    told = page([weighed(sums=sums)], [], CHECKED)
    assert "Checkpoints are 3.7 s in control and 41 s in arm apart" in told
    assert "Checkpoints are" not in page([weighed()], [], CHECKED)


def test_an_arm_without_checkpoints_has_no_distance() -> None:
    text = page([weighed(distance_seconds=None, curve=[], by_distance=[])], [], CHECKED)
    assert "| none made |" in text
    assert "Not yet weighed" not in text


def test_what_was_computed_stands_beside_what_was_weighed_at_that_distance() -> None:
    nearer = weighed(key=CHECKED[0], distance_seconds=9.6, by_distance=[], curve=[])
    assert "## Computed and weighed" not in page([nearer], [], CHECKED)
    text = page([weighed(), nearer], [], CHECKED)
    assert "| weighed | 9.6 s | -12.9 % | -21.6 … -2.1 % |" in text
    assert "| computed | 5 s | -12.9 % | -21.6 … -2.1 % |" in text


def pair(off: float, pglz: float) -> dict[str, Any]:
    costs = {"distance_s": 9.4, "checkpoints": 5, "wal_bytes": 12345.6, "images": 1.25}
    return {
        "key": "s/1", "off": {"tps": off, **costs}, "pglz": {"tps": pglz, **costs},
        "machine": weighed()["machine"],
    }  # fmt: skip


def test_pairs_by_hand_stand_beside_the_weighing_at_that_distance() -> None:
    nearer = weighed(key=CHECKED[0], distance_seconds=9.6, by_distance=[], curve=[])
    pairs = [pair(1000.0, 880.0), pair(1000.0, 900.0), pair(1000.0, 920.0)]
    text = page([weighed(), nearer], [], CHECKED, pairs)
    assert "| in turns | 9.6 s | 12 epochs | -12.9 % | -21.6 … -2.1 % |" in text
    # scipy.stats.ttest_1samp over log(0.88), log(0.9), log(0.92): -0.10553 ± 4.30265 · 0.01283
    assert "| by hand | 9.4 s | 3 pairs | -10.0 % | -14.8 … -4.9 % |" in text
    assert "| off | 1,000 tps | 9.4 s | 12,346 bytes | 1.25 |" in text
    assert "The intervals overlap." in text
    alike = [pair(1.0, 1.0), pair(1.0, 1.005), pair(1.0, 0.995)]
    assert "do not overlap" in page([nearer], [], CHECKED, alike)
    assert "## By hand" not in page([weighed()], [], CHECKED, pairs), "of another distance"
    assert "## By hand" not in page([nearer], [], CHECKED, pairs[:1])


def test_a_record_of_another_command_is_not_adopted(tmp_path: Path) -> None:
    (tmp_path / "verdict.json").write_text(json.dumps({"command": "steelyard weigh aa --seed 7"}))
    with pytest.raises(ValueError, match="was made by: steelyard weigh aa"):
        ASKED.adopt("wal-compression, tproc-c", tmp_path)


def test_the_page_is_what_the_results_say() -> None:
    assert not outdated(distances.files()), "run python -m validation.distances"


@pytest.mark.parametrize("name", WEIGHINGS)
def test_every_weighing_is_a_study_in_turns(name: str) -> None:
    study, *words = WEIGHINGS[name]
    overrides = [word for flag, word in itertools.pairwise(words) if flag == "--set"]
    read = read_study(study, overrides)
    [arm] = [arm for arm in read.arms if not arm.needs]  # the bundled builds lack the others
    acts = {"wal_compression", "data_checksums"} & read.declared_differences(arm)
    assert len(acts) == 1
