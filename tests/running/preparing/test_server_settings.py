"""The settings of the data's server lie between the built-in study's and those that a user says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from steelyard.engines.capabilities.memory import MemoryNeed
from steelyard.engines.engine import Engine, Settings, Slot
from steelyard.engines.intake import Neutralised, Overridden, Report, ServerSettings
from steelyard.model.errors import StudyError
from steelyard.model.threat import Threat
from steelyard.model.units import parse_bytes
from steelyard.running.laboratory import Laboratory
from steelyard.running.preparing.server_settings import LaidSettings, lay_settings, shown_value
from steelyard.running.preparing.standbys_and_poolers import require_replication
from steelyard.study.read import read_study
from steelyard.study.study import Study

GB = 1 << 30


@dataclass
class Build:
    """An engine that refuses some settings, and says what shared buffers take."""

    bindir: str = "/18"
    refused: tuple[str, ...] = ()
    seen: list[str] = field(default_factory=list)

    @property
    def identity(self) -> Any:
        return SimpleNamespace(bindir=self.bindir)

    def known(self, offered: ServerSettings) -> ServerSettings:
        return offered

    def accepted(self, offered: ServerSettings, slot: Slot, report: Report) -> ServerSettings:
        self.seen.append(self.bindir)
        rest = {name: v for name, v in offered.settings.items() if name not in self.refused}
        gone = tuple(Neutralised(name, "refused") for name in self.refused)
        return ServerSettings(rest, (*offered.neutralised, *gone), offered.missing)

    def memory_need(self, settings: Settings) -> MemoryNeed:
        said = settings.get("shared_buffers", "128MB")
        return MemoryNeed(parse_bytes(said), "off")


class Notes:
    """A progress that keeps its notes and threats."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.threats: list[tuple[str, str]] = []

    def threat(self, threat: Threat) -> None:
        self.threats.append((threat.name, threat.seen))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def stage(self, text: str) -> None:
        """Nothing."""


def machine(free: int = 8 * GB, pages: int = 0) -> Laboratory:
    host = SimpleNamespace(
        sample=lambda: SimpleNamespace(memory_available_bytes=free),
        huge_pages_free=lambda: pages,
    )
    engines = SimpleNamespace(slot=lambda _: None)
    return cast(Laboratory, SimpleNamespace(host=host, engines=engines))


def study_of(*changes: str) -> Study:
    return read_study("checksums", ["source=/data", "workload.clients=8", *changes])


def lay(
    settings: Mapping[str, str],
    *changes: str,
    missing: str = "",
    laboratory: Laboratory | None = None,
    builds: tuple[Build, Build] | None = None,
    notes: Notes | None = None,
    overridden: tuple[Overridden, ...] = (),
) -> LaidSettings:
    study, same = study_of(*changes), Build()
    engines = dict(zip(("on", "off"), builds or (same, same), strict=True))
    laid = lay_settings(
        study,
        ServerSettings(settings, missing=missing, overridden=overridden),
        cast(Mapping[str, Engine], engines),
        laboratory or machine(),
        cast(Any, notes or Notes()),
        at_once=2,
    )
    assert laid is not None
    return laid


def test_data_of_our_own_have_no_server() -> None:
    study = read_study("checksums")
    assert lay_settings(study, None, {}, machine(), cast(Any, Notes()), at_once=2) is None


def test_what_the_server_says_is_weighed_and_the_study_fills_what_it_leaves_out() -> None:
    laid = lay({"shared_buffers": "1GB", "work_mem": "13MB"})
    assert laid.file == {"shared_buffers": "1GB", "work_mem": "13MB", "max_connections": "300"}
    assert [(one.name, one.theirs, one.used) for one in laid.replaced] == [
        ("max_connections", "default", "300")
    ]


