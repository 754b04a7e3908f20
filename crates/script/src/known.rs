//! Tracks which variables exist at a place of a script: for certain, perhaps, or not at all.

use crate::cursor::{Found, Lookup};
use crate::dialect::Dialect;
use crate::scan::{next_part, Part};
use crate::symbols::Symbols;
use crate::token::{is_name, is_name_start, run};

/// What a script may assign: names, and prefixes before names that only the server knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assigned {
    names: Vec<String>,
    prefixes: Vec<String>,
}

impl Assigned {
    /// What the backslash commands of `text` assign; a text that cannot be cut assigns nothing
    /// past that place.
    pub(crate) fn of(text: &str, dialect: Dialect) -> Self {
        let mut found = Self::default();
        let mut at = 0;
        while let Ok(Some(part)) = next_part(text, at, dialect) {
            match part {
                Part::Statement(statement) => at = statement.end,
                Part::Backslash { start, end } => {
                    found.hear(&text[start + 1..end]);
                    at = end;
                }
            }
        }
        found
    }

    fn hear(&mut self, command: &str) {
        let mut words = command.split_whitespace();
        let verb = words.next().unwrap_or_default().to_ascii_lowercase();
        let argument = words.next().unwrap_or_default();
        match verb.as_str() {
            "set" => self.names.push(argument.to_owned()),
            "draw" => self.names.extend(words.map(str::to_owned)),
            "gset" | "aset" => self.prefixes.push(argument.to_owned()),
            _ => {}
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.names.extend(other.names);
        self.prefixes.extend(other.prefixes);
    }

    pub(crate) fn holds(&self, name: &str) -> bool {
        let prefixed = |prefix: &String| name.starts_with(prefix.as_str());
        self.names.iter().any(|known| known == name) || self.prefixes.iter().any(prefixed)
    }
}

/// The variables that may be read at the compiler's place.
pub(crate) struct Known<'a> {
    pub symbols: &'a mut Symbols,
    /// Assigned whatever the script did before.
    pub certain: Vec<String>,
    /// Assigned by what stands before, in some branch or by the server's answer.
    pub before: Assigned,
    /// Assigned by this script anywhere: what a branch of a later transaction may see.
    pub anywhere: Assigned,
    /// Set by a `\draw` that stands before.
    pub drawn: Vec<String>,
    /// Branches that are open here.
    pub depth: usize,
}

impl Known<'_> {
    /// Notes that `\set` assigns a variable here.
    pub(crate) fn assign(&mut self, name: &str) -> usize {
        if !self.certain.iter().any(|known| known == name) {
            self.certain.push(name.to_owned());
        }
        self.before.names.push(name.to_owned());
        self.symbols.slot(name)
    }

    /// Notes that `\draw` assigns a variable here.
    pub(crate) fn draw(&mut self, name: &str) -> usize {
        self.drawn.push(name.to_owned());
        self.assign(name)
    }

    /// Whether a `\draw` that stands before sets it.
    pub(crate) fn is_drawn(&self, name: &str) -> bool {
        self.drawn.iter().any(|drawn| drawn == name)
    }

    /// Notes that an answer of the server assigns variables here.
    pub(crate) fn assign_prefixed(&mut self, prefix: &str) {
        self.before.prefixes.push(prefix.to_owned());
    }
}

impl Lookup for Known<'_> {
    fn find(&mut self, name: &str) -> Option<Found> {
        let certain = self.certain.iter().any(|known| known == name);
        let possible = certain
            || self.before.holds(name)
            || self.symbols.elsewhere.holds(name)
            || self.depth > 0 && self.anywhere.holds(name);
        possible.then(|| Found {
            slot: self.symbols.slot(name),
            certain,
        })
    }
}

/// Whether pgbench takes `name` for a variable: it begins with no digit.
pub fn is_variable_name(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.first().copied().is_some_and(is_name_start) && run(bytes, is_name) == bytes.len()
}
