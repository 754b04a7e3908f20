//! Assigns slots to variable names, shared by all scripts of a plan.

use crate::dialect::Dialect;
use crate::known::Assigned;

/// Variables a driver defines by itself, as pgbench does; pass those it sets as `defined`.
pub const AUTOMATIC: [&str; 4] = ["scale", "client_id", "random_seed", "default_seed"];

/// Maps each variable name to a slot of [`crate::Scope::values`]; slots are dense from 0.
#[derive(Debug, Clone, Default)]
pub struct Symbols {
    names: Vec<String>,
    /// What other scripts of the plan assign: a client's variables outlive its transactions.
    pub(crate) elsewhere: Assigned,
}

impl Symbols {
    pub fn new() -> Self {
        Self::default()
    }

    /// Symbols for a plan of several scripts: each may read what the others assign.
    pub fn of_scripts<'a>(dialect: Dialect, texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut symbols = Self::default();
        for text in texts {
            symbols.elsewhere.merge(Assigned::of(text, dialect));
        }
        symbols
    }

    /// The slot of `name`, a new one when the name is new.
    pub fn slot(&mut self, name: &str) -> usize {
        self.find(name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    pub fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// The name of a slot; `None` past the last one.
    pub fn name(&self, slot: usize) -> Option<&str> {
        self.names.get(slot).map(String::as_str)
    }

    pub fn len(&self) -> usize {
        self.names.len()
    }

    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}
