//! Cuts a script into SQL statements and backslash commands, by the lexical rules of psql.

use crate::token::{is_name, is_name_start, run};

/// One part of a script; offsets are bytes of the whole text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A statement with its semicolon, and the places of its `:name` variables.
    Statement {
        start: usize,
        end: usize,
        variables: Vec<(usize, usize)>,
    },
    /// A backslash command from its backslash to the end of its last line.
    Backslash { start: usize, end: usize },
}

/// What cannot be cut: an offset and the reason.
pub(crate) type Fault = (usize, &'static str);

/// The next part at or after `from`; `None` at the end of the script.
pub(crate) fn next_part(text: &str, from: usize) -> Result<Option<Part>, Fault> {
    let start = skip_blank(text, from)?;
    match text.as_bytes().get(start) {
        None => Ok(None),
        Some(b'\\') => Ok(Some(Part::Backslash {
            start,
            end: end_of_command(text, start),
        })),
        Some(_) => statement(text, start).map(Some),
    }
}

/// Past white space and comments before a statement: they are not sent.
fn skip_blank(text: &str, from: usize) -> Result<usize, Fault> {
    let bytes = text.as_bytes();
    let mut at = from;
    loop {
        at += run(&bytes[at..], |byte| {
            byte.is_ascii_whitespace() || byte == 0x0b
        });
        if bytes[at..].starts_with(b"--") {
            at += run(&bytes[at..], |byte| byte != b'\n');
        } else if bytes[at..].starts_with(b"/*") {
            at = end_of_comment(bytes, at)?;
        } else {
            return Ok(at);
        }
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

fn statement(text: &str, start: usize) -> Result<Part, Fault> {
    let bytes = text.as_bytes();
    let mut variables = Vec::new();
    let mut open_parens = 0usize;
    let mut at = start;
    while at < bytes.len() {
        let rest = &bytes[at..];
        match bytes[at] {
            b';' if open_parens == 0 => {
                return Ok(Part::Statement {
                    start,
                    end: at + 1,
                    variables,
                });
            }
            b'\\' if rest.starts_with(b"\\;") => {
                return Err((
                    at,
                    "\\; (several statements in one message) is not supported yet",
                ));
            }
            b'\\' => break,
            b'(' => open_parens += 1,
            b')' => open_parens = open_parens.saturating_sub(1),
            b'\'' | b'"' => {
                at = end_of_quoted(bytes, at, false)?;
                continue;
            }
            b'-' if rest.starts_with(b"--") => {
                at += run(rest, |byte| byte != b'\n');
                continue;
            }
            b'/' if rest.starts_with(b"/*") => {
                at = end_of_comment(bytes, at)?;
                continue;
            }
            b'$' => {
                at = end_of_dollar(bytes, at)?;
                continue;
            }
            b':' => {
                let (end, is_variable) = colon(bytes, at);
                if is_variable {
                    variables.push((at, end));
                }
                at = end;
                continue;
            }
            byte if is_name_start(byte) || byte.is_ascii_digit() => {
                at = end_of_word(bytes, at)?;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(Part::Statement {
        start,
        end: at,
        variables,
    })
}

/// Past a variable, or past all the colons of a cast.
fn colon(bytes: &[u8], at: usize) -> (usize, bool) {
    let colons = run(&bytes[at..], |byte| byte == b':');
    let name = at + colons;
    if colons == 1 && bytes.get(name).copied().is_some_and(is_name_start) {
        (name + run(&bytes[name..], is_name), true)
    } else {
        (name, false)
    }
}

/// Past an identifier or number (`a$1` is one word), or past the string that `E'` opens.
fn end_of_word(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let length = run(&bytes[at..], |byte| is_name(byte) || byte == b'$');
    let end = at + length;
    if length == 1 && matches!(bytes[at], b'e' | b'E') && bytes.get(end) == Some(&b'\'') {
        return end_of_quoted(bytes, end, true);
    }
    Ok(end)
}

/// Past a quoted string or identifier; a doubled quote reads as two strings side by side.
fn end_of_quoted(bytes: &[u8], at: usize, escapes: bool) -> Result<usize, Fault> {
    let quote = bytes[at];
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        end += 1;
        if byte == quote {
            let doubled = escapes && bytes.get(end) == Some(&quote);
            if !doubled {
                return Ok(end);
            }
            end += 1;
        } else if escapes && byte == b'\\' {
            end += 1;
        }
    }
    Err((
        at,
        if quote == b'"' {
            "unterminated quoted identifier"
        } else {
            "unterminated quoted string"
        },
    ))
}

/// Past a block comment; they nest.
fn end_of_comment(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let mut depth = 0usize;
    let mut end = at;
    while end < bytes.len() {
        if bytes[end..].starts_with(b"/*") {
            depth += 1;
            end += 2;
        } else if bytes[end..].starts_with(b"*/") {
            depth -= 1;
            end += 2;
            if depth == 0 {
                return Ok(end);
            }
        } else {
            end += 1;
        }
    }
    Err((at, "unterminated /* comment"))
}

/// Past a dollar-quoted string, or past the `$` of a parameter.
fn end_of_dollar(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let name = at + 1;
    let is_tag = bytes.get(name).copied().is_some_and(is_name_start);
    let after = if is_tag {
        name + run(&bytes[name..], is_name)
    } else {
        name
    };
    if bytes.get(after) != Some(&b'$') {
        return Ok(name);
    }
    let delimiter = &bytes[at..=after];
    let body = after + 1;
    bytes[body..]
        .windows(delimiter.len())
        .position(|window| window == delimiter)
        .map(|found| body + found + delimiter.len())
        .ok_or((at, "unterminated dollar-quoted string"))
}
