//! Scripts made ready for one query mode: every message that can be encoded before the start is.

use std::collections::HashMap;

use serde_json::Value as Json;
use steelyard_script::{Command, Expr, Piece, Scope, Script, Sql, Symbols, Value, AUTOMATIC};
use steelyard_wire::Statement;

use crate::error::DriveError;
use crate::plan::{Mode, Plan};

/// All scripts of a plan.
pub struct Programs {
    pub scripts: Vec<Program>,
    /// Running sums of the scripts' weights.
    pub cumulative: Vec<u64>,
    /// SQL commands of all scripts: each is prepared once a connection.
    pub statements: usize,
    /// Values every client begins with.
    scope: Vec<Value>,
    client_id: usize,
}

/// One script.
pub struct Program {
    pub name: String,
    pub rows: Option<u64>,
    pub operations: Vec<Operation>,
}

/// One step of a script.
pub enum Operation {
    Set { slot: usize, expr: Expr },
    Sql(Request),
}

/// How a SQL command is sent.
pub enum Request {
    Simple {
        pieces: Vec<Piece>,
    },
    Extended {
        statement: Statement,
        slots: Vec<usize>,
    },
    Prepared {
        number: usize,
        statement: Statement,
        slots: Vec<usize>,
    },
}

impl Programs {
    /// Parses and encodes the scripts of a plan.
    pub fn compile(plan: &Plan) -> Result<Programs, DriveError> {
        let mut symbols = Symbols::new();
        let mut given: HashMap<String, Value> = HashMap::new();
        for (name, value) in &plan.variables {
            given.insert(name.clone(), to_value(name, value)?);
        }
        for name in ["random_seed", "default_seed"] {
            given
                .entry(name.to_owned())
                .or_insert(Value::Int(plan.seed as i64));
        }
        given.entry("scale".to_owned()).or_insert(Value::Int(1));
        given.insert("client_id".to_owned(), Value::Int(0));
        debug_assert!(AUTOMATIC.iter().all(|name| given.contains_key(*name)));

        let defined: Vec<&str> = given.keys().map(String::as_str).collect();
        let mut statements = 0;
        let mut scripts = Vec::new();
        let mut cumulative = Vec::new();
        let mut sum = 0;
        for script in &plan.scripts {
            let parsed =
                steelyard_script::parse(&script.name, &script.text, &mut symbols, &defined)
                    .map_err(|error| {
                        let name = &script.name;
                        DriveError::new(format!("cannot read script \"{name}\"")).detail(error)
                    })?;
            sum += u64::from(script.weight);
            cumulative.push(sum);
            scripts.push(program(parsed, script.rows, plan.mode, &mut statements)?);
        }
        if sum == 0 {
            return Err(DriveError::new("no script to drive: every weight is 0"));
        }
        let client_id = symbols.slot("client_id");
        let mut scope = vec![Value::Null; symbols.len()];
        for (name, value) in given {
            if let Some(slot) = symbols.find(&name) {
                scope[slot] = value;
            }
        }
        Ok(Programs {
            scripts,
            cumulative,
            statements,
            scope,
            client_id,
        })
    }

    /// The variables of one client.
    pub fn scope(&self, client: usize) -> Scope {
        let mut values = self.scope.clone();
        values[self.client_id] = Value::Int(client as i64);
        Scope { values }
    }
}

fn to_value(name: &str, value: &Json) -> Result<Value, DriveError> {
    Ok(match value {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) if !text.contains('\0') => Value::from_text(text),
        _ => {
            return Err(
                DriveError::new(format!("variable \"{name}\" has no plain value"))
                    .hint("A variable is a number, a text, true, false or null."),
            )
        }
    })
}

fn program(
    script: Script,
    rows: Option<u64>,
    mode: Mode,
    statements: &mut usize,
) -> Result<Program, DriveError> {
    let name = script.name;
    let mut operations = Vec::new();
    let mut sends = false;
    for command in script.commands {
        operations.push(match command {
            Command::Set { slot, expr } => Operation::Set { slot, expr },
            Command::Sql(sql) => {
                sends = true;
                Operation::Sql(request(sql, mode, statements).map_err(|error| {
                    DriveError::new(format!("cannot send a command of script \"{name}\""))
                        .detail(error)
                })?)
            }
        });
    }
    if !sends {
        return Err(DriveError::new(format!(
            "script \"{name}\" holds no SQL command"
        )));
    }
    Ok(Program {
        name,
        rows,
        operations,
    })
}

fn request(sql: Sql, mode: Mode, statements: &mut usize) -> std::io::Result<Request> {
    let parameters = sql.params.len() as u16;
    Ok(match mode {
        Mode::Simple => {
            steelyard_wire::simple_query(&sql.text)?; // refuses what no message can carry
            Request::Simple { pieces: sql.pieces }
        }
        Mode::Extended => Request::Extended {
            statement: Statement::new("", &sql.text, parameters)?,
            slots: sql.params,
        },
        Mode::Prepared => {
            let number = *statements;
            *statements += 1;
            let name = format!("s{number}");
            let statement = Statement::new(&name, &sql.text, parameters)?;
            Request::Prepared {
                number,
                statement,
                slots: sql.params,
            }
        }
    })
}

impl Request {
    /// Appends the request to `out`; true when it prepares its statement on the way.
    #[inline]
    pub fn encode(&self, scope: &Scope, prepared: &[bool], out: &mut Vec<u8>) -> bool {
        match self {
            Request::Prepared {
                number,
                statement,
                slots,
            } => {
                let first = !prepared[*number];
                if first {
                    out.extend_from_slice(&statement.parse);
                }
                fill(statement, slots, scope, out);
                first
            }
            Request::Extended { statement, slots } => {
                out.extend_from_slice(&statement.parse);
                fill(statement, slots, scope, out);
                false
            }
            Request::Simple { pieces } => {
                encode_simple(pieces, scope, out);
                false
            }
        }
    }
}

#[inline]
fn fill(statement: &Statement, slots: &[usize], scope: &Scope, out: &mut Vec<u8>) {
    statement.bind.fill(out, slots.len(), |parameter, out| {
        let value = &scope.values[slots[parameter]];
        if matches!(value, Value::Null) {
            return false;
        }
        value.write_text(out);
        true
    });
}

fn encode_simple(pieces: &[Piece], scope: &Scope, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(b"Q\0\0\0\0");
    for piece in pieces {
        match piece {
            Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
            Piece::Variable(slot) => scope.values[*slot].write_text(out),
        }
    }
    out.push(0);
    let length = (out.len() - start - 1) as i32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}
