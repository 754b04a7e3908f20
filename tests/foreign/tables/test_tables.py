"""Tables are told apart by what stands in them: an arm a column, an arm a row, or one arm."""

from __future__ import annotations

import pytest

from foreign.reading import arms_of, only, refusal, sheet_of
from steelyard.foreign.series import Order, Rows
from steelyard.foreign.tables.row_times import order_of
from steelyard.model.errors import NumbersError, UsageError


def test_a_column_an_arm() -> None:
    sheet = sheet_of("NONE,TORN\n991,1068\n1010,979\n")
    assert arms_of(sheet) == {"NONE": [991, 1010], "TORN": [1068, 979]}
    assert (sheet.rows, sheet.order, sheet.lines) == (Rows.BESIDE, Order.UNKNOWN, (2, 3))


def test_a_table_without_headings_numbers_its_arms() -> None:
    assert list(arms_of(sheet_of("1,2\n3,4\n"))) == ["column 1", "column 2"]


@pytest.mark.parametrize("name", ["rep", "run", "#", ""])
def test_a_column_that_counts_the_rows_is_no_arm(name: str) -> None:
    sheet = sheet_of(f"{name},off,on\n1,5,6\n2,7,8\n3,5,5\n")
    assert list(arms_of(sheet)) == ["off", "on"]
    assert "counts the rows" in sheet.notes[0]


def arms_in_columns(names: str) -> str:
    count = names.count(",") + 1
    rows = [",".join(f"{100 + k * 7 % 5}.{n}5" for n in range(count)) for k in range(6)]
    return "\n".join([names, *rows]) + "\n"


@pytest.mark.parametrize(
    "names",
    [
        "off_1,off_2,on_1,on_2",
        "off_1,on_1,off_2,on_2,off_3,on_3",
        "pg16 #1 (ms),pg16 #2 (ms),pg17 #1 (ms),pg17 #2 (ms)",
        "off run 1,off run 2,on run 1,on run 2",
        "run1_off,run2_off,run1_on,run2_on",
        "off0,off1,off2,on0,on1,on2",
        "off (1),off (2),on (1),on (2),on (3)",
    ],
)
def test_numbered_repetitions_of_arms_are_no_arms_of_their_own(names: str) -> None:
    assert "are numbered as repetitions are, and would each be an arm" in refusal(
        arms_in_columns(names)
    )


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("count", [3, 8, 12])
@pytest.mark.parametrize("head", ["tps", "query", "ms"])
def test_numbered_columns_are_repetitions_and_no_arms(head: str, count: int, first: int) -> None:
    names = [head, *map(str, range(first, first + count))]
    rows = [",".join([arm, *(f"{9.5 + k * 7 % 5}" for k in range(count))]) for arm in ("a", "b")]
    assert "numbered as repetitions" in refusal("\n".join([",".join(names), *rows]) + "\n")


@pytest.mark.parametrize("heads", ["15,16,17", "1,2,4,8", "2,3,4", "1,2"])
def test_versions_and_steps_may_be_arms(heads: str) -> None:
    count = heads.count(",") + 1
    rows = [",".join(f"{1009.5 + (k + c) * 7 % 5}" for c in range(count)) for k in range(6)]
    assert list(arms_of(sheet_of("\n".join([heads, *rows]) + "\n"))) == heads.split(",")


@pytest.mark.parametrize(
    "names",
    [
        *("pg16,pg17,pg18", "a_1,a_2,a_3", "off_1,on_1", "pg16.1,pg16.2,pg17.1,pg17.2"),
        *("x0_y0,x0_y1,x1_y0,x1_y1", "off_8,off_16,on_8,on_16", "c1,c2,c3,master"),
    ],
)
def test_numbers_may_be_of_the_names_of_arms(names: str) -> None:
    assert list(arms_of(sheet_of(arms_in_columns(names)))) == names.split(",")


def test_empty_cells_at_the_end_make_a_shorter_arm() -> None:
    sheet = sheet_of("off,on\n1,2\n3,4\n5,\n")
    assert arms_of(sheet) == {"off": [1, 3, 5], "on": [2, 4]}
    assert sheet.rows is Rows.APART


def test_names_of_rows_pair_them_and_are_no_times() -> None:
    sheet = sheet_of("query,off,on\nQ1,10,11\nQ2,200,190\nQ3,3,4\n")
    assert (sheet.rows, sheet.ordered) == (Rows.BLOCKS, False)
    assert sheet.row_names == ("Q1", "Q2", "Q3")


