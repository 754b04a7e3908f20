//! `crates/script` for Python: check a script before anything starts, and show what it sends.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steelyard_script::{
    evaluate, parse, Command, Piece, Random, Scope, Script, Sql, Symbols, Value,
};

fn compile(
    name: &str,
    text: &str,
    variables: &BTreeMap<String, String>,
) -> PyResult<(Script, Symbols)> {
    let defined: Vec<&str> = variables.keys().map(String::as_str).collect();
    let mut symbols = Symbols::new();
    let script = parse(name, text, &mut symbols, &defined)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((script, symbols))
}

/// The text of a built-in script; `None` when there is none of that name.
#[pyfunction]
fn builtin_script(name: &str) -> Option<&'static str> {
    steelyard_script::builtin(name)
}

/// The statements of `count` executions of a script, each with its variables filled in, as the
/// simple mode sends them to a client whose generator has this seed. ValueError: the script is
/// wrong (file, line, column, reason, and a caret), or an expression has no result.
#[pyfunction]
#[pyo3(signature = (name, text, variables, seed=0, count=1))]
fn script_statements(
    name: &str,
    text: &str,
    variables: BTreeMap<String, String>,
    seed: u64,
    count: usize,
) -> PyResult<Vec<String>> {
    let (script, symbols) = compile(name, text, &variables)?;
    let mut scope = Scope::new(symbols.len());
    for (variable, value) in &variables {
        if let Some(slot) = symbols.find(variable) {
            scope.values[slot] = Value::from_text(value);
        }
    }
    let mut random = Random::new(seed);
    let mut statements = Vec::new();
    for command in script
        .commands
        .iter()
        .cycle()
        .take(script.commands.len() * count)
    {
        match command {
            Command::Set { slot, expr } => {
                scope.values[*slot] = evaluate(expr, &scope, &mut random)
                    .map_err(|error| PyValueError::new_err(format!("{name}: {error}")))?;
            }
            Command::Sql(sql) => statements.push(filled(sql, &scope)),
        }
    }
    Ok(statements)
}

fn filled(sql: &Sql, scope: &Scope) -> String {
    let mut out = Vec::new();
    for piece in &sql.pieces {
        match piece {
            Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
            Piece::Variable(slot) => scope.values[*slot].write_text(&mut out),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(builtin_script, module)?)?;
    module.add_function(wrap_pyfunction!(script_statements, module)?)
}
