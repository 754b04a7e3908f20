//! Splits a script into SQL statements and backslash commands, by the lexical rules of psql;
//! strings and comments are those of the dialect.

use crate::dialect::Dialect;
use crate::quote::{
    end_of_brackets, end_of_comment, end_of_dollar, end_of_plain_comment, end_of_quoted,
    end_of_word,
};
use crate::routine::Routine;
use crate::token::{is_name_start, run};

/// One part of a script; offsets are bytes of the whole text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Statement(Statement),
    /// A backslash command from its backslash to the end of its last line.
    Backslash {
        start: usize,
        end: usize,
    },
}

/// A statement with its semicolon.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Statement {
    pub start: usize,
    pub end: usize,
    /// Strings, comments and subscripts in it, in no order.
    pub regions: Vec<Region>,
    /// Backslashes that are not sent: those before `;` and `:`.
    pub dropped: Vec<usize>,
    /// The first `\;`: from there on it is more than one statement.
    pub joined_at: Option<usize>,
}

/// A stretch of a statement in which a colon may mean something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub start: usize,
    pub end: usize,
    pub kind: RegionKind,
}

/// From the weakest to the strongest: a comment inside a subscript is a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RegionKind {
    /// Between `[` and `]`, where a colon may be that of a slice.
    Subscript,
    /// A string or a quoted identifier.
    Quoted,
    Comment,
    /// A comment that a planner or a server reads: `/*+ … */`, of MySQL and MariaDB `/*! … */` too.
    Hint,
}

/// What cannot be cut: an offset and the reason.
pub(crate) type Fault = (usize, &'static str);

/// The next part at or after `from`; `None` at the end of the script.
pub(crate) fn next_part(text: &str, from: usize, dialect: Dialect) -> Result<Option<Part>, Fault> {
    let start = skip_blank(text, from, dialect);
    match text.as_bytes().get(start) {
        None => Ok(None),
        Some(b'\\') if !is_escaped(text.as_bytes(), start) => Ok(Some(Part::Backslash {
            start,
            end: end_of_command(text, start),
        })),
        Some(_) => match word_of_a_client(&text[start..], dialect) {
            Some(why) => Err((start, why)),
            None => cut(text, start, dialect).map(Some),
        },
    }
}

/// `\;` and `\:` put a plain semicolon or colon into the statement.
fn is_escaped(bytes: &[u8], backslash: usize) -> bool {
    matches!(bytes.get(backslash + 1), Some(b';' | b':'))
}

/// Past white space and line comments before a statement: they are not sent.
fn skip_blank(text: &str, from: usize, dialect: Dialect) -> usize {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += run(&bytes[at..], |byte| {
            byte.is_ascii_whitespace() || byte == 0x0b
        });
        let hash = dialect == Dialect::Mysql && bytes.get(at) == Some(&b'#');
        if !hash && !bytes[at..].starts_with(b"--") {
            return at;
        }
        at += run(&bytes[at..], |byte| byte != b'\n');
    }
}

/// A line that ends in a backslash goes on in the next one.
fn end_of_command(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    loop {
        at += run(&bytes[at..], |byte| byte != b'\n');
        let line = text[start..at].trim_end_matches('\r');
        if at == bytes.len() || !line.ends_with('\\') {
            return at;
        }
        at += 1;
    }
}

/// Why a text begins with no statement, but with a word of the client that a server comes with.
fn word_of_a_client(text: &str, dialect: Dialect) -> Option<&'static str> {
    let line = text.lines().next().unwrap_or_default();
    let word = line.split_whitespace().next().unwrap_or_default();
    match dialect {
        Dialect::Mysql if word.eq_ignore_ascii_case("delimiter") => Some(
            "DELIMITER is a word of the client mysql: leave it out, for a routine whose body is \
             BEGIN ... END is one statement",
        ),
        Dialect::Postgres | Dialect::SqlServer if is_batch_end(line) => Some(GO),
        _ => None,
    }
}

const GO: &str =
    "GO is a word of the client sqlcmd: leave it out, for a semicolon ends a statement";

const UNCLEAR: &str = "where the body of this procedure or trigger ends cannot be told: \
     put it between AS BEGIN and END";

/// Whether anything that a server would be sent stands behind a statement.
fn is_followed(text: &str, end: usize, dialect: Dialect) -> bool {
    let next = text.as_bytes().get(skip_blank(text, end, dialect));
    next.is_some_and(|byte| *byte != b'\\')
}

/// Whether a line is sqlcmd's end of a batch: GO, how often it is sent, and a comment.
fn is_batch_end(line: &str) -> bool {
    let (line, _) = line.split_once("--").unwrap_or((line, ""));
    let mut words = line
        .trim_end_matches([' ', '\t', '\r', ';'])
        .split_whitespace();
    let (first, count) = (words.next(), words.next().unwrap_or_default());
    let is_go = first.is_some_and(|word| word.eq_ignore_ascii_case("go"));
    is_go && count.bytes().all(|byte| byte.is_ascii_digit()) && words.next().is_none()
}

/// Whether the word at `at` is the first one of its line, and that one an end of a batch.
fn ends_batch(text: &str, at: usize) -> bool {
    let is_blank = |letter: char| letter.is_whitespace() && letter != '\n';
    let before = text[..at].trim_end_matches(is_blank);
    let is_first = before.is_empty() || before.ends_with('\n');
    is_first && is_batch_end(text[at..].lines().next().unwrap_or_default())
}