def test_what_a_user_says_counts_more_and_is_listed() -> None:
    laid = lay(
        {"shared_buffers": "1GB", "jit": "on", "my.colour": "secret"},
        "settings.shared_buffers=2GB", "arm.settings.jit=off", "arm.settings.my.colour=other",
    )  # fmt: skip
    study = laid.in_effect(study_of("settings.shared_buffers=2GB", "arm.settings.jit=off"))
    assert study.settings_of(study.arms[0])["jit"] == "off"
    assert study.settings_of(study.control)["jit"] == "on"
    assert study.settings["shared_buffers"] == "2GB"
    assert laid.start_settings({"jit": "off", "my.colour": "secret"}) == {"jit": "off"}
    listed = {(one.name, one.theirs, one.used, one.why) for one in laid.replaced}
    arm = "checksums=off+jit=off+my.colour=other"
    assert {
        ("shared_buffers", "1GB", "2GB", "the study says so"),
        ("jit", "on", "off", f'arm "{arm}" says so'),
        ("my.colour", "not shown", "not shown", f'arm "{arm}" says so'),
    } <= listed
    assert "secret" not in repr(laid)


def test_connections_that_do_not_hold_the_clients_are_raised_and_listed() -> None:
    laid = lay({"max_connections": "12"})
    assert laid.file["max_connections"] == "18"
    assert ("max_connections", "12", "18") in {(o.name, o.theirs, o.used) for o in laid.replaced}
    assert lay({"max_connections": "50"}).file["max_connections"] == "50"


@pytest.mark.parametrize(
    "changes",
    [
        ("settings.max_connections=500", "settings.shared_buffers=1GB"),
        ("control.settings.max_connections=500", "arm.settings.max_connections=600",
         "control.settings.shared_buffers=1GB", "arm.settings.shared_buffers=2GB"),
    ],
)  # fmt: skip
def test_what_the_study_says_of_every_arm_is_not_listed_with_a_value_that_no_server_has(
    changes: tuple[str, ...],
) -> None:
    for theirs in ({}, {"max_connections": "12", "shared_buffers": "128MB"}):
        laid = lay(theirs, "workload.clients=200", *changes)
        assert laid.file == {}
        said = {(one.name, one.used) for one in laid.replaced}
        assert said <= {
            *(("max_connections", each) for each in ("500", "600")),
            *(("shared_buffers", each) for each in ("1GB", "2GB")),
        }
    one_alone = lay({}, "workload.clients=200", "arm.settings.max_connections=500")
    assert one_alone.file["max_connections"] == "300"


@pytest.mark.parametrize(
    ("theirs", "more", "words"),
    [
        ({"wal_level": "minimal"}, (), "with wal_level = minimal no standby gets any log"),
        ({"max_wal_senders": "0"}, (), "with max_wal_senders = 0 no standby gets any log"),
        ({"max_replication_slots": "1"}, ("arm.replication.standbys=2",), "is too few for 2"),
        ({"synchronous_commit": "remote_apply"}, ("arm.replication.quorum=0",), "no standby with"),
        ({"synchronous_commit": "remote_apply"}, (), ""),
        ({"wal_level": "minimal"}, ("settings.wal_level=logical",), ""),
    ],
)
def test_standbys_that_cannot_be_had_by_settings_of_the_datas_server_are_refused(
    theirs: dict[str, str], more: tuple[str, ...], words: str
) -> None:
    changes = ("control.replication.standbys=1", "arm.replication.standbys=1", *more)
    study = lay(theirs, *changes).in_effect(study_of(*changes))
    if not words:
        require_replication(study)
        return
    with pytest.raises(StudyError, match=words) as refused:
        require_replication(study)
    assert "--set settings." in str(refused.value.hint)


