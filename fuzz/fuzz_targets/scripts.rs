//! Any text as a script: parsed or refused with its place, and what is accepted evaluates without a
//! panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use steelyard_script::{evaluate, parse, Command, Random, Scope, Symbols, Value};

fuzz_target!(|text: &str| {
    let mut symbols = Symbols::new();
    let script = match parse("fuzz", text, &mut symbols, &["scale", "default_seed"]) {
        Ok(script) => script,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let mut scope = Scope::new(symbols.len());
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