def test_headings_may_hold_the_unit_and_the_metric() -> None:
    assert sheet_of("off (ms),on (ms)\n1,2\n").metrics[0][0].unit == "ms"
    assert list(arms_of(sheet_of("off (ms),on (ms)\n1,2\n"))) == ["off", "on"]
    assert sheet_of("tps_off,tps_on\n1,2\n").metrics[0][0].higher_is_better is True
    said = refusal("off (ms),on (s)\n1,2\n")
    assert said == '"f.txt" line 2, column 3: mixed units: s after ms'


def test_the_long_form_names_the_arm_in_every_row() -> None:
    sheet = sheet_of("arm,tps\noff,10\non,11\noff,12\non,13\n")
    assert arms_of(sheet) == {"off": [10, 12], "on": [11, 13]}
    assert (sheet.rows, sheet.order) == (Rows.APART, Order.UNKNOWN)
    assert sheet.metrics[0][0].unit == "transactions/s"


def test_a_column_of_words_that_come_again_is_the_arm_whatever_it_is_called() -> None:
    sheet = sheet_of("what,number\na,1\nb,2\na,3\nb,4\n")
    assert arms_of(sheet) == {"a": [1, 3], "b": [2, 4]}


def test_blocks_pair_rows_in_whatever_order_they_stand() -> None:
    sheet = sheet_of("arm,value,block\noff,1,x\non,20,y\noff,2,y\non,10,x\n")
    assert arms_of(sheet) == {"off": [1, 2], "on": [10, 20]}
    assert (sheet.rows, sheet.row_names) == (Rows.BLOCKS, ("x", "y"))


def test_several_rows_of_an_arm_in_a_block_count_as_their_geometric_mean() -> None:
    sheet = sheet_of("arm,value,block\noff,2,1\noff,8,1\non,5,1\noff,3,2\non,6,2\n")
    assert arms_of(sheet) == {"off": [pytest.approx(4), 3], "on": [5, 6]}


def test_blocks_with_an_arm_missing_pair_nothing_and_say_so() -> None:
    sheet = sheet_of("arm,value,block\noff,1,1\non,2,1\noff,3,2\n")
    assert sheet.rows is Rows.APART
    assert "does not hold every arm" in sheet.apart


def test_rows_are_put_into_the_order_of_their_times() -> None:
    sheet = sheet_of("time,arm,s\n3,off,30\n1,off,10\n4,on,40\n2,on,20\n")
    assert arms_of(sheet) == {"off": [10, 30], "on": [20, 40]}
    assert sheet.order is Order.ALTERNATING
    dated = sheet_of("date,arm,s\n2026-01-02,off,2\n2026-01-01T10:00,off,1\n2026-01-03,on,3\n")
    assert arms_of(dated)["off"] == [1, 2]
    assert dated.order is Order.SEQUENTIAL


def test_orders_are_told_by_how_often_the_arm_changes() -> None:
    assert order_of(["a"] * 10 + ["b"] * 10) is Order.SEQUENTIAL
    assert order_of((["a"] * 10 + ["b"] * 10) * 2) is Order.SEQUENTIAL
    assert order_of(["a", "b"] * 10) is Order.ALTERNATING
    assert order_of(["a", "b", "b", "a", "a", "b", "a", "b"]) is Order.ALTERNATING


def test_one_value_an_arm_with_its_clients() -> None:
    sheet = sheet_of("arm,clients,tps,latency_ms\noff,256,879.99,267.49\non,256,853.61,271.27\n")
    assert [metric.name for metric, _ in sheet.metrics] == ["throughput", "latency_mean"]
    assert sheet.clients == {"off": 256, "on": 256}


def test_one_arm_with_a_column_a_metric() -> None:
    sheet = sheet_of("run,tps,latency_ms\n1,100,10\n2,110,9\n")
    assert only(sheet).values.tolist() == [100, 110]
    assert [metric.name for metric, _ in sheet.metrics] == ["throughput", "latency_mean"]


def test_roles_can_be_named() -> None:
    text = "host,mode,a,b\nx,off,1,5\nx,on,2,6\ny,off,3,7\ny,on,4,8\n"
    assert arms_of(sheet_of(text, arm="mode", value="b")) == {"off": [5, 7], "on": [6, 8]}
    assert sheet_of(text, arm="mode", value="b", block="host").rows is Rows.BLOCKS
    with pytest.raises(UsageError, match='unrecognized role of a column: "colour"'):
        sheet_of(text, colour="mode")
    with pytest.raises(UsageError, match='no column "speed"'):
        sheet_of(text, value="speed")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("off,off\n1,2\n", 'line 1, column 5: two columns are called "off"'),
        ("arm,s\noff,1\n,2\non,3\n", "line 3, column 1: an arm without a name"),
        ('off,on\n"1,2\n', "line 2, column 1: a quote that is not closed on its line"),
        ("when,arm,s\nsoon,off,1\nlater,on,2\nsoon,on,2\n", 'line 2, column 1: "soon" is neither'),
        ("a,b\nx,y\nz,w\n", "line 1, column 1: "),
    ],
)
def test_tables_that_say_nothing_are_refused_with_their_place(text: str, said: str) -> None:
    assert refusal(text).startswith(f'"f.txt" {said}')


