//! A compiled statement: its text for each query mode, and the slots it reads.

/// As the driver sends statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// With `$1`, `$2` … in place of variables: for the extended and prepared modes.
    pub text: String,
    /// For the simple mode: what to send, piece after piece.
    pub pieces: Vec<Piece>,
    /// The slot of each parameter. A variable used twice is two parameters, as in pgbench, for
    /// the server may infer different types.
    pub params: Vec<usize>,
    /// The line its first word stands on, from 1.
    pub line: usize,
}

/// A part of a statement in the simple mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Literal(String),
    Variable(usize),
}

/// pgbench's own limit (MAX_ARGS − 1).
pub(crate) const MAX_PARAMETERS: usize = 255;

impl Sql {
    /// Compiles `text`, in which `variables` are (start, end, slot) in order.
    pub(crate) fn compile(text: &str, variables: &[(usize, usize, usize)], line: usize) -> Self {
        let mut sql = Self {
            text: String::with_capacity(text.len()),
            pieces: vec![],
            params: vec![],
            line,
        };
        let mut from = 0;
        for &(start, end, slot) in variables {
            sql.literal(&text[from..start]);
            sql.params.push(slot);
            sql.text.push_str(&format!("${}", sql.params.len()));
            sql.pieces.push(Piece::Variable(slot));
            from = end;
        }
        sql.literal(&text[from..]);
        sql
    }

    fn literal(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text);
            self.pieces.push(Piece::Literal(text.to_owned()));
        }
    }
}
