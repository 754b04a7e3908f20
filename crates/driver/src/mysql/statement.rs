//! Compiles a SQL statement into the requests that one query mode sends.

use std::io;

use steelyard_mysql_wire::{
    begin_query, end_packet, execute, simple_query, write_literal, write_text, ParameterType,
    PrepareText,
};
use steelyard_script::{Piece, Scope, Sql, Value};

use crate::plan::Mode;

/// A statement, encoded as far as it can be before its parameters are known.
pub struct Statement {
    pieces: Vec<Piece>,
    prepared: Option<Prepared>,
    /// Its result goes into variables.
    pub captures: bool,
}

/// What preparing and executing needs.
pub struct Prepared {
    /// The statement's own number among all of the plan.
    pub number: usize,
    text: PrepareText,
    slots: Vec<usize>,
}

impl Statement {
    /// `number` is the statement's own among all of the plan. Err: no request can carry the text,
    /// or the mode is not to be had.
    pub fn compile(sql: Sql, mode: Mode, number: usize) -> io::Result<Statement> {
        let captures = sql.store.is_some();
        let text = sql.text(|_| "?".to_owned());
        simple_query(&text)?;
        let prepared = match mode {
            Mode::Simple => None,
            Mode::Extended => {
                let why = "MySQL's protocol has no unnamed statements; use simple or prepared";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
            Mode::Prepared => Some(Prepared {
                number,
                text: PrepareText::new(&text)?,
                slots: sql.params,
            }),
        };
        Ok(Statement {
            pieces: sql.pieces,
            prepared,
            captures,
        })
    }

    /// A text without variables.
    pub fn constant(text: String) -> Statement {
        Statement {
            pieces: vec![Piece::Literal(text)],
            prepared: None,
            captures: false,
        }
    }

    /// Where it is to be prepared.
    #[inline]
    pub fn prepared(&self) -> Option<&Prepared> {
        self.prepared.as_ref()
    }

    /// Appends a request to prepare the text, and one that executes it without waiting for the
    /// first one's reply: as a text, for its number is not known yet.
    #[cold]
    pub fn encode_first(&self, prepared: &Prepared, scope: &Scope, out: &mut Vec<u8>) {
        out.extend_from_slice(&prepared.text.0);
        self.encode_text(scope, out);
    }

    /// Appends a request that executes the text. The values are in it as pgbench puts them there;
    /// where it is to be prepared they mean what they mean as parameters: a text is a literal.
    #[inline]
    pub fn encode_text(&self, scope: &Scope, out: &mut Vec<u8>) {
        let start = begin_query(out);
        for piece in &self.pieces {
            match piece {
                Piece::Literal(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Variable(slot) => match &scope.values[*slot] {
                    Value::Text(text) if self.prepared.is_some() => {
                        write_literal(text.as_bytes(), out);
                    }
                    value => value.write_text(out),
                },
                // As with parameters, a colon in quotes is none where the statement is prepared.
                Piece::Perhaps(slot, text) => match &scope.values[*slot] {
                    value if self.prepared.is_none() && *value != Value::Undefined => {
                        value.write_text(out);
                    }
                    _ => out.extend_from_slice(text.as_bytes()),
                },
            }
        }
        end_packet(start, out);
    }
}

impl Prepared {
    /// Appends an execution under the number that the server gave.
    #[inline]
    pub fn encode(&self, statement: u32, scope: &Scope, out: &mut Vec<u8>) {
        execute(
            statement,
            self.slots.len(),
            out,
            |parameter, out| match &scope.values[self.slots[parameter]] {
                Value::Int(int) => {
                    out.extend_from_slice(&int.to_le_bytes());
                    ParameterType::Integer
                }
                Value::Double(double) => {
                    out.extend_from_slice(&double.to_le_bytes());
                    ParameterType::Double
                }
                Value::Bool(bool) => {
                    out.extend_from_slice(&i64::from(*bool).to_le_bytes());
                    ParameterType::Integer
                }
                Value::Text(text) => {
                    write_text(text.as_bytes(), out);
                    ParameterType::Text
                }
                Value::Null | Value::Undefined => ParameterType::Null,
            },
        );
    }
}