def test_quotes_hold_separators() -> None:
    sheet = sheet_of('"off, old","on ""new"""\n"1",2\n3,"4"\n')
    assert arms_of(sheet) == {"off, old": [1, 3], 'on "new"': [2, 4]}


def test_too_many_columns_and_arms_are_refused() -> None:
    wide = ",".join(f"a{n}" for n in range(1_001))
    assert "1001 columns: more than 1000, the limit" in refusal(
        f"{wide}\n{','.join(['1'] * 1_001)}\n"
    )
    arms = "".join(f"a{n},1\n" for n in range(101))
    assert "names 101 arms: more than 100, the limit" in refusal(f"arm,s\n{arms}")


def test_a_first_line_of_numbers_and_names_is_no_heading() -> None:
    sheet = sheet_of("Q1,12.31,12.02\nQ2,0.812,0.79\nQ3,4.121,4.02\n")
    assert arms_of(sheet) == {"column 2": [12.31, 0.812, 4.121], "column 3": [12.02, 0.79, 4.02]}
    versions = sheet_of("query,16,17\nQ1,12.31,12.02\nQ2,0.812,0.79\n")
    assert list(arms_of(versions)) == ["16", "17"]
    loads = sheet_of("8 clients,16 clients\n900.5,990.5\n901.5,991.5\n")
    assert list(arms_of(loads)) == ["8 clients", "16 clients"]


@pytest.mark.parametrize(
    "text",
    [
        "| arm | tps |\n|-----|----:|\n| off | 9.5 |\n| on  | 8.5 |\n",
        "arm | tps\n:---|---:\noff | 9.5\n`on` | 8.5\n",
        " arm | tps\n-----+-----\n off | 9.5\n on  | 8.5\n(2 rows)\n",
        "sep=;\narm;tps\noff;9,5\non;8,5\n",
        "| arm | tps |\n|---|---|\n| **off** | 9.5 |\n| on | **8.5** |\n",
        " arm │ tps \n─────┼─────\n off │ 9.5\n on  │ 8.5\n(2 rows)\n",
        "┌─────┬─────┐\n│ arm │ tps │\n├─────┼─────┤\n│ off │ 9.5 │\n│ on  │ 8.5 │\n└─────┴─────┘",
        "╔═════╦═════╗\n║ arm ║ tps ║\n╠═════╬═════╣\n║ off ║ 9.5 ║\n║ on  ║ 8.5 ║\n╚═════╩═════╝",
        "arm|tps\noff|9.5\non|8.5\n(2 rows)\n",
        "arm  tps \n---- ----\noff   9.5\non    8.5\n\n(2 rows affected)\n",
    ],
    ids=[
        *("Markdown", "Markdown without bars", "psql", "Excel", "bold", "psql, unicode"),
        *("psql, unicode, border 2", "psql, double lines", "psql -A", "sqlcmd"),
    ],
)
def test_frames_of_tables_are_no_cells(text: str) -> None:
    assert arms_of(sheet_of(text)) == {"off": [9.5], "on": [8.5]}


@pytest.mark.parametrize(
    "count",
    [
        *("(2 Zeilen)", "(2 lignes)", "(2 filas)", "(2 righe)", "(2 linhas)", "(2 rader)"),
        *("(2 wiersze)", "(2 řádky)", "(2 строки)", "(2 рядки)", "(2 satır)", "(2 行)"),
        *("(2개 행)", "(2 行记录)", "(1 row)"),
    ],
)
def test_what_psql_counts_below_a_table_is_no_row_in_any_language(count: str) -> None:
    text = f" arm | tps\n-----+-----\n off | 9.5\n on  | 8.5\n{count}\n"
    assert arms_of(sheet_of(text)) == {"off": [9.5], "on": [8.5]}


@pytest.mark.parametrize(
    "heading",
    ["latency (ms)", "Execution Time (ms)", "avg response time", "read tps", "p99 lat ms"],
)
@pytest.mark.parametrize("unit", ["", " ms"])
def test_a_heading_of_several_words_may_stand_above_one_column(heading: str, unit: str) -> None:
    unit = "" if "tps" in heading else unit
    assert only(sheet_of(f"{heading}\n9.5{unit}\n8.25{unit}\n")).values.tolist() == [9.5, 8.25]


