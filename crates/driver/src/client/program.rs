//! Compiles the scripts of a plan for one query mode: all that can be encoded before the start is.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value as Json;
use steelyard_script::{
    parse_as, Command, Draw, Expr, Scope, Script, Sleep, Source, Sql, Store, Symbols, Value,
    AUTOMATIC,
};

use crate::error::DriveError;
use crate::plan::{AbortRule, Mode, Plan, ScriptPlan};
use crate::protocol::Protocol;
use crate::slice::replay::Replay;

/// All scripts of a plan.
pub struct Programs<P: Protocol> {
    pub scripts: Vec<Program<P>>,
    /// Running sums of the scripts' weights.
    pub cumulative: Vec<u64>,
    /// The scripts that a client goes through in turn; none: they are drawn.
    pub orders: Vec<Vec<usize>>,
    /// Which of them arrive when; `None`: they do not follow a record.
    pub replay: Option<Arc<Replay>>,
    /// SQL commands of all scripts: each is prepared once a connection.
    pub statements: usize,
    pub symbols: Symbols,
    /// Ends a failed transaction.
    pub rollback: P::Statement,
    /// How often a transaction is tried; 0: until the slice stops.
    pub max_tries: u32,
    pub latency_limit_ns: Option<u64>,
    /// What ends a slice early.
    pub abort: AbortRule,
    /// Every command is timed.
    pub timed: bool,
    /// Values every client begins with.
    scope: Vec<Value>,
    /// The number of client 0 among those of all machines.
    pub first_client: usize,
    /// Where each client's own number goes, unless the plan names one.
    client_id: Option<usize>,
}

/// One script.
pub struct Program<P: Protocol> {
    pub name: String,
    pub rows: Option<u64>,
    pub operations: Vec<Operation<P>>,
    /// Where each operation stands.
    pub sources: Vec<Source>,
}

/// One step of a script.
pub enum Operation<P: Protocol> {
    Set {
        slot: usize,
        expr: Expr,
    },
    Sql(SqlCommand<P>),
    Sleep(Sleep),
    Draw {
        draw: Draw,
        rows: Arc<[Vec<Value>]>,
    },
    Unless {
        condition: Expr,
        target: usize,
    },
    Jump(usize),
    /// The operations of the pipeline whose statements are prepared before it.
    StartPipeline(std::ops::Range<usize>),
    SyncPipeline,
    EndPipeline,
}

/// A SQL command of a script.
pub struct SqlCommand<P: Protocol> {
    pub statement: P::Statement,
    /// Variables that may be undefined when it is reached.
    needs: Vec<(usize, String)>,
    /// Into which variables its result goes.
    pub store: Option<Store>,
}

impl<P: Protocol> SqlCommand<P> {
    fn compile(mut sql: Sql, mode: Mode, number: usize) -> std::io::Result<SqlCommand<P>> {
        Ok(SqlCommand {
            needs: std::mem::take(&mut sql.needs),
            store: sql.store.clone(),
            statement: P::compile(sql, mode, number)?,
        })
    }

    /// The first variable that it needs and that has no value.
    #[inline]
    pub fn undefined(&self, scope: &Scope) -> Option<&str> {
        let undefined = |slot: usize| matches!(scope.values[slot], Value::Undefined);
        let first = self.needs.iter().find(|(slot, _)| undefined(*slot));
        first.map(|(_, name)| name.as_str())
    }
}

impl<P: Protocol> Programs<P> {
    /// The script that a client takes for its n-th transaction, where scripts are taken in turn.
    #[inline]
    pub fn in_turn(&self, client: usize, n: usize) -> Option<usize> {
        if self.orders.is_empty() {
            return None;
        }
        let order = &self.orders[(self.first_client + client) % self.orders.len()];
        Some(order[n % order.len()])
    }

    /// Parses and encodes the scripts of a plan.
    pub fn compile(plan: &Plan<P::ArmPlan>) -> Result<Programs<P>, DriveError> {
        let mut symbols =
            Symbols::of_scripts(P::DIALECT, plan.scripts.iter().map(|one| one.text.as_str()));
        let given = variables(plan)?;
        let defined: Vec<&str> = given.keys().map(String::as_str).collect();
        let tables = tables(plan);
        let mut statements = 0;
        let mut scripts = Vec::new();
        let mut cumulative = Vec::new();
        let mut sum = 0;
        for script in &plan.scripts {
            let (name, text) = (&script.name, &script.text);
            let parsed = parse_as(P::DIALECT, name, text, &mut symbols, &defined)
                .map_err(|error| unreadable(script, error))?;
            sum += u64::from(script.weight);
            cumulative.push(sum);
            scripts.push(program(
                parsed,
                script,
                plan.mode,
                &tables,
                &mut statements,
            )?);
        }
        if sum == 0 {
            return Err(DriveError::new("no script to drive: every weight is 0"));
        }
        let scripts_known = |order: &Vec<usize>| {
            !order.is_empty() && order.iter().all(|&number| number < scripts.len())
        };
        if !plan.orders.iter().all(scripts_known) {
            return Err(DriveError::new(
                "cannot take scripts in turn: an order is empty, or a script is not there",
            ));
        }
        let is_given = plan.variables.contains_key("client_id");
        let client_id = symbols.find("client_id").filter(|_| !is_given);
        let mut scope = vec![Value::Undefined; symbols.len()];
        for (name, value) in given {
            if let Some(slot) = symbols.find(&name) {
                scope[slot] = value;
            }
        }
        Ok(Programs {
            scripts,
            cumulative,
            orders: plan.orders.clone(),
            replay: replay(plan)?,
            statements,
            symbols,
            rollback: P::rollback(),
            max_tries: plan.max_tries,
            latency_limit_ns: plan.latency_limit_ns,
            abort: plan.abort,
            timed: plan.timed,
            first_client: plan.first_client,
            scope,
            client_id,
        })
    }

