//! Detects whether a statement is inside the body of a SQL routine, where semicolons end nothing.
//!
//! psql's heuristic (fe_utils/psqlscan.l): a statement that begins with CREATE [OR REPLACE]
//! FUNCTION or PROCEDURE may hold BEGIN … END, and CASE … END inside. Beyond psql, such a statement
//! may begin as in T-SQL (ALTER, PROC), in whose bodies BEGIN TRANSACTION opens nothing, and whose
//! triggers have bodies too; where a procedure's or a trigger's body ends is said by AS BEGIN … END
//! alone. In MySQL a DEFINER may stand before what is defined, triggers and events have bodies too,
//! IF, LOOP, WHILE and REPEAT end in two words and open nothing here, and a CASE statement ends in
//! END CASE.

use crate::dialect::Dialect;

/// Follows the words of one statement.
#[derive(Debug, Default)]
pub(crate) struct Routine {
    dialect: Dialect,
    words: usize,
    /// Initials of the first four words, where they are those of a routine's head.
    initials: [u8; 4],
    /// Of MySQL's CREATE, whether what it defines has a body.
    has_body: Option<bool>,
    depth: usize,
    /// The last word was MySQL's END, and nothing else has followed it.
    ending: bool,
    /// The last word was BEGIN.
    beginning: bool,
    /// The last word was AS.
    leading: bool,
    /// The body is T-SQL's BEGIN … END behind AS.
    is_enclosed: bool,
}

const HEAD: [&str; 8] = [
    "create",
    "or",
    "replace",
    "alter",
    "function",
    "procedure",
    "proc",
    "trigger",
];
const WITH_BODY: [&str; 4] = ["function", "procedure", "trigger", "event"];
const WITHOUT_BODY: [&str; 6] = ["view", "table", "index", "user", "database", "schema"];
/// Behind END they name the statement of MySQL that ends: its beginning was not counted.
const UNCOUNTED: [&str; 4] = ["if", "loop", "while", "repeat"];
const TRANSACTION: [&str; 3] = ["tran", "transaction", "distributed"];

impl Routine {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            ..Self::default()
        }
    }

    /// The next identifier outside parentheses.
    pub(crate) fn hear(&mut self, word: &str) {
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        if let Some(initial) = self.initials.get_mut(self.words) {
            if HEAD.into_iter().any(is) {
                *initial = word.as_bytes()[0].to_ascii_lowercase();
            }
        }
        self.words += 1;
        if !self.defines(is) {
            return;
        }
        let mysql = self.dialect == Dialect::Mysql;
        let ending = std::mem::replace(&mut self.ending, mysql && self.depth > 0 && is("end"));
        let beginning = std::mem::replace(&mut self.beginning, is("begin"));
        let leading = std::mem::replace(&mut self.leading, is("as"));
        let opened = self.depth == 1 && beginning;
        let begins_other = opened && (is("try") || TRANSACTION.into_iter().any(is));
        self.is_enclosed = leading && is("begin") || self.is_enclosed && !begins_other;
        let opens = is("begin") || self.depth > 0 && !ending && is("case");
        if opens || ending && UNCOUNTED.into_iter().any(is) {
            self.depth += 1;
        } else if self.depth > 0 && is("end")
            || self.depth > 1 && beginning && TRANSACTION.into_iter().any(is)
        {
            self.depth -= 1;
        }
    }

    /// Whether a semicolon may end the statement or, as the server has it, belong to the body.
    pub(crate) fn is_unclear(&self) -> bool {
        let without_end = matches!(self.defined(), b'p' | b't') && !self.is_enclosed;
        self.dialect == Dialect::SqlServer && without_end
    }

    /// Whether the statement defines what may have a body, its present word considered.
    fn defines(&mut self, is: impl Fn(&str) -> bool) -> bool {
        if self.dialect == Dialect::Mysql {
            if self.has_body.is_none() && WITH_BODY.into_iter().any(&is) {
                self.has_body = Some(true);
            } else if self.has_body.is_none() && WITHOUT_BODY.into_iter().any(&is) {
                self.has_body = Some(false);
            }
            return self.initials[0] == b'c' && self.has_body == Some(true);
        }
        match self.defined() {
            b'f' | b'p' => true,
            b't' => self.dialect == Dialect::SqlServer,
            _ => false,
        }
    }

    /// The initial of what is created or altered: function, procedure or trigger; else 0.
    fn defined(&self) -> u8 {
        match self.initials {
            [b'c', b'o', b'r' | b'a', initial] => initial,
            [b'c' | b'a', initial, ..] => initial,
            _ => 0,
        }
    }

    /// What is neither a word nor a blank, outside of strings and comments.
    pub(crate) fn hear_mark(&mut self) {
        self.ending = false;
    }

    /// Whether a semicolon now belongs to the body.
    pub(crate) fn is_open(&self) -> bool {
        self.depth > 0
    }
}
