//! Fuzzes scripts: any text is compiled or refused with its place, and evaluates without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_script::{
    evaluate, parse, parse_as, Command, Dialect, Random, Scope, Symbols, Value,
};

fuzz_target!(|text: &str| {
    // What the command line and queries give is a value too.
    let mut printed = Vec::new();
    Value::from_given(text).write_text(&mut printed);
    assert!(
        printed == text.as_bytes(),
        "what was given goes into statements as it came"
    );
    let mut symbols = Symbols::new();
    // Another dialect ends strings, comments and statements elsewhere.
    for dialect in [Dialect::Mysql, Dialect::SqlServer] {
        let _ = parse_as(dialect, "fuzz", text, &mut Symbols::new(), &["scale"]);
    }
    let script = match parse("fuzz", text, &mut symbols, &["scale", "default_seed"]) {
        Ok(script) => script,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(error.line <= text.matches('\n').count() + 1);
            assert!(error.column <= error.source.chars().count() + 2);
            return;
        }
    };
    let mut scope = Scope::new(symbols.len());
    if let Some(first) = scope.values.first_mut() {
        *first = Value::Text(text.lines().next().unwrap_or("").to_owned());
    }
    let mut random = Random::new(7);
    for command in &script.commands {
        match command {
            Command::Set { slot, expr } => {
                let value = evaluate(expr, &scope, &mut random).unwrap_or(Value::Null);
                scope.values[*slot] = value;
            }
            Command::Sleep(sleep) => drop(sleep.nanoseconds(&scope)),
            _ => {}
        }
    }
});
