//! Exposes `crates/script`: checks scripts before anything starts, and shows what they send.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use steelyard_script::{
    evaluate, parse_as, Command, Dialect, EvalError, Piece, Random, Scope, Script, Sql, Symbols,
    Tables, Value,
};

fn dialect_named(name: &str) -> PyResult<Dialect> {
    Dialect::named(name)
        .ok_or_else(|| PyValueError::new_err(format!("there is no dialect \"{name}\"")))
}

fn compile(
    name: &str,
    text: &str,
    variables: &BTreeMap<String, String>,
    dialect: &str,
) -> PyResult<(Script, Symbols)> {
    let defined: Vec<&str> = variables.keys().map(String::as_str).collect();
    let mut symbols = Symbols::new();
    let script = parse_as(dialect_named(dialect)?, name, text, &mut symbols, &defined)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok((script, symbols))
}

/// Rows that scripts draw from, by name; None: NULL.
type Rows = BTreeMap<String, Vec<Vec<Option<String>>>>;

fn to_tables(rows: Option<Rows>) -> Tables {
    let field = |text: Option<String>| text.map_or(Value::Null, Value::Text);
    let row = |fields: Vec<Option<String>>| fields.into_iter().map(field).collect();
    rows.unwrap_or_default()
        .into_iter()
        .map(|(name, rows)| (name, rows.into_iter().map(row).collect()))
        .collect()
}

/// The text of a built-in script; `None` when there is none of that name.
#[pyfunction]
fn builtin_script(name: &str) -> Option<&'static str> {
    steelyard_script::builtin(name)
}

/// The statements of `count` executions of a script, each with its variables filled in, as the
/// simple mode sends them to a client whose generator has this seed. There is no server: an answer
/// makes 1 of every variable that it may set and that has no value yet, and sleeps are skipped.
/// ValueError: the script is wrong (file, line, column, reason, and a caret), or an expression has
/// no result.
#[pyfunction]
#[pyo3(signature = (name, text, variables, seed=0, count=1, tables=None, dialect="postgres"))]
fn script_statements(
    name: &str,
    text: &str,
    variables: BTreeMap<String, String>,
    seed: u64,
    count: usize,
    tables: Option<Rows>,
    dialect: &str,
) -> PyResult<Vec<String>> {
    let tables = to_tables(tables);
    let (script, symbols) = compile(name, text, &variables, dialect)?;
    let mut scope = Scope::new(symbols.len());
    for (variable, value) in &variables {
        if let Some(slot) = symbols.find(variable) {
            scope.values[slot] = Value::from_given(value);
        }
    }
    let mut random = Random::new(seed);
    let mut statements = Vec::new();
    for _ in 0..count {
        let done = execute(
            &script,
            &symbols,
            &tables,
            &mut scope,
            &mut random,
            &mut statements,
        );
        done.map_err(|(at, error)| PyValueError::new_err(script.error(at, error).to_string()))?;
    }
    Ok(statements)
}

/// One transaction; Err: which command has no result, and why.
fn execute(
    script: &Script,
    symbols: &Symbols,
    tables: &Tables,
    scope: &mut Scope,
    random: &mut Random,
    statements: &mut Vec<String>,
) -> Result<(), (usize, String)> {
    let mut at = 0;
    while let Some(command) = script.commands.get(at) {
        let refused = |error: EvalError| (at, error.to_string());
        let mut next = at + 1;
        match command {
            Command::Set { slot, expr } => {
                scope.values[*slot] = evaluate(expr, scope, random).map_err(refused)?;
            }
            Command::Unless { condition, target } => {
                if !evaluate(condition, scope, random).map_err(refused)?.truth() {
                    next = *target;
                }
            }
            Command::Jump(target) => next = *target,
            Command::Sleep(sleep) => {
                sleep.nanoseconds(scope).map_err(refused)?;
            }
            Command::Draw(draw) => {
                let rows = draw.rows(tables).map_err(|why| (at, why))?;
                draw.draw(rows, scope, random);
            }
            Command::Sql(sql) => {
                statements.push(filled(sql, scope));
                answer(sql, symbols, scope);
            }
            Command::StartPipeline | Command::SyncPipeline | Command::EndPipeline => {}
        }
        at = next;
    }
    Ok(())
}

/// What `\gset` or `\aset` stores where there is no server to answer.
fn answer(sql: &Sql, symbols: &Symbols, scope: &mut Scope) {
    let Some(store) = &sql.store else { return };
    for (slot, value) in scope.values.iter_mut().enumerate() {
        let named = symbols.name(slot).unwrap_or_default();
        if matches!(value, Value::Undefined) && named.starts_with(&store.prefix) {
            *value = Value::Int(1);
        }
    }
}

fn filled(sql: &Sql, scope: &Scope) -> String {
    let mut out = Vec::new();
    for piece in &sql.pieces {
        match piece {
            Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
            Piece::Variable(slot) => scope.values[*slot].write_text(&mut out),
            Piece::Perhaps(slot, text) => match &scope.values[*slot] {
                Value::Undefined => out.extend_from_slice(text.as_bytes()),
                value => value.write_text(&mut out),
            },
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Checks the scripts of one plan together, since each may read what the others set. ValueError:
/// the first one that is wrong, or that this protocol cannot send.
#[pyfunction]
#[pyo3(signature = (scripts, variables, mode, tables=None, dialect="postgres"))]
fn check_scripts(
    scripts: Vec<(String, String)>,
    variables: BTreeMap<String, String>,
    mode: &str,
    tables: Option<Rows>,
    dialect: &str,
) -> PyResult<()> {
    let dialect = dialect_named(dialect)?;
    let tables = to_tables(tables);
    let mut symbols = Symbols::of_scripts(dialect, scripts.iter().map(|(_, text)| text.as_str()));
    let defined: Vec<&str> = variables.keys().map(String::as_str).collect();
    for (name, text) in &scripts {
        let script = parse_as(dialect, name, text, &mut symbols, &defined)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        for (at, command) in script.commands.iter().enumerate() {
            let wrong = match command {
                Command::Sql(sql) if mode != "simple" => {
                    sql.only_simple.as_deref().map(ToString::to_string)
                }
                Command::Draw(draw) => draw
                    .rows(&tables)
                    .err()
                    .map(|why| script.error(at, why).to_string()),
                Command::StartPipeline if mode == "simple" => {
                    let why = "cannot use pipeline mode with the simple query protocol";
                    Some(script.error(at, why).to_string())
                }
                _ => None,
            };
            if let Some(wrong) = wrong {
                return Err(PyValueError::new_err(wrong));
            }
        }
    }
    Ok(())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(builtin_script, module)?)?;
    module.add_function(wrap_pyfunction!(check_scripts, module)?)?;
    module.add_function(wrap_pyfunction!(script_statements, module)?)
}