    /// The variables of one client.
    pub fn scope(&self, client: usize) -> Scope {
        let mut values = self.scope.clone();
        if let Some(slot) = self.client_id {
            values[slot] = Value::Int((self.first_client + client) as i64);
        }
        Scope::of(values)
    }

    /// How many commands of each script are timed.
    pub fn timed_commands(&self) -> Vec<usize> {
        let commands = |program: &Program<P>| program.operations.len();
        let timed = |program| if self.timed { commands(program) } else { 0 };
        self.scripts.iter().map(timed).collect()
    }
}

fn unreadable(script: &ScriptPlan, error: impl std::fmt::Display) -> DriveError {
    let name = &script.name;
    DriveError::new(format!("cannot read script \"{name}\"")).detail(error)
}

/// Rows by name; all clients draw from the same ones.
type SharedTables = BTreeMap<String, Arc<[Vec<Value>]>>;

/// A copy that all threads share. DriveError: it is out of order, or of no script.
fn replay<A>(plan: &Plan<A>) -> Result<Option<Arc<Replay>>, DriveError> {
    let Some(replay) = &plan.replay else {
        return Ok(None);
    };
    if !replay.is_valid(plan.scripts.len()) {
        return Err(DriveError::new(
            "cannot replay arrivals: they are out of order, or a script is not there",
        ));
    }
    Ok(Some(Arc::new(Replay {
        arrivals: replay.arrivals.clone(),
        round_ns: replay.round_ns,
    })))
}

/// The rows of the plan: fields go into statements as they are.
fn tables<A>(plan: &Plan<A>) -> SharedTables {
    let field = |text: &Option<String>| text.clone().map_or(Value::Null, Value::Text);
    let row = |fields: &Vec<Option<String>>| fields.iter().map(field).collect();
    plan.tables
        .iter()
        .map(|(name, rows)| (name.clone(), rows.iter().map(row).collect()))
        .collect()
}

/// The variables of the plan and the automatic ones.
fn variables<A>(plan: &Plan<A>) -> Result<HashMap<String, Value>, DriveError> {
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
    given.entry("client_id".to_owned()).or_insert(Value::Int(0));
    debug_assert!(AUTOMATIC.iter().all(|name| given.contains_key(*name)));
    Ok(given)
}

fn to_value(name: &str, value: &Json) -> Result<Value, DriveError> {
    Ok(match value {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) if !text.contains('\0') => Value::from_given(text),
        _ => {
            return Err(
                DriveError::new(format!("variable \"{name}\" has no plain value"))
                    .hint("A variable is a number, a text, true, false or null."),
            )
        }
    })
}

fn program<P: Protocol>(
    mut script: Script,
    plan: &ScriptPlan,
    mode: Mode,
    tables: &SharedTables,
    statements: &mut usize,
) -> Result<Program<P>, DriveError> {
    let mut operations = Vec::new();
    let commands = std::mem::take(&mut script.commands);
    let ends: Vec<bool> = commands
        .iter()
        .map(|command| matches!(command, Command::EndPipeline))
        .collect();
    for (number, command) in commands.into_iter().enumerate() {
        operations.push(match command {
            Command::Set { slot, expr } => Operation::Set { slot, expr },
            Command::Sleep(sleep) => Operation::Sleep(sleep),
            Command::Draw(draw) => {
                let rows = tables
                    .get(&draw.table)
                    .filter(|rows| rows.iter().all(|row| row.len() == draw.slots.len()))
                    .filter(|rows| !rows.is_empty())
                    .cloned();
                let Some(rows) = rows else {
                    let why = format!("there are no such rows of \"{}\"", draw.table);
                    return Err(unreadable(plan, script.error(number, why)));
                };
                Operation::Draw { draw, rows }
            }
            Command::Unless { condition, target } => Operation::Unless { condition, target },
            Command::Jump(target) => Operation::Jump(target),
            Command::StartPipeline => {
                if let Some(why) = P::refuse_pipeline(mode) {
                    return Err(unreadable(plan, script.error(number, why)));
                }
                let rest = ends[number..].iter().position(|ends| *ends);
                Operation::StartPipeline(number..rest.map_or(ends.len(), |rest| number + rest))
            }
            Command::SyncPipeline => Operation::SyncPipeline,
            Command::EndPipeline => Operation::EndPipeline,
            Command::Sql(mut sql) => {
                if let Some(error) = sql.only_simple.take().filter(|_| mode != Mode::Simple) {
                    return Err(
                        unreadable(plan, error).hint("Drive it with -M simple, as pgbench must.")
                    );
                }
                *statements += 1;
                let command = SqlCommand::compile(sql, mode, *statements - 1);
                Operation::Sql(
                    command.map_err(|error| {
                        unreadable(plan, script.error(number, error.to_string()))
                    })?,
                )
            }
        });
    }
    Ok(Program {
        name: script.name,
        rows: plan.rows,
        operations,
        sources: script.sources,
    })
}
