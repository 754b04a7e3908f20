//! Detects whether a statement is inside the body of a SQL routine, where semicolons end nothing.
//!
//! psql's heuristic (fe_utils/psqlscan.l): a statement that begins with CREATE [OR REPLACE]
//! FUNCTION or PROCEDURE may hold BEGIN … END, and CASE … END inside. Beyond psql, a body may be
//! written as MySQL has it: IF, LOOP, WHILE and REPEAT end in two words and open nothing here, and
//! a CASE statement ends in END CASE.

/// Follows the words of one statement.
#[derive(Debug, Default)]
pub(crate) struct Routine {
    words: usize,
    /// Initials of the first four words, where they are those of a routine's head.
    initials: [u8; 4],
    depth: usize,
    /// The last word was END, and no semicolon has followed it.
    ending: bool,
}

const HEAD: [&str; 5] = ["create", "or", "replace", "function", "procedure"];
/// Behind END they name the statement of MySQL that ends: its beginning was not counted.
const UNCOUNTED: [&str; 4] = ["if", "loop", "while", "repeat"];

impl Routine {
    /// The next identifier outside parentheses.
    pub(crate) fn hear(&mut self, word: &str) {
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        if let Some(initial) = self.initials.get_mut(self.words) {
            if HEAD.into_iter().any(is) {
                *initial = word.as_bytes()[0].to_ascii_lowercase();
            }
        }
        self.words += 1;
        let defines = matches!(
            self.initials,
            [b'c', b'f' | b'p', ..] | [b'c', b'o', b'r', b'f' | b'p']
        );
        if !defines {
            return;
        }
        let ending = std::mem::replace(&mut self.ending, self.depth > 0 && is("end"));
        let opens = is("begin") || self.depth > 0 && !ending && is("case");
        if opens || ending && UNCOUNTED.into_iter().any(is) {
            self.depth += 1;
        } else if self.ending {
            self.depth -= 1;
        }
    }

    /// A semicolon inside the body.
    pub(crate) fn hear_semicolon(&mut self) {
        self.ending = false;
    }

    /// Whether a semicolon now belongs to the body.
    pub(crate) fn is_open(&self) -> bool {
        self.depth > 0
    }
}
