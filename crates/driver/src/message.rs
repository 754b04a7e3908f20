//! A SQL command made ready for one query mode: what it sends, and what becomes of its answer.

use steelyard_script::{Piece, Scope, Sql, Store, Value};
use steelyard_wire::Statement;

use crate::plan::Mode;

/// How a SQL command is sent.
pub struct Message {
    form: Form,
    /// Variables that may be undefined when it is reached.
    needs: Vec<(usize, String)>,
    /// Into which variables its answer goes.
    pub store: Option<Store>,
}

enum Form {
    Simple(Vec<Piece>),
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

impl Message {
    /// Encodes what can be encoded before the start; `number` is the statement's own among all of
    /// the plan. Err: no message can carry the text.
    pub fn new(sql: Sql, mode: Mode, number: usize) -> std::io::Result<Message> {
        let parameters = sql.params.len() as u16;
        let statement = |name: &str| {
            let statement = Statement::new(name, &sql.text, parameters)?;
            Ok::<_, std::io::Error>(match sql.store {
                Some(_) => statement.describing(),
                None => statement,
            })
        };
        let form = match mode {
            Mode::Simple => {
                steelyard_wire::simple_query(&sql.text)?;
                Form::Simple(sql.pieces)
            }
            Mode::Extended => Form::Extended {
                statement: statement("")?,
                slots: sql.params,
            },
            Mode::Prepared => Form::Prepared {
                number,
                statement: statement(&format!("s{number}"))?,
                slots: sql.params,
            },
        };
        Ok(Message {
            form,
            needs: sql.needs,
            store: sql.store,
        })
    }

    /// The number of the statement, where it is to be prepared.
    pub fn number(&self) -> Option<usize> {
        match self.form {
            Form::Prepared { number, .. } => Some(number),
            _ => None,
        }
    }

    /// Appends the message that prepares the statement, without Sync.
    pub fn encode_parse(&self, out: &mut Vec<u8>) {
        if let Form::Prepared { statement, .. } = &self.form {
            out.extend_from_slice(&statement.parse);
        }
    }

    /// The first variable that it needs and nothing has set.
    #[inline]
    pub fn missing(&self, scope: &Scope) -> Option<&str> {
        let undefined = |slot: usize| matches!(scope.values[slot], Value::Undefined);
        let missing = self.needs.iter().find(|(slot, _)| undefined(*slot));
        missing.map(|(_, name)| name.as_str())
    }

    /// Appends the message to `out`; true when it prepares its statement on the way.
    #[inline]
    pub fn encode(&self, scope: &Scope, prepared: &[bool], out: &mut Vec<u8>) -> bool {
        match &self.form {
            Form::Prepared {
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
            Form::Extended { statement, slots } => {
                out.extend_from_slice(&statement.parse);
                fill(statement, slots, scope, out);
                false
            }
            Form::Simple(pieces) => {
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
