//! `\gset` and `\aset`: what the server answered becomes variables of the client.

use steelyard_script::{Store, Value};
use steelyard_wire::{row_values, Kept};

use crate::client::Client;
use crate::link::Loss;
use crate::program::{Operation, Programs};
use crate::tally::Tally;

/// PL/pgSQL's codes for a query that should return one row: no_data_found, too_many_rows.
const NO_ROW: &str = "P0002";
const MANY_ROWS: &str = "P0003";

impl Client {
    /// Stores the answers of the present command; false: it has failed.
    #[cold]
    pub(crate) fn keep(&mut self, programs: &Programs, tally: &mut Tally) -> Result<bool, Loss> {
        let program = &programs.scripts[self.script];
        let Some(Operation::Sql(message)) = program.operations.get(self.at) else {
            return Ok(true);
        };
        let Some(store) = &message.store else {
            return Ok(true);
        };
        let answers = self.link.take_kept();
        if store.all {
            for answer in answers.iter().filter(|answer| answer.rows > 0) {
                self.keep_one(answer, store, programs)?;
            }
            return Ok(true);
        }
        let last = answers.last();
        let rows = last.map_or(0, |answer| answer.rows);
        if let Some(answer) = last.filter(|_| rows == 1) {
            self.keep_one(answer, store, programs)?;
            return Ok(true);
        }
        let state = if rows == 0 { NO_ROW } else { MANY_ROWS };
        let why = format!("\\gset: expected one row, got {rows}");
        self.note_error(state, &why, programs, tally);
        Ok(false)
    }

    fn keep_one(&mut self, answer: &Kept, store: &Store, programs: &Programs) -> Result<(), Loss> {
        let program = &programs.scripts[self.script];
        let values = row_values(&answer.last).map_err(|error| Loss::Connection {
            sqlstate: error.sqlstate().to_owned(),
            message: error.to_string(),
        })?;
        for (column, value) in answer.columns.iter().flatten().zip(values) {
            let name = format!("{}{column}", store.prefix);
            if !steelyard_script::is_variable_name(&name) {
                let why = format!("invalid variable name: \"{name}\", from the server's answer");
                return Err(self.broken(program, &why));
            }
            // A variable that no script reads has no slot, and needs no value.
            if let Some(slot) = programs.symbols.find(&name) {
                // NULL is the empty text, as in pgbench.
                self.scope.values[slot] = Value::from_given(&value.unwrap_or_default());
            }
        }
        Ok(())
    }
}
