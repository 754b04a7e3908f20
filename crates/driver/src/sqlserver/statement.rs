//! Compiles a SQL statement into the requests that one query mode sends.

use std::io;

use steelyard_script::{first_word, Piece, Scope, Sql, Value};
use steelyard_tds_wire::{
    begin_batch, begin_call, end_batch, end_call, widen, write_bit, write_double, write_handle,
    write_integer, write_text, write_text_null, write_wide, Procedure, LONGEST_SHORT_TEXT,
};

use crate::plan::Mode;

/// The longest text of a statement.
const LONGEST: usize = 1 << 24;
/// With more parameters their declarations are a long text: each takes at most 23 characters.
const MOST_SHORTLY_DECLARED: usize = LONGEST_SHORT_TEXT / 23;

/// A statement, encoded as far as it can be before its parameters are known.
pub struct Statement {
    pieces: Vec<WidePiece>,
    /// A text among its values is a literal, as it would be a parameter; in the simple mode it is a
    /// part of the statement.
    quotes: bool,
    called: Option<Called>,
    /// Its result goes into variables.
    pub captures: bool,
}

/// A part of a text in UTF-16.
enum WidePiece {
    Literal(Vec<u8>),
    Variable(usize),
    /// A variable where it has a value, else these bytes of the text.
    Perhaps(usize, Vec<u8>),
}

/// A statement that is executed by a procedure, with parameters.
pub struct Called {
    /// Its own number among all of the plan, where it is prepared; without, its text is sent each
    /// time.
    pub number: Option<usize>,
    text: String,
    slots: Vec<usize>,
}

/// The type that a parameter is declared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Double,
    Bit,
    Text,
    LongText,
}

impl Kind {
    /// `None`: NULL, which is of every type.
    #[inline]
    fn of(value: &Value) -> Option<Kind> {
        match value {
            Value::Int(_) => Some(Kind::Integer),
            Value::Double(_) => Some(Kind::Double),
            Value::Bool(_) => Some(Kind::Bit),
            // Never more UTF-16 units than bytes.
            Value::Text(text) if text.len() > LONGEST_SHORT_TEXT => Some(Kind::LongText),
            Value::Text(_) => Some(Kind::Text),
            Value::Null | Value::Undefined => None,
        }
    }

    #[inline]
    fn takes(self, value: &Value) -> bool {
        let kind = Kind::of(value).unwrap_or(self);
        kind == self || (self == Kind::LongText && kind == Kind::Text)
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Integer => "bigint",
            Kind::Double => "float",
            Kind::Bit => "bit",
            Kind::Text => "nvarchar(4000)",
            Kind::LongText => "nvarchar(max)",
        }
    }
}

