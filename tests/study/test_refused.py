"""What a study says for no arm, and a share without its unit, is refused and not guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.model.errors import StudyError
from steelyard.study.change import toml_text
from steelyard.study.read import read_recorded_study, read_study, write_study

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


ANSWER = """
[answer.{}]
subject = "the treatment"
"""


@pytest.mark.parametrize(
    ("arm", "name", "hint"),
    [
        ('name = "b"', "b", ""),
        ("checksums = false", "arm", ""),
        ('name = "b"', "bb", 'Perhaps you meant "answer.b".'),
        ("checksums = false", "amr", 'Perhaps you meant "answer.arm".'),
        ('name = "b"', "a", None),
    ],
)
def test_words_for_what_is_no_arm_are_refused_with_the_near_one(
    minimal: Path, arm: str, name: str, hint: str | None
) -> None:
    minimal.write_text(MINIMAL.replace('name = "b"', arm) + ANSWER.format(name))
    if hint == "":
        assert read_study(str(minimal)).answer.keys() == {name}
        return
    with pytest.raises(StudyError, match=rf'^error: mine\.toml: .* "answer\.{name}"') as refused:
        read_study(str(minimal))
    assert refused.value.hint == hint
    (minimal.parent / "plan.json").write_text("{}")
    recorded = minimal.rename(minimal.with_name("study.toml"))
    assert read_study(str(recorded)).answer == {}, "of a record, whose arms may be fewer"


@pytest.mark.parametrize(
    ("study", "changes"),
    [
        ("wal-compression", ["arm.settings.wal_compression=pglz"]),  # the others are left out
        ("checksums", ["arm.name=plain"]),
        ("checksums", ["answer.off.plural=false"]),
    ],
)
def test_words_for_arms_that_overrides_leave_out_or_rename_are_no_error(
    study: str, changes: list[str], tmp_path: Path
) -> None:
    (file := tmp_path / "mine.toml").write_text(write_study(read_study(study, changes)))
    assert read_study(str(file)).arms == read_study(study, changes).arms
    with pytest.raises(StudyError, match=r'unrecognized key: "answer\.of": it names no arm'):
        read_study(study, [*changes, "answer.of.subject=x"])


@pytest.mark.parametrize(
    "key", ["decision.margin", "arm.weight.double_work", "control.weight.stall_share"]
)
@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("0.02", '0.02 has no unit: "2%", or "0.02%"'),
        ("0.3", '0.3 has no unit: "30%", or "0.3%"'),
        ("1e-3", '0.001 has no unit: "0.1%", or "0.001%"'),
        ("2", "2 has no unit: 2%"),
    ],
)
def test_a_share_without_a_unit_is_not_guessed(
    minimal: Path, key: str, number: str, words: str
) -> None:
    table, _, name = key.rpartition(".")
    in_file = f"{MINIMAL}[{table}]\n{name} = {number}\n"
    for text, changes in ((MINIMAL, [f"{key}={number}"]), (in_file, [])):
        minimal.write_text(text)
        with pytest.raises(StudyError) as refused:
            read_study(str(minimal), changes)
        assert refused.value.primary.endswith(f'invalid value for "{key}": {words}')


def test_an_older_record_has_bare_shares_and_what_is_typed_beside_it_has_none(
    tmp_path: Path,
) -> None:
    (tmp_path / "plan.json").write_text("{}")
    file = tmp_path / "study.toml"
    file.write_text(f"{MINIMAL}[decision]\nmargin = 0.02\n")
    assert read_study(str(file)).decision.margin == 0.02
    assert read_recorded_study(file).decision.margin == 0.02
    with pytest.raises(StudyError, match="has no unit"):
        read_study(str(file), ["decision.margin=0.03"])


@pytest.mark.parametrize("percent", ["1", "2.5", "1.1", "0.07", "7", "12.345", "33.3", "0.0001"])
def test_a_share_is_written_in_percent_and_reads_back(minimal: Path, percent: str) -> None:
    changes = [f"{key}={percent}%" for key in ("decision.margin", "arm.weight.double_work")]
    study = read_study(str(minimal), changes)
    minimal.write_text(write_study(study))
    assert f'margin = "{percent}%"' in minimal.read_text()
    assert read_study(str(minimal)) == study


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("work_mem = 64MB", 'work_mem = "64MB"'),
        ("jit = off  # for now", 'jit = "off"'),
        ("log_line_prefix = %m [%p]", 'log_line_prefix = "%m [%p]"'),
        ("'auto_explain.log_min_duration' = 5min", "'auto_explain.log_min_duration' = \"5min\""),
        ("app.token = abc", 'app.token = "…"'),
        ("work_mem 64MB", None),
        ("jit = 'off'\njit = 'on'", None),
        ("jit = 'off", None),
        ("jit =", None),
    ],
)
def test_a_value_without_its_quotes_is_shown_with_them(
    minimal: Path, line: str, hint: str | None
) -> None:
    """As files of servers have them: the most common mistake in a study."""
    minimal.write_text(f"{MINIMAL}[arm.settings]\n{line}\n[workload]\n")
    with pytest.raises(StudyError, match="cannot parse study") as refused:
        read_study(str(minimal))
    shown = refused.value.hint
    assert shown == (
        None if hint is None else f"Texts, and values with a unit, stand in quotes: {hint}"
    )
    if hint is not None and "…" not in hint:
        minimal.write_text(f"{MINIMAL}[arm.settings]\n{hint}\n")
        assert len(read_study(str(minimal)).arms[0].settings) == 1


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("settings = { work_mem = 64MB, jit = off, geqo = true, a.b = 5 }",
         'settings = { work_mem = "64MB", jit = "off", geqo = true, a.b = 5 }'),
        ("settings={work_mem=64MB}", 'settings={work_mem="64MB"}'),
        ('settings = { search_path = "a, b", jit = off }',
         'settings = { search_path = "a, b", jit = "off" }'),
        ('settings = { work_mem = "64MB" } }', None),
        ('settings = { work_mem "64MB" }', None),
    ],
)  # fmt: skip
def test_a_value_without_its_quotes_in_a_table_on_one_line_is_too(
    minimal: Path, line: str, hint: str | None
) -> None:
    minimal.write_text(f"{MINIMAL}{line}\n")
    with pytest.raises(StudyError, match="cannot parse study") as refused:
        read_study(str(minimal))
    expected = hint and f"Texts, and values with a unit, stand in quotes: {hint}"
    assert refused.value.hint == expected


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("arm.needs=lz4", 'it is a list: ["lz4"]'),
        ("workload.clients=8,16", "accepted: a whole number"),
        ("workload.clients=auto", "accepted: a whole number"),
        ("arm.checksums=disabled", "accepted: true, false"),
        ("workload.pace=fast", "accepted: a number"),
    ],
)
def test_a_value_of_another_kind_is_refused_with_what_is_accepted(
    minimal: Path, change: str, words: str
) -> None:
    with pytest.raises(StudyError) as refused:
        read_study(str(minimal), [change])
    assert words in refused.value.primary


@pytest.mark.parametrize("key", ["title", "question"])
def test_words_that_every_study_has_are_asked_for(minimal: Path, key: str) -> None:
    lines = [line for line in MINIMAL.splitlines() if not line.startswith(key)]
    minimal.write_text("\n".join(lines))
    with pytest.raises(StudyError, match=f'missing key: "{key}"') as refused:
        read_study(str(minimal))
    assert f'{key} = "' in (refused.value.hint or "")


def test_all_that_is_missing_is_named_at_once(minimal: Path) -> None:
    minimal.write_text("[arm]\nsettings.jit = 'off'\n")
    with pytest.raises(StudyError, match='missing keys: "title", "question", "control"') as refused:
        read_study(str(minimal))
    for line in ('title = "', 'question = "', "[control]"):
        assert line in (refused.value.hint or "")


@pytest.mark.parametrize("name", ["a b", "größer", "-x", "a,b", "x\n"])
def test_a_name_that_no_arm_can_have_is_refused_in_words(minimal: Path, name: str) -> None:
    with pytest.raises(StudyError, match=r'"arm\.name": an arm is called by letters') as refused:
        read_study(str(minimal), [f"arm.name={toml_text(name)}"])
    assert "without spaces" in str(refused.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", ['missing keys: "control", "arm"', "Write [control]", "Write [[arm]]"]),
        ("[control]\n", ['missing key: "arm"', "Write [[arm]]"]),
        ("[control]\n[arm]\nsettings = 'jit = off'\n", ["Write arm.settings = { NAME = VALUE }"]),
        ("[control]\n[arm]\n[workload]\nscripts = ['a']\n", ["Write workload.scripts = {"]),
    ],
)
def test_what_is_no_table_or_missing_is_refused_with_what_to_write(
    minimal: Path, table: str, words: list[str]
) -> None:
    minimal.write_text(f'title = "t"\nquestion = "q"\n{table}')
    with pytest.raises(StudyError) as refused:
        read_study(str(minimal))
    assert all(each in str(refused.value) for each in words)


BUILDS = ["control.bindir=/a/bin", "arm.bindir=/b/bin"]
AT_ADDRESS = ["address=host=db1 dbname=shop", "settings={}", "arm.settings.jit=off"]


@pytest.mark.parametrize(
    ("study", "changes", "origin"),
    [
        ("builds", [*BUILDS, "version=17"], "the build in its bindir"),
        ("builds", [*BUILDS, "arm.version=17"], "the build in its bindir"),
        ("versions", ["control.bindir=/a/bin", "control.version=17"], "the build in its bindir"),
        ("upgrade", ["arm.after.bindir=/b", "arm.after.version=17"], "the build in its bindir"),
        ("sessions", [*AT_ADDRESS, "version=17"], "the server at its address"),
        ("sessions", [*AT_ADDRESS, "control.version=17"], "the server at its address"),
        ("versions", ["control.bindir=/a/bin", "version=17"], ""),
        ("versions", ["control.bindir=/a/bin", "arm.version=17"], ""),
        ("builds", [*BUILDS, "arm.settings.version=17"], ""),
        ("upgrade", ["arm.after.bindir=/b", "arm.checksums.version=17"], ""),
    ],
)
def test_a_version_that_would_count_for_no_arm_is_refused(
    study: str, changes: list[str], origin: str
) -> None:
    """Swept, or in a matrix, every point would be of the same servers."""
    if not origin:
        read_study(study, changes)
        return
    with pytest.raises(StudyError, match=f"has no effect: an arm has the version of {origin}"):
        read_study(study, changes)
