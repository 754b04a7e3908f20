//! Finds where words, strings and comments of SQL end.

use crate::scan::Fault;
use crate::token::{is_name, is_name_start, run};

/// The word with which a statement begins, past blanks, comments and brackets.
pub fn first_word(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        at += run(&bytes[at..], |byte| {
            byte.is_ascii_whitespace() || byte == b'('
        });
        at = if bytes[at..].starts_with(b"--") {
            at + run(&bytes[at..], |byte| byte != b'\n')
        } else if bytes[at..].starts_with(b"/*") {
            end_of_comment(bytes, at).unwrap_or(bytes.len())
        } else {
            return &text[at..at + run(&bytes[at..], is_name)];
        };
    }
}

/// Past an identifier or number (`a$1` is one word).
pub(crate) fn end_of_word(bytes: &[u8], at: usize) -> usize {
    at + run(&bytes[at..], |byte| is_name(byte) || byte == b'$')
}

/// Past a quoted string or identifier; a doubled quote reads as two strings side by side.
pub(crate) fn end_of_quoted(bytes: &[u8], at: usize, escapes: bool) -> Result<usize, Fault> {
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
        if matches!(quote, b'"' | b'`') {
            "unterminated quoted identifier"
        } else {
            "unterminated quoted string"
        },
    ))
}

/// Past a name in brackets, in which a doubled one is part of it (`[a]]b]`).
pub(crate) fn end_of_brackets(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let mut end = at + 1;
    while let Some(&byte) = bytes.get(end) {
        end += 1;
        if byte == b']' {
            if bytes.get(end) != Some(&b']') {
                return Ok(end);
            }
            end += 1;
        }
    }
    Err((at, "unterminated quoted identifier"))
}

/// Past a block comment; they nest.
pub(crate) fn end_of_comment(bytes: &[u8], at: usize) -> Result<usize, Fault> {
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

/// Past a block comment that does not nest.
pub(crate) fn end_of_plain_comment(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let body = at + 2;
    bytes[body..]
        .windows(2)
        .position(|window| window == b"*/")
        .map(|found| body + found + 2)
        .ok_or((at, "unterminated /* comment"))
}

/// Past a dollar-quoted string, or past the `$` of a parameter.
pub(crate) fn end_of_dollar(bytes: &[u8], at: usize) -> Result<usize, Fault> {
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