@pytest.mark.parametrize("text", ["off on\n9\n8\n", "latency ms\n9 5\n8 4\n6\n"])
def test_rows_that_lack_a_cell_are_refused_under_headings_of_arms(text: str) -> None:
    assert "where the first line has 2" in refusal(text)


@pytest.mark.parametrize(
    ("text", "place", "typed"),
    [
        ("arm,tps\noff,9\non,8\narm,tps\noff,9\non,7\n", "line 4, column 1: the heading", "off=a"),
        ('query,ms\n"select 1,\n 2",9\n', "line 2, column 1: a quote that is not", "replace(query"),
        ("Elapsed time was: 5 s\nand that was all\nof it\n", "line 3, ", "arm,ms"),
    ],
)
def test_what_is_no_table_is_refused_with_what_to_type(text: str, place: str, typed: str) -> None:
    with pytest.raises(NumbersError) as refused:
        sheet_of(text)
    assert place in refused.value.primary
    assert typed in str(refused.value.hint)


def test_rows_that_come_again_are_no_headings() -> None:
    assert arms_of(sheet_of("off,5\non,6\noff,5\non,6\n")) == {"off": [5, 5], "on": [6, 6]}
    assert arms_of(sheet_of("5,6\n5,6\n7,8\n")) == {"column 1": [5, 5, 7], "column 2": [6, 6, 8]}


def test_the_place_in_a_framed_table_is_that_in_the_file() -> None:
    said = refusal("| arm | tps |\n|-----|-----|\n| off | x9y |\n| on  | 8.5 |\n| off | 9.5 |\n")
    assert said == '"f.txt" line 3, column 9: "x9y" is not a number'


def test_two_columns_that_could_name_the_arm_are_asked_about() -> None:
    rows = "".join(f"h{n % 2},d{n // 2 % 2},{900 + n}.5\n" for n in range(8))
    said = refusal(f"host,disk,tps\n{rows}")
    assert 'columns "host" and "disk" could each name the arms' in said
    assert list(arms_of(sheet_of(f"host,disk,tps\n{rows}", arm="disk"))) == ["d0", "d1"]


@pytest.mark.parametrize("heads", ["off,on", "off (ms),on (ms)", "off_ms,on_ms", "tps_off,tps_on"])
@pytest.mark.parametrize("heading", ["query", "benchmark", "test"])
@pytest.mark.parametrize("times", [1, 3])
def test_queries_beside_columns_of_arms_are_no_arms(heads: str, heading: str, times: int) -> None:
    rows = [
        f"Q{q},{7 * q * q}.{k},{8 * q * q}.{k}\n" for k in range(1, times + 1) for q in range(1, 5)
    ]
    sheet = sheet_of(f"{heading},{heads}\n{''.join(rows)}")
    named = heads.replace(" (ms)", "").split(",")
    assert list(arms_of(sheet)) == named
    assert sheet.row_names == ("Q1", "Q2", "Q3", "Q4") * times
    assert (sheet.rows, sheet.ordered) == (Rows.BLOCKS, False)


def test_names_that_come_again_beside_one_metric_or_two_are_arms() -> None:
    for heads in ("tps", "tps,latency_ms"):
        rows = "".join(f"{'ab'[n % 2]},{900 + n}.5{',1.25' * heads.count(',')}\n" for n in range(8))
        assert list(arms_of(sheet_of(f"name,{heads}\n{rows}"))) == ["a", "b"]


def test_a_setting_in_words_names_the_arm_where_nothing_else_does() -> None:
    rows = "".join(f"{('pglz', 'lz4')[n % 2]},{900 + n}.5\n" for n in range(8))
    assert list(arms_of(sheet_of(f"compression,tps\n{rows}"))) == ["pglz", "lz4"]


def test_columns_of_two_metrics_are_two_metrics_of_the_same_arms() -> None:
    rows = "".join(f"{9 + n * 7 % 3},{8 + n * 5 % 3},{5 + n % 2},{4 + n % 2}\n" for n in range(4))
    sheet = sheet_of(f"off_latency,on_latency,off_tps,on_tps\n{rows}")
    assert [metric.name for metric, _ in sheet.metrics] == ["throughput", "latency_mean"]
    assert arms_of(sheet)["off"] == [5, 6, 5, 6]
    assert "hold different things" in refusal("off_tps,on_latency\n5,6\n7,8\n")
