//! Compiles a SQL statement into the messages that one query mode sends.

use std::hash::{BuildHasher, RandomState};
use std::io;

use steelyard_script::{Piece, Scope, Sql, Value};
use steelyard_wire::{simple_query, sync, Statement as Messages};

use crate::plan::Mode;

/// A statement, encoded as far as it can be before its parameters are known.
pub struct Statement {
    form: Form,
    /// Its result goes into variables.
    pub captures: bool,
}

enum Form {
    Simple(Vec<Piece>),
    Extended {
        messages: Messages,
        slots: Vec<usize>,
    },
    Prepared {
        number: usize,
        messages: Messages,
        slots: Vec<usize>,
    },
}

impl Statement {
    /// `number` is the statement's own among all of the plan. Err: no message can carry the text.
    pub fn compile(sql: Sql, mode: Mode, number: usize) -> io::Result<Statement> {
        let parameters = sql.params.len() as u16;
        let captures = sql.store.is_some();
        let text = sql.text(|number| format!("${number}"));
        let messages = |name: &str| {
            let messages = Messages::new(name, &text, parameters)?;
            Ok::<_, io::Error>(match captures {
                true => messages.describing(),
                false => messages,
            })
        };
        let form = match mode {
            Mode::Simple => {
                simple_query(&text)?;
                Form::Simple(sql.pieces)
            }
            Mode::Extended => Form::Extended {
                messages: messages("")?,
                slots: sql.params,
            },
            Mode::Prepared => Form::Prepared {
                number,
                messages: messages(&unique_name())?,
                slots: sql.params,
            },
        };
        Ok(Statement { form, captures })
    }

    /// A simple query without variables.
    pub fn constant(text: String) -> Statement {
        Statement {
            form: Form::Simple(vec![Piece::Literal(text)]),
            captures: false,
        }
    }

    /// The number of the statement, where it is to be prepared.
    #[inline]
    pub fn number(&self) -> Option<usize> {
        match self.form {
            Form::Prepared { number, .. } => Some(number),
            _ => None,
        }
    }

    /// Appends the message that prepares the statement, without Sync.
    pub fn encode_parse(&self, out: &mut Vec<u8>) {
        if let Form::Prepared { messages, .. } = &self.form {
            out.extend_from_slice(&messages.parse);
        }
    }

    /// Appends the message by which the server forgets the statement.
    pub fn encode_close(&self, out: &mut Vec<u8>) {
        if let Form::Prepared { messages, .. } = &self.form {
            messages.close(out);
        }
    }

    /// Appends the messages that execute the statement to `out`; `Some`: the number of a statement
    /// that they also prepare.
    #[inline]
    pub fn encode(&self, scope: &Scope, prepared: &[bool], out: &mut Vec<u8>) -> Option<usize> {
        match &self.form {
            Form::Prepared {
                number,
                messages,
                slots,
            } => {
                let first = !prepared[*number];
                if first {
                    out.extend_from_slice(&messages.parse);
                }
                fill(messages, slots, scope, out);
                first.then_some(*number)
            }
            Form::Extended { messages, slots } => {
                out.extend_from_slice(&messages.parse);
                fill(messages, slots, scope, out);
                None
            }
            Form::Simple(pieces) => {
                encode_simple(pieces, scope, out);
                None
            }
        }
    }

    /// The same inside a pipeline, where the server answers only once it is synchronized.
    pub fn encode_without_sync(&self, scope: &Scope, prepared: &[bool], out: &mut Vec<u8>) {
        self.encode(scope, prepared, out);
        out.truncate(out.len() - sync().len());
    }
}

/// A name that no other statement has, of this run or another: a pooler that does not keep prepared
/// statements leaves them on the server's connections, where a second run that used the same name
/// would execute the first one's statement.
fn unique_name() -> String {
    // Keys from the operating system, and other ones at each call.
    format!("steelyard_{:016x}", RandomState::new().hash_one(()))
}

#[inline]
fn fill(messages: &Messages, slots: &[usize], scope: &Scope, out: &mut Vec<u8>) {
    messages.bind.fill(out, slots.len(), |parameter, out| {
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
            Piece::Perhaps(slot, text) => match &scope.values[*slot] {
                Value::Undefined => out.extend_from_slice(text.as_bytes()),
                value => value.write_text(out),
            },
        }
    }
    out.push(0);
    let length = (out.len() - start - 1) as i32;
    out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_statements_have_one_name() {
        let names: HashSet<String> = (0..10_000).map(|_| unique_name()).collect();
        assert_eq!(names.len(), 10_000);
        let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(unique_name)).collect();
        let other: HashSet<String> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert!(other.len() == 8 && other.is_disjoint(&names));
    }
}
