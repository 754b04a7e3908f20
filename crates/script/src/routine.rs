//! Tells whether a statement is inside the body of a SQL routine, where semicolons end nothing.
//!
//! psql's heuristic (fe_utils/psqlscan.l): a statement that begins with CREATE [OR REPLACE]
//! FUNCTION or PROCEDURE may hold BEGIN … END, and CASE … END inside.

/// Follows the words of one statement.
#[derive(Debug, Default)]
pub(crate) struct Routine {
    words: usize,
    /// Initials of the first four words, where they are those of a routine's head.
    initials: [u8; 4],
    depth: usize,
}

const HEAD: [&str; 5] = ["create", "or", "replace", "function", "procedure"];

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
        if is("begin") || self.depth > 0 && is("case") {
            self.depth += 1;
        } else if is("end") {
            self.depth = self.depth.saturating_sub(1);
        }
    }

    /// Whether a semicolon now belongs to the body.
    pub(crate) fn is_open(&self) -> bool {
        self.depth > 0
    }
}
