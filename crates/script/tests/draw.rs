//! `\draw` sets its variables to a row, drawn uniformly; what cannot work is refused.

use std::collections::BTreeMap;

use steelyard_script::{parse, parse_as, Command, Dialect, Random, Scope, Symbols, Tables, Value};

fn table(rows: &[&[&str]]) -> Tables {
    let text = |field: &&str| Value::Text((*field).to_owned());
    let rows = rows.iter().map(|row| row.iter().map(text).collect());
    BTreeMap::from([("orders".to_owned(), rows.collect())])
}

#[test]
fn every_row_is_drawn_equally_often_and_whole() {
    let mut symbols = Symbols::new();
    let script = parse("s", "\\draw orders a b\nSELECT :a, :b;", &mut symbols, &[]).unwrap();
    let Command::Draw(draw) = &script.commands[0] else {
        panic!("{:?}", script.commands[0]);
    };
    let tables = table(&[&["1", "one"], &["2", "two"], &["3", "three"]]);
    let rows = draw.rows(&tables).unwrap();
    let mut scope = Scope::new(symbols.len());
    let mut random = Random::new(7);
    let mut counts = BTreeMap::new();
    for _ in 0..30_000 {
        draw.draw(rows, &mut scope, &mut random);
        let mut words = Vec::new();
        for name in ["a", "b"] {
            scope.values[symbols.find(name).unwrap()].write_text(&mut words);
        }
        *counts.entry(String::from_utf8(words).unwrap()).or_insert(0) += 1;
    }
    assert_eq!(
        counts.keys().collect::<Vec<_>>(),
        ["1one", "2two", "3three"]
    );
    // 10,000 each; 5 standard deviations are 408.
    assert!(counts.values().all(|count| (9_500..10_500).contains(count)));
}

#[test]
fn a_draw_without_fields_or_with_a_wrong_name_is_refused_with_its_place() {
    let refused = |text: &str| {
        let error = parse("s", text, &mut Symbols::new(), &[]).unwrap_err();
        (error.line, error.column, error.message)
    };
    let needs = "\\draw needs the name of its rows, and a variable for each field".to_owned();
    assert_eq!(refused("SELECT 1;\n\\draw"), (2, 1, needs.clone()));
    assert_eq!(refused("\\draw orders"), (1, 1, needs));
    let (_, column, message) = refused("\\draw orders a 1b");
    assert_eq!(
        (column, message.as_str()),
        (16, "invalid variable name: \"1b\"")
    );
}

#[test]
fn rows_must_be_there_and_as_long_as_the_variables() {
    let mut symbols = Symbols::new();
    let script = parse("s", "\\draw orders a b\nSELECT :a;", &mut symbols, &[]).unwrap();
    let Command::Draw(draw) = &script.commands[0] else {
        panic!("{:?}", script.commands[0]);
    };
    let why = |tables: &Tables| draw.rows(tables).unwrap_err();
    assert_eq!(why(&Tables::new()), "there are no rows of \"orders\"");
    assert_eq!(why(&table(&[])), "\"orders\" has no rows");
    let short = table(&[&["1", "2"], &["1"]]);
    assert_eq!(why(&short), "a row of \"orders\" has 1 fields, not 2");
}

#[test]
fn a_variable_that_is_drawn_is_known_to_every_script_of_the_plan() {
    let texts = ["\\draw orders a\nSELECT 1;", "SELECT :a;"];
    let mut symbols = Symbols::of_scripts(Dialect::Postgres, texts);
    for text in texts {
        parse("s", text, &mut symbols, &[]).unwrap();
    }
    assert!(parse("s", "SELECT :a;\\set b :a", &mut Symbols::new(), &[]).is_err());
}

#[test]
fn a_drawn_variable_is_one_parameter_however_often_it_is_used() {
    let text = "\\draw rows a b\n\\set c 1\nSELECT :a, :b, :a, :c, :c, x[:b:\n:a];";
    let compiled = |dialect| {
        let script = parse_as(dialect, "s", text, &mut Symbols::new(), &[]).unwrap();
        let Some(Command::Sql(sql)) = script.commands.last() else {
            panic!("no statement");
        };
        let words = sql.text(|number| format!("${number}"));
        (words, sql.params.clone())
    };
    let (words, params) = compiled(Dialect::SqlServer);
    assert!(words.starts_with("SELECT $1, $2, $1, $3, $4"), "{words}");
    assert_eq!(params, [0, 1, 2, 2]);
    let (words, params) = compiled(Dialect::Postgres);
    assert_eq!(words, "SELECT $1, $2, $1, $3, $4, x[$2:\n$1];");
    assert_eq!(params, [0, 1, 2, 2]);
    // Its placeholders have no numbers.
    let (words, params) = compiled(Dialect::Mysql);
    assert!(words.starts_with("SELECT $1, $2, $3, $4, $5"), "{words}");
    assert_eq!(params[..5], [0, 1, 0, 2, 2]);
}
