"""Studies are read with every default, changed by overrides, and refused with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.study.change import Change
from steelyard.study.read import builtin_studies, read_study, write_study
from steelyard.workloads.reading.resolved import resolve_workload

MINIMAL = """
title = "t"
question = "q"
[control]
name = "a"
[arm]
name = "b"
"""


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    file = tmp_path / "mine.toml"
    file.write_text(MINIMAL)
    return file


@pytest.mark.parametrize("name", sorted(builtin_studies()))
def test_a_written_study_reads_back_unchanged(name: str, tmp_path: Path) -> None:
    kept = read_study(name)
    arm = f"arm.{kept.arms[0].role or kept.arms[0].name}" if len(kept.arms) > 1 else "arm"
    if kept.factors is not None:  # they make the arms
        arm = "factors.checksums.checked"
    study = read_study(name, [f"{arm}.settings.work_mem=4MB", 'control.settings.my.setting=a"b'])
    file = tmp_path / "study.toml"
    file.write_text(write_study(study))
    assert read_study(str(file)) == study


def test_the_built_in_studies_are_those_that_are_promised() -> None:
    promised = {"aa", "builds", "calibrate", "checksums", "checksums-rw", "settings"}
    promised |= {"versions"}
    assert promised <= set(builtin_studies())


def test_checksums_compares_on_with_off_where_pages_are_really_read() -> None:
    study = read_study("checksums")
    assert (study.control.checksums, study.arms[0].checksums) == (True, False)
    assert study.settings["shared_buffers"] == "128MB"
    assert study.workload.scale == 50
    assert study.budget.measuring == 120 * 10**9


def test_overrides_reach_every_table(minimal: Path) -> None:
    study = read_study(
        str(minimal),
        [
            "workload.scale=7",
            "arm.settings.wal_compression=pglz",
            "arm.settings.jit=false",
            "settings.pg_stat_statements.max=100",
            "budget.measuring=45s",
            "decision.margin=2%",
        ],
    )
    assert study.workload.scale == 7
    assert study.arms[0].settings == {"wal_compression": "pglz", "jit": "off"}
    assert study.settings == {"pg_stat_statements.max": "100"}
    assert study.budget.measuring == 45 * 10**9
    assert study.decision.margin == 0.02


@pytest.mark.parametrize(
    "value", ["1.10", "0x10", "1_000", "1e3", "007", "+1", "1979-05-27", "5min"]
)
def test_a_setting_is_what_was_typed(minimal: Path, value: str) -> None:
    study = read_study(str(minimal), [f"arm.settings.random_page_cost={value}"])
    assert study.arms[0].settings == {"random_page_cost": value}
    minimal.write_text(write_study(study))
    assert read_study(str(minimal)) == study


@pytest.mark.parametrize("value", ["1.10", "1e3", "4.0"])
def test_a_number_of_a_file_keeps_its_letters_as_a_setting(minimal: Path, value: str) -> None:
    minimal.write_text(minimal.read_text() + f"[settings]\nseq_page_cost = {value}\n")
    assert read_study(str(minimal)).settings["seq_page_cost"] == value


@pytest.mark.parametrize(
    ("key", "value"), [("arm.name", "18"), ("question", "5"), ("arm.version", "18.10")]
)
def test_a_text_may_look_like_a_number(minimal: Path, key: str, value: str) -> None:
    study = read_study(str(minimal), [f"{key}={value}"])
    arm = study.arms[0]
    assert {"arm.name": arm.name, "question": study.question, "arm.version": arm.version}[
        key
    ] == value


def test_a_memory_cap_has_a_unit_and_is_kept_in_bytes(minimal: Path) -> None:
    assert read_study(str(minimal)).memory is None
    study = read_study(str(minimal), ["memory=2GB", "bound=storage"])
    assert (study.memory, study.bound) == (2 << 30, "storage")
    minimal.write_text(write_study(study))
    assert 'memory = "2GB"' in minimal.read_text()
    assert read_study(str(minimal)) == study


@pytest.mark.parametrize("listed", ["[[arms]]", "[arms]"])
def test_arms_may_be_listed_as_json_lists_them(tmp_path: Path, listed: str) -> None:
    for name, header in (("ours", "[arm]"), ("theirs", listed)):
        (tmp_path / f"{name}.toml").write_text(MINIMAL.replace("[arm]", header))
    changes = ["arm.settings.jit=off", "version=17"]
    ours, theirs = (
        read_study(str(tmp_path / f"{name}.toml"), ["name=x", *changes])
        for name in ("ours", "theirs")
    )
    assert theirs == ours
    assert [arm.version for arm in theirs.every_arm] == ["17", "17"]


def test_arms_that_are_listed_by_two_words_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(MINIMAL + '[[arms]]\nname = "c"\n')
    with pytest.raises(StudyError, match=r'mine\.toml: "arm" and "arms"') as refused:
        read_study(str(file))
    assert "[[arm]]" in (refused.value.hint or "")


def test_an_override_names_its_arm_where_there_are_several(tmp_path: Path) -> None:
    file = tmp_path / "three.toml"
    file.write_text(MINIMAL.replace("[arm]", "[[arm]]") + '[[arm]]\nname = "c"\n')
    study = read_study(str(file), ["arm.c.settings.jit=off"])
    assert [arm.settings for arm in study.arms] == [{}, {"jit": "off"}]
    with pytest.raises(StudyError, match="does not say which arm"):
        read_study(str(file), ["arm.settings.jit=off"])


def test_a_file_is_named_where_it_holds_what_is_wrong_and_no_override_wrote_it(
    minimal: Path,
) -> None:
    minimal.write_text(MINIMAL + "[workload]\nscale = 0\n")
    with pytest.raises(
        StudyError, match=r'^error: mine\.toml: invalid value for "workload\.scale"'
    ):
        read_study(str(minimal), ["workload.clients=3"])
    with pytest.raises(StudyError, match=r'^error: invalid value for "workload\.scale"'):
        read_study(str(minimal), ["workload.scale=-1"])
    with pytest.raises(StudyError, match=r'^error: invalid value for "budget\.measuring"'):
        read_study("checksums", ["budget.measuring=5s"])


def test_a_record_directory_can_be_named_in_place_of_its_study(minimal: Path) -> None:
    (minimal.parent / "study.toml").write_text(MINIMAL)
    assert read_study(str(minimal.parent)).control.name == "a"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["workload.scal=3"], ['error: unrecognized key: "workload.scal"', '"scale"']),
        (
            ["arm.weight.twice=3%"],
            [
                'error: unrecognized key: "arm.weight.twice": "twice" is now "double_work"',
                'HINT:  Write "arm.weight.double_work".',
            ],
        ),
        (["control.weight.stall_worth=3%"], ['"stall_worth" is now "stall_share"']),
        (["workload.aside=['rf1']"], ['"aside" is now "excluded"', '"workload.excluded"']),
        (["arm.setings.jit=off"], ['unrecognized key: "arm.setings"', '"settings"']),
        (["workload.scale=0"], ['invalid value for "workload.scale"']),
        (["budget.measuring=soon"], ['invalid value for "budget.measuring"', "accepted: 50ms"]),
        (["budget.measuring=5s"], ['invalid value for "budget.measuring"']),
        (["decision.margin=60%"], ['invalid value for "decision.margin"']),
        (["memory=lots"], ['invalid value for "memory"', "accepted: 64kB, 200MB, 1.5GB"]),
        (["memory=0"], ['invalid value for "memory"']),
        (["memory=true"], ['invalid value for "memory"', "accepted: 64kB"]),
        (["memory=1.5"], ['invalid value for "memory"', "accepted: 64kB"]),
        (["arm.memory=2GB"], ['unrecognized key: "arm.memory"']),
        (["bound=cpu"], ['invalid value for "bound"']),
        (["arm.name=a"], ["two arms have one name"]),
        (["placement=everywhere"], ['invalid value for "placement"']),
        (["workload.scale"], ["invalid override"]),
        (["title.x=1"], ['"title" in override "title.x=1" is not a table']),
    ],
)
def test_a_bad_value_names_file_and_key(
    minimal: Path, overrides: list[str], expected: list[str]
) -> None:
    with pytest.raises(StudyError) as failure:
        read_study(str(minimal), overrides)
    assert failure.value.exit_status == 2
    for words in expected:
        assert words in str(failure.value)


@pytest.mark.parametrize("name", ["tuning", "tuning-queries"])
def test_a_cap_can_be_taken_back(name: str) -> None:
    assert read_study(name).memory
    study = read_study(name, ["memory=none", "settings.debug_io_direct=data"])
    assert study.memory is None
    assert study.settings["debug_io_direct"] == "data"


def test_an_unknown_study_suggests_the_near_one() -> None:
    with pytest.raises(StudyError, match='unrecognized study: "chksums"') as failure:
        read_study("chksums")
    said = 'Perhaps you meant "checksums"; `steelyard studies` lists all.'
    assert failure.value.hint == said
    assert failure.value.detail is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"title = ", "cannot parse study"),
        (b"\xff\xfe", "could not read study"),
        (b'title = "t"\nquestion = "q"\n[arm]\nname = "b"\n', 'missing key: "control"'),
    ],
)
def test_a_damaged_file_is_refused_with_its_name(
    tmp_path: Path, content: bytes, words: str
) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(StudyError, match=words) as failure:
        read_study(str(file))
    assert "bad.toml" in failure.value.primary


def test_sql_is_a_statement_or_several_and_a_declared_difference(minimal: Path) -> None:
    one = read_study(str(minimal), ["arm.sql=VACUUM t"])
    assert one.arms[0].sql == ("VACUUM t",)
    several = read_study(str(minimal), ['sql=["SELECT 1"]', 'arm.sql=["A \'b\'", "C \\"d\\""]'])
    assert several.sql_of(several.arms[0]) == ("SELECT 1", "A 'b'", 'C "d"')
    assert several.sql_of(several.control) == ("SELECT 1",)
    assert several.declared_differences(several.arms[0]) == {"sql"}
    assert several.differences_outside_settings(several.arms[0]) == [
        ("sql", "none", "A 'b'; C \"d\"")
    ]
    file = minimal.with_name("again.toml")
    file.write_text(write_study(several))
    assert read_study(str(file)).model_copy(update={"name": "mine"}) == several


def test_texts_of_several_lines_are_written_and_read_back(minimal: Path) -> None:
    study = read_study(str(minimal), ['workload.texts={ "look" = "SELECT 1;\\nSELECT \\"a\\";" }'])
    assert study.workload.texts == {"look": 'SELECT 1;\nSELECT "a";'}
    file = minimal.with_name("again.toml")
    file.write_text(write_study(study))
    assert read_study(str(file)).workload == study.workload


@pytest.mark.parametrize("name", sorted(builtin_studies()))
def test_scripts_of_an_override_are_driven_in_place_of_those_of_any_study(
    name: str, tmp_path: Path
) -> None:
    (script := tmp_path / "mine.sql").write_text("SELECT 1;\n")
    study = read_study(name, [Change("workload.scripts", {str(script): 1})])
    chosen = resolve_workload(study).workload
    assert chosen.scripts == {str(script): 1}
    assert (chosen.texts, chosen.streams, chosen.excluded) == ({}, (), ())


SCRIPTED = """
[workload]
scripts = { "a" = 1, "b" = 2 }
streams = [["a", "b"]]
excluded = ["b"]
[workload.texts]
a = "SELECT 1;"
b = "SELECT 2;"
"""


@pytest.mark.parametrize(
    ("changes", "texts", "streams"),
    [
        (["workload.clients=3"], {"a", "b"}, (("a", "b"),)),
        (['workload.scripts={"a" = 5}'], {"a"}, ()),
        (['workload.scripts={"b" = 1, "a" = 1}'], {"a", "b"}, (("a", "b"),)),
        (['workload.scripts={"c" = 1}', "workload.texts.c=SELECT 3;"], {"c"}, ()),
        (["workload.texts.c=SELECT 3;", 'workload.scripts={"a" = 1}'], {"a", "c"}, ()),
        (['workload.scripts={"a" = 1}', 'workload.streams=[["a"]]'], {"a"}, (("a",),)),
    ],
)
def test_an_override_of_scripts_leaves_what_it_drives_and_what_overrides_say(
    tmp_path: Path, changes: list[str], texts: set[str], streams: tuple[tuple[str, ...], ...]
) -> None:
    file = tmp_path / "scripted.toml"
    file.write_text(MINIMAL + SCRIPTED)
    workload = read_study(str(file), changes).workload
    assert {*workload.texts} == texts
    assert workload.streams == streams


@pytest.mark.parametrize("streams", ["5", '"a"', "[5]", "[[[5]]]"])
def test_streams_that_are_none_are_refused_with_their_key(tmp_path: Path, streams: str) -> None:
    file = tmp_path / "scripted.toml"
    file.write_text(f"{MINIMAL}[workload]\nstreams = {streams}\n")
    with pytest.raises(StudyError, match=r"workload\.streams"):
        read_study(str(file), ['workload.scripts={"a" = 1}'])


def test_a_need_that_there_is_not_is_refused_with_those_that_there_are(minimal: Path) -> None:
    with pytest.raises(StudyError, match=r'invalid value for "needs\.0": input should be'):
        read_study(str(minimal), ['needs=["gpu"]'])


def test_backends_behind_a_pooler_are_not_placed(minimal: Path) -> None:
    with pytest.raises(StudyError, match='needs placement = "free"'):
        read_study(str(minimal), ["arm.connect=pgbouncer"])
    free = read_study(str(minimal), ["arm.connect=pgbouncer", "placement=free"])
    assert free.declared_differences(free.arms[0]) == {"connect"}


def test_settings_of_a_built_in_study_lie_beneath_those_of_the_data_unless_somebody_said_them(
    minimal: Path,
) -> None:
    assert read_study("checksums").settings == {"shared_buffers": "128MB", "max_connections": "300"}
    study = read_study("checksums", ["source=/data", "settings.shared_buffers=128MB"])
    assert study.source is not None
    assert study.settings == {"shared_buffers": "128MB"}
    assert study.source.beneath == {"max_connections": "300"}
    text = write_study(study)
    minimal.write_text(text)
    assert read_study(str(minimal)) == study
    own = read_study(str(minimal), ["settings.work_mem=1MB"])
    assert own.settings == {"shared_buffers": "128MB", "work_mem": "1MB"}


def test_a_setting_among_the_keys_of_an_arm_says_where_it_belongs() -> None:
    with pytest.raises(StudyError) as failure:
        read_study("settings", ["arm.random_page_cost=2"])
    assert failure.value.hint == "A setting of the server is arm.settings.random_page_cost."


OWN = """
title = "t"
question = "q"
control = { name = "a", settings = { jit = "on" } }
arm = [
    { name = "b", settings = { JIT = "off", work_mem = "1MB" } },
    { name = "c", settings = { jit = "off" } },
]
"""


@pytest.mark.parametrize(
    ("study", "changes", "hint"),
    [
        (OWN, ["settings.jit=off"], "--set control.settings.jit=VALUE --set arm.b.settings.jit="),
        (OWN, ["settings.Jit=on"], "--set arm.c.settings.jit=VALUE"),
        (OWN, ["settings.work_mem=2MB", "settings.jit=off"], "--set control.settings.jit=VALUE"),
        (
            MINIMAL,
            ["control.settings.jit=on", "arm.settings.jit=off", "settings.jit=on"],
            "--set control.settings.jit=VALUE --set arm.settings.jit=VALUE",
        ),
        ("factorial", ["settings.full_page_writes=off"], "factors"),
        ("factorial", ["control.settings.jit=on", "settings.jit=off"], "[control]"),
    ],
)
def test_a_setting_of_all_arms_is_refused_where_each_sets_it_itself(
    minimal: Path, study: str, changes: list[str], hint: str
) -> None:
    if study in (OWN, MINIMAL):
        minimal.write_text(study)
        study = str(minimal)
    with pytest.raises(StudyError, match=r'override "settings\.\w+" has no effect') as refused:
        read_study(study, changes)
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("changes", "jit"),
    [
        (["settings.work_mem=2MB"], ["on", "off", "off"]),
        (["settings.jit=on", "arm.b.settings.jit=on", "arm.c.settings.jit=on"], ["on"] * 3),
    ],
)
def test_it_is_none_where_an_arm_has_it_or_all_set_the_same(
    minimal: Path, changes: list[str], jit: list[str]
) -> None:
    minimal.write_text(OWN)
    study = read_study(str(minimal), changes)
    assert [study.settings_of(arm)["jit"] for arm in study.every_arm] == jit
