//! Defines a compiled statement: its text for each query mode, and the slots it reads.

use crate::error::ScriptError;

/// As the driver sends statements.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sql {
    /// The text, piece after piece: the simple mode puts the variables' values into it.
    pub pieces: Vec<Piece>,
    /// The slot of each parameter. A variable used twice is two parameters, as in pgbench, for
    /// the server may infer different types; one that `\draw` sets is a single one, for its
    /// script was written with `$1` used twice: the server infers its type from both places.
    pub params: Vec<usize>,
    /// The parameter of each [`Piece::Variable`], from 1.
    pub numbers: Vec<usize>,
    /// The line its first word stands on, from 1.
    pub line: usize,
    /// Variables that may be undefined when the statement is reached.
    pub needs: Vec<(usize, String)>,
    /// Into which variables its answer goes.
    pub store: Option<Store>,
    /// Why it cannot be sent in the extended and prepared modes.
    pub only_simple: Option<Box<ScriptError>>,
}

/// A part of a statement's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Literal(String),
    Variable(usize),
    /// A variable where a colon need not mean one: in quotes, a comment, a subscript. The text
    /// stays as it is while the variable is undefined.
    Perhaps(usize, String),
}

/// `\gset` and `\aset`: columns of an answer become variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// Stands before the name of each column.
    pub prefix: String,
    /// `\aset`: of every statement of the message; otherwise of the last one, which must return
    /// exactly one row.
    pub all: bool,
}

/// pgbench's own limit (MAX_ARGS − 1).
pub(crate) const MAX_PARAMETERS: usize = 255;

impl Sql {
    /// The text for the extended and prepared modes; `placeholder` writes what stands for a
    /// parameter, by its number from 1.
    pub fn text(&self, placeholder: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        let mut numbers = self.numbers.iter();
        for piece in &self.pieces {
            match piece {
                Piece::Literal(literal) | Piece::Perhaps(_, literal) => text.push_str(literal),
                Piece::Variable(_) => {
                    let number = numbers.next().expect("a number for each variable");
                    text.push_str(&placeholder(*number));
                }
            }
        }
        text
    }

    /// Text without a variable.
    pub(crate) fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Literal(text.to_owned())),
        }
    }

    /// A place of a parameter: of a new one, unless `shared` and the slot has one.
    pub(crate) fn push_parameter(&mut self, slot: usize, shared: bool) {
        let earlier = self
            .params
            .iter()
            .position(|&known| shared && known == slot);
        let place = earlier.unwrap_or_else(|| {
            self.params.push(slot);
            self.params.len() - 1
        });
        self.numbers.push(place + 1);
        self.pieces.push(Piece::Variable(slot));
    }

    /// A `:name` that only the simple mode may replace.
    pub(crate) fn push_perhaps(&mut self, slot: usize, raw: &str) {
        self.pieces.push(Piece::Perhaps(slot, raw.to_owned()));
    }
}
