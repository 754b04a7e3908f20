//! Sets variables to a row that is drawn from a table of rows: `\draw`, which pgbench lacks.

use std::collections::BTreeMap;

use crate::random::Random;
use crate::scope::Scope;
use crate::value::Value;

/// Rows that scripts may draw from, by name; those of a table are equally long.
pub type Tables = BTreeMap<String, Vec<Vec<Value>>>;

/// `\draw table variable ...`: each variable gets the field of its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draw {
    pub table: String,
    pub slots: Vec<usize>,
}

impl Draw {
    /// The rows that it draws from. Err: there are none, or one has another number of fields.
    pub fn rows<'a>(&self, tables: &'a Tables) -> Result<&'a [Vec<Value>], String> {
        let table = &self.table;
        let rows = tables
            .get(table)
            .ok_or_else(|| format!("there are no rows of \"{table}\""))?;
        let wanted = self.slots.len();
        match rows.iter().find(|row| row.len() != wanted) {
            _ if rows.is_empty() => Err(format!("\"{table}\" has no rows")),
            Some(row) => Err(format!(
                "a row of \"{table}\" has {} fields, not {wanted}",
                row.len()
            )),
            None => Ok(rows),
        }
    }

    /// Draws a row, uniformly. `rows`: at least one, each with as many fields as there are slots.
    pub fn draw(&self, rows: &[Vec<Value>], scope: &mut Scope, random: &mut Random) {
        let drawn = random.uniform_int(0, rows.len() as i64 - 1) as usize;
        for (slot, value) in self.slots.iter().zip(&rows[drawn]) {
            scope.values[*slot].clone_from(value);
        }
    }
}