/// A statement, or nothing but a comment before a backslash command.
fn cut(text: &str, start: usize, dialect: Dialect) -> Result<Part, Fault> {
    let bytes = text.as_bytes();
    let mut found = Statement {
        start,
        ..Statement::default()
    };
    let mut routine = Routine::new(dialect);
    let mut open_parens = 0usize;
    let mut open_brackets = Vec::new();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b';' if open_parens == 0 && !routine.is_open() => {
                at += 1;
                if routine.is_unclear() && is_followed(text, at, dialect) {
                    return Err((start, UNCLEAR));
                }
                break;
            }
            b'\\' if !is_escaped(bytes, at) => break,
            b'\\' => {
                found.dropped.push(at);
                if bytes[at + 1] == b';' {
                    found.joined_at.get_or_insert(at);
                    routine = Routine::new(dialect);
                    at += 1;
                }
            }
            b';' => routine.hear_mark(),
            b'(' => open_parens += 1,
            b')' => open_parens = open_parens.saturating_sub(1),
            b'[' if dialect != Dialect::SqlServer => open_brackets.push(at),
            b']' if dialect != Dialect::SqlServer => found.subscript(open_brackets.pop(), at),
            byte if is_name_start(byte) || byte.is_ascii_digit() => {
                let end = end_of_word(bytes, at);
                if dialect == Dialect::SqlServer && ends_batch(text, at) {
                    return Err((at, GO));
                }
                if open_parens == 0 && is_name_start(byte) {
                    routine.hear(&text[at..end]);
                }
                let escapes = dialect == Dialect::Postgres && matches!(&text[at..end], "e" | "E");
                at = end;
                if escapes && bytes.get(end) == Some(&b'\'') {
                    at = found.quoted(end, end_of_quoted(bytes, end, true)?);
                }
                continue;
            }
            _ => {
                if let Some((end, kind)) = region_at(bytes, at, dialect)? {
                    found.regions.push(Region {
                        start: at,
                        end,
                        kind,
                    });
                    at = end;
                    continue;
                }
                if !bytes[at].is_ascii_whitespace() {
                    routine.hear_mark();
                }
            }
        }
        at += 1;
    }
    found.end = at;
    Ok(Part::Statement(found))
}

impl Statement {
    /// Between brackets; `start`: where they were opened, if they were.
    fn subscript(&mut self, start: Option<usize>, end: usize) {
        let kind = RegionKind::Subscript;
        self.regions
            .extend(start.map(|start| Region { start, end, kind }));
    }

    fn quoted(&mut self, start: usize, end: usize) -> usize {
        self.regions.push(Region {
            start,
            end,
            kind: RegionKind::Quoted,
        });
        end
    }
}

/// Where a string or a comment that begins at `at` ends.
fn region_at(
    bytes: &[u8],
    at: usize,
    dialect: Dialect,
) -> Result<Option<(usize, RegionKind)>, Fault> {
    let rest = &bytes[at..];
    let is_t_sql = dialect == Dialect::SqlServer;
    if dialect == Dialect::Mysql {
        return mysql_region_at(bytes, at);
    }
    Ok(match rest[0] {
        b'\'' | b'"' => Some((end_of_quoted(bytes, at, false)?, RegionKind::Quoted)),
        b'[' if is_t_sql => Some((end_of_brackets(bytes, at)?, RegionKind::Quoted)),
        b'$' if is_t_sql => None, // of money, or a word: $action
        b'$' => Some((end_of_dollar(bytes, at)?, RegionKind::Quoted)),
        b'-' if rest.starts_with(b"--") => {
            Some((at + run(rest, |byte| byte != b'\n'), RegionKind::Comment))
        }
        b'/' if rest.starts_with(b"/*") => {
            let hints: &[&[u8]] = if is_t_sql { &[] } else { &[b"/*+"] };
            Some((end_of_comment(bytes, at)?, kind_of_comment(rest, hints)))
        }
        _ => None,
    })
}

/// As `region_at`. Source: MySQL 5.7's manual, "String Literals" and "Comments".
fn mysql_region_at(bytes: &[u8], at: usize) -> Result<Option<(usize, RegionKind)>, Fault> {
    let rest = &bytes[at..];
    let line = || Some((at + run(rest, |byte| byte != b'\n'), RegionKind::Comment));
    Ok(match rest[0] {
        b'\'' | b'"' => Some((end_of_quoted(bytes, at, true)?, RegionKind::Quoted)),
        b'`' => Some((end_of_quoted(bytes, at, false)?, RegionKind::Quoted)),
        b'#' => line(),
        // Without a space behind them these are two minus signs.
        b'-' if rest.starts_with(b"--") => match rest.get(2) {
            Some(byte) if !byte.is_ascii_whitespace() => None,
            _ => line(),
        },
        b'/' if rest.starts_with(b"/*") => {
            let kind = kind_of_comment(rest, &[b"/*+", b"/*!", b"/*M!"]);
            Some((end_of_plain_comment(bytes, at)?, kind))
        }
        _ => None,
    })
}

/// `hints`: how those begin that are more than words for people.
fn kind_of_comment(comment: &[u8], hints: &[&[u8]]) -> RegionKind {
    match hints.iter().any(|hint| comment.starts_with(hint)) {
        true => RegionKind::Hint,
        false => RegionKind::Comment,
    }
}