def test_what_any_build_refuses_is_left_out_of_every_arm_and_a_build_is_tried_once() -> None:
    builds = Build("/18"), Build("/16", refused=("jit",))
    laid = lay({"jit": "on", "work_mem": "1MB"}, builds=builds)
    assert "jit" not in laid.file
    assert [one.what for one in laid.neutralised] == ["jit"]
    same = Build()
    lay({"jit": "on"}, builds=(same, same))
    assert same.seen == ["/18"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([], ["type --set settings.work_mem=64MB --set settings.app.tint=VALUE",
              "type --set settings.jit=off"]),
        (["settings.work_mem=64MB"],
         ["type --set settings.app.tint=VALUE", "type --set settings.jit=off"]),
        (["settings.jit=off"], ["settings.work_mem=64MB --set settings.app.tint=VALUE"]),
        (["settings.work_mem=1MB", "settings.app.tint=x", "control.settings.jit=on",
          "arm.settings.jit=off"], []),
    ],
)  # fmt: skip
def test_what_a_named_file_says_in_vain_is_doubted_until_the_study_says_it(
    changes: list[str], said: list[str]
) -> None:
    overridden = (
        Overridden("work_mem", "64MB", "the auto file"),
        Overridden("app.tint", "S3cretTok", "the auto file"),
        Overridden("jit", "off", "the line"),
    )
    settings = {"work_mem": "4MB", "app.tint": "y", "jit": "on"}
    missing = lay(settings, *changes, overridden=overridden).missing
    assert [text for text in said if text not in missing] == []
    assert missing.count("says otherwise than --config") == len(said)
    assert "S3cretTok" not in missing


@pytest.mark.parametrize(
    ("refused", "facts", "notes"),
    [
        ((), set(), []),
        (("jit",), set(), ["left out of the server's settings: jit (refused)"]),
        (("jit", "shared_buffers"),
         {("shared_buffers", "64MB", "128MB", "the server's value was left out")},
         ["left out of the server's settings: jit, shared_buffers (refused)"]),
    ],
)  # fmt: skip
def test_what_is_refused_is_named_and_no_default_of_the_server(
    refused: tuple[str, ...], facts: set[tuple[str, ...]], notes: list[str]
) -> None:
    printed, build = Notes(), Build(refused=refused)
    theirs = {"jit": "on", "shared_buffers": "64MB", "max_connections": "300"}
    laid = lay(theirs, builds=(build, build), notes=printed)
    assert {(one.name, one.theirs, one.used, one.why) for one in laid.replaced} == facts
    assert printed.notes == notes


def test_shared_buffers_that_two_servers_cannot_have_at_once_are_refused_with_what_to_type() -> (
    None
):
    with pytest.raises(StudyError, match="cannot hold the shared_buffers of 2 servers") as refused:
        lay({"shared_buffers": "5GB"})
    hint = str(refused.value.hint)
    assert "--set settings.shared_buffers=3276MB" in hint
    assert "--set layout=turns" in hint
    assert lay({"shared_buffers": "5GB"}, "settings.shared_buffers=3276MB").file
    assert lay({}).file["shared_buffers"] == "128MB"


def test_huge_pages_that_are_not_there_for_every_arm_are_left_out() -> None:
    wanted = {"huge_pages": "on", "shared_buffers": "1GB"}
    laid = lay(wanted, laboratory=machine(pages=600))
    assert "huge_pages" not in laid.file
    assert laid.neutralised[0].what == "huge_pages"
    assert lay(wanted, laboratory=machine(pages=1200)).file["huge_pages"] == "on"


def test_settings_that_are_missing_are_said_before_anything_is_copied() -> None:
    notes = Notes()
    laid = lay({}, missing="type --config X", notes=notes)
    assert notes.threats == [("settings not the server's", "type --config X")]
    assert (notes.notes, laid.missing, laid.replaced) == ([], "type --config X", ())


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [("work_mem", "13MB", "13MB"), ("jit", "off", "off"), ("seed", "-1.5", "-1.5"),
     ("archive_command", "cp", "not shown"), ("my.pin", "1234", "not shown")],
)  # fmt: skip
def test_numbers_and_switches_of_the_server_alone_are_shown(
    name: str, value: str, shown: str
) -> None:
    assert shown_value(name, value) == shown
