//! Tests that a refusal says what to write instead, and that what pgbench takes is not refused.

use std::time::{Duration, Instant};

use steelyard_script::{parse, Command, Script, Symbols, Value};

fn compile(text: &str) -> Result<Script, String> {
    parse("s.sql", text, &mut Symbols::new(), &["x"]).map_err(|error| error.to_string())
}

#[test]
fn a_refusal_says_what_to_write() {
    for (text, expected) in [
        ("\\setrandom x 1 10\nSELECT 1;", "write \\set NAME random("),
        (
            "\\if true\nSELECT 1;\n\\elsif false\n\\endif",
            "write \\elif",
        ),
        ("SELECT 1 \\g\n", "end the statement with a semicolon"),
        ("\\echo hello\nSELECT 1;", "there are \\set, \\draw"),
        ("\\set y floor(2.5)\nSELECT 1;", "there are abs, debug"),
        ("\\set y 5;\nSELECT 1;", "takes no semicolon"),
        ("\\set y 'abc'\nSELECT 1;", "-D NAME=VALUE"),
        ("\\sleep 0.5 s\nSELECT 1;", "units are us, ms and s"),
    ] {
        let error = compile(text).expect_err(text);
        assert!(error.contains(expected), "{text:?} gave {error:?}");
    }
    for text in [
        "\\SET y 5\nSELECT ';', 'a';",
        "\\sleep 500ms",
        "\\set y random(1, 2)",
    ] {
        compile(text).expect(text);
    }
}

#[test]
fn only_parameters_are_bounded() {
    for (count, is_refused) in [(255, false), (256, true), (1_000, true)] {
        let script = compile(&format!("SELECT {};", vec![":x"; count].join(","))).expect("script");
        let Command::Sql(sql) = &script.commands[0] else {
            panic!("no statement")
        };
        let why = sql.only_simple.as_ref().map(ToString::to_string);
        let is_said = why.is_some_and(|why| why.contains("too many variables"));
        assert_eq!(is_said, is_refused, "{count}");
        assert_eq!(sql.params.len(), count);
    }
}

#[test]
fn spaces_behind_a_number_make_it_a_text() {
    for (text, is_text) in [("5   ", true), (" 5", false), ("5", false), ("1.5 ", true)] {
        let value = Value::from_text(text);
        assert_eq!(matches!(value, Value::Text(_)), is_text, "{text:?}");
    }
}

#[test]
fn a_script_of_many_statements_is_compiled_in_no_time() {
    let begun = Instant::now();
    let script = compile(&"SELECT 1;\n".repeat(40_000)).expect("script");
    assert_eq!(script.sources[39_999].line, 40_000);
    assert!(begun.elapsed() < Duration::from_secs(10));
}