impl Statement {
    /// `number` is the statement's own among all of the plan. Err: no request can carry the text.
    pub fn compile(sql: Sql, mode: Mode, number: usize) -> io::Result<Statement> {
        let captures = sql.store.is_some();
        let text = sql.text(|number| format!("@P{number}"));
        if text.len() > LONGEST {
            let why = format!("a statement of {} bytes", text.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        if let Some(said) = in_its_words(&text) {
            return Ok(Statement::constant(said));
        }
        let number = match mode {
            Mode::Simple => None,
            Mode::Extended => Some(None),
            Mode::Prepared => Some(Some(number)),
        };
        let called = number.filter(|_| is_callable(&text)).map(|number| Called {
            number,
            text,
            slots: sql.params,
        });
        let as_text = called.is_none();
        let wide = |text: &str| {
            let mut out = Vec::new();
            write_wide(text, &mut out);
            out
        };
        let pieces = sql.pieces.into_iter().map(|piece| match piece {
            Piece::Literal(text) => WidePiece::Literal(wide(&text)),
            Piece::Variable(slot) => WidePiece::Variable(slot),
            Piece::Perhaps(slot, text) if mode == Mode::Simple => {
                WidePiece::Perhaps(slot, wide(&text))
            }
            // As with parameters, a colon in quotes is none.
            Piece::Perhaps(_, text) => WidePiece::Literal(wide(&text)),
        });
        Ok(Statement {
            pieces: if as_text {
                pieces.collect()
            } else {
                Vec::new()
            },
            quotes: mode != Mode::Simple,
            called,
            captures,
        })
    }

    /// A text without variables.
    pub fn constant(text: &str) -> Statement {
        let mut wide = Vec::new();
        write_wide(text, &mut wide);
        Statement {
            pieces: vec![WidePiece::Literal(wide)],
            quotes: false,
            called: None,
            captures: false,
        }
    }

    /// Where it is executed with parameters.
    #[inline]
    pub fn called(&self) -> Option<&Called> {
        self.called.as_ref()
    }

    /// Appends a request that executes the text, with the values in it as pgbench puts them there.
    #[inline]
    pub fn encode_text(&self, transaction: u64, scope: &Scope, out: &mut Vec<u8>) {
        let start = begin_batch(transaction, out);
        for piece in &self.pieces {
            match piece {
                WidePiece::Literal(text) => out.extend_from_slice(text),
                WidePiece::Variable(slot) => {
                    write_literal(&scope.values[*slot], self.quotes, out);
                }
                WidePiece::Perhaps(slot, text) => match &scope.values[*slot] {
                    Value::Undefined => out.extend_from_slice(text),
                    value => write_literal(value, self.quotes, out),
                },
            }
        }
        end_batch(start, out);
    }
}

/// Appends a value as a part of a text in UTF-16; `true` and `false` are no words of T-SQL.
#[inline]
fn write_literal(value: &Value, quotes: bool, out: &mut Vec<u8>) {
    let start = out.len();
    match value {
        Value::Bool(bool) => out.push(b'0' + u8::from(*bool)),
        Value::Text(text) if quotes => {
            out.extend_from_slice(b"N'");
            out.extend_from_slice(text.replace('\'', "''").as_bytes());
            out.push(b'\'');
        }
        value => value.write_text(out),
    }
    widen(start, out);
}

impl Called {
    /// Whether parameters that were declared as these types take the present values.
    #[inline]
    pub fn fits(&self, kinds: &[Kind], scope: &Scope) -> bool {
        let values = self.slots.iter().map(|slot| &scope.values[*slot]);
        kinds
            .iter()
            .zip(values)
            .all(|(kind, value)| kind.takes(value))
    }

    /// The types that the present values call for.
    pub fn kinds(&self, scope: &Scope) -> Vec<Kind> {
        let values = self.slots.iter().map(|slot| &scope.values[*slot]);
        values
            .map(|value| Kind::of(value).unwrap_or(Kind::Text))
            .collect()
    }

    /// Appends an execution under the server's handle.
    #[inline]
    pub fn encode(
        &self,
        handle: i32,
        kinds: &[Kind],
        transaction: u64,
        scope: &Scope,
        out: &mut Vec<u8>,
    ) {
        let start = begin_call(Procedure::Execute, transaction, out);
        write_handle(Some(handle), false, out);
        self.write_values(kinds, scope, out);
        end_call(start, out);
    }

    /// Appends a request that prepares the statement and executes it; a handle that it had is given
    /// up.
    #[cold]
    pub fn encode_first(
        &self,
        handle: Option<i32>,
        kinds: &[Kind],
        transaction: u64,
        scope: &Scope,
        out: &mut Vec<u8>,
    ) {
        let start = begin_call(Procedure::PrepareAndExecute, transaction, out);
        write_handle(handle, true, out);
        write_declarations(kinds, out);
        self.write_own_text(out);
        self.write_values(kinds, scope, out);
        end_call(start, out);
    }

    /// Appends an execution of the text with parameters, of which the server keeps nothing by name.
    pub fn encode_unnamed(&self, transaction: u64, scope: &Scope, out: &mut Vec<u8>) {
        let start = begin_call(Procedure::ExecuteText, transaction, out);
        self.write_own_text(out);
        if !self.slots.is_empty() {
            let kinds = self.kinds(scope);
            write_declarations(&kinds, out);
            self.write_values(&kinds, scope, out);
        }
        end_call(start, out);
    }

    fn write_own_text(&self, out: &mut Vec<u8>) {
        let long = self.text.len() > LONGEST_SHORT_TEXT;
        write_text(long, out, |out| out.extend_from_slice(self.text.as_bytes()));
    }

    #[inline]
    fn write_values(&self, kinds: &[Kind], scope: &Scope, out: &mut Vec<u8>) {
        for (kind, slot) in kinds.iter().zip(&self.slots) {
            match (kind, &scope.values[*slot]) {
                (Kind::Integer, Value::Int(int)) => write_integer(Some(*int), out),
                (Kind::Integer, _) => write_integer(None, out),
                (Kind::Double, Value::Double(double)) => write_double(Some(*double), out),
                (Kind::Double, _) => write_double(None, out),
                (Kind::Bit, Value::Bool(bool)) => write_bit(Some(*bool), out),
                (Kind::Bit, _) => write_bit(None, out),
                (kind, Value::Text(text)) => write_text(*kind == Kind::LongText, out, |out| {
                    out.extend_from_slice(text.as_bytes());
                }),
                (kind, _) => write_text_null(*kind == Kind::LongText, out),
            }
        }
    }
}

/// Appends the declarations of parameters: `@P1 bigint,@P2 float`; NULL where there are none.
fn write_declarations(kinds: &[Kind], out: &mut Vec<u8>) {
    let long = kinds.len() > MOST_SHORTLY_DECLARED;
    if kinds.is_empty() {
        return write_text_null(long, out);
    }
    write_text(long, out, |out| {
        for (number, kind) in kinds.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let declared = format!("{comma}@P{} {}", number + 1, kind.name());
            out.extend_from_slice(declared.as_bytes());
        }
    });
}

/// What a statement of pgbench's is in T-SQL, where `BEGIN` and `END` alone are no statements.
fn in_its_words(text: &str) -> Option<&'static str> {
    let bare = text.trim().trim_end_matches(';').trim_end();
    if bare.eq_ignore_ascii_case("begin") {
        Some("BEGIN TRANSACTION;")
    } else if bare.eq_ignore_ascii_case("end") {
        Some("COMMIT TRANSACTION;")
    } else {
        None
    }
}

/// Whether a statement means the same inside of a procedure. Others do not: a transaction may not
/// begin or end there (error 266), and settings and temporary tables end with it.
fn is_callable(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    match first_word(text).to_ascii_uppercase().as_str() {
        "INSERT" | "UPDATE" | "DELETE" | "MERGE" | "EXEC" | "EXECUTE" => true,
        // What only reads a temporary table, or writes into one, may go as a text as well.
        "SELECT" | "WITH" => {
            !(text.contains('#') && words.any(|word| word.eq_ignore_ascii_case("INTO")))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_procedure_would_undo_is_sent_as_a_text() {
        for text in [
            "SELECT 1;",
            " update t SET x = 1",
            "with a AS (SELECT 1 b) SELECT b FROM a",
            "SELECT i FROM #t",
            "INSERT INTO #t SELECT i FROM u",
            "SELECT i INTO kept FROM u",
            "/* shop: orders /* 7 */ */ SELECT 1",
            "/* a */ -- b\n UPDATE t SET x = 1",
            "(SELECT 1) UNION ALL (SELECT 2)",
        ] {
            assert!(is_callable(text), "{text}");
        }
        for text in [
            "SET LOCK_TIMEOUT 5",
            "COMMIT",
            "BEGIN TRAN",
            "CREATE TABLE #t (i int)",
            "SELECT i INTO #t FROM u",
            "with a AS (SELECT 1 b)\nSELECT b into\n[#t] FROM a",
            "SELECT i INTO tempdb..#t FROM u",
            "/* SELECT */ SET LOCK_TIMEOUT 5",
            "/* no end",
            "",
        ] {
            assert!(!is_callable(text), "{text}");
        }
    }

    #[test]
    fn a_block_of_pgbench_is_a_transaction() {
        assert_eq!(in_its_words("BEGIN;"), Some("BEGIN TRANSACTION;"));
        assert_eq!(in_its_words(" end ; "), Some("COMMIT TRANSACTION;"));
        assert_eq!(in_its_words("BEGIN SELECT 1 END"), None);
    }

    #[test]
    fn a_text_is_a_literal_where_it_would_be_a_parameter() {
        for (value, quotes, wanted) in [
            (Value::Text("it's".to_owned()), true, "N'it''s'"),
            (Value::Text("it's".to_owned()), false, "it's"),
            (Value::Bool(true), true, "1"),
            (Value::Null, true, "NULL"),
            (Value::Int(-3), false, "-3"),
        ] {
            let (mut written, mut wide) = (Vec::new(), Vec::new());
            write_literal(&value, quotes, &mut written);
            write_wide(wanted, &mut wide);
            assert_eq!(written, wide);
        }
    }

    #[test]
    fn a_type_takes_null_and_what_it_was_declared_for() {
        let long = Value::Text("x".repeat(4001));
        assert!(Kind::Integer.takes(&Value::Null));
        assert!(Kind::Integer.takes(&Value::Int(3)));
        assert!(!Kind::Integer.takes(&Value::Double(0.5)));
        assert!(Kind::LongText.takes(&Value::Text(String::new())));
        assert!(!Kind::Text.takes(&long));
        assert!(Kind::LongText.takes(&long));
    }
}
