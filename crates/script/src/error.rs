//! Defines errors of a script, with their place, and errors of an evaluation.

use std::borrow::Cow;
use std::fmt;

/// A script that cannot be accepted: the place, the reason, and the line it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub message: String,
    /// The text of the line.
    pub source: String,
}

impl ScriptError {
    /// The error at byte `offset` of `text`.
    pub(crate) fn at(file: &str, text: &str, offset: usize, message: impl Into<String>) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let start = text[..offset].rfind('\n').map_or(0, |at| at + 1);
        let end = text[offset..]
            .find('\n')
            .map_or(text.len(), |at| offset + at);
        Self {
            file: file.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: text[start..offset].chars().count() + 1,
            message: message.into(),
            source: text[start..end]
                .strip_suffix('\r')
                .unwrap_or(&text[start..end])
                .to_owned(),
        }
    }
}

impl fmt::Display for ScriptError {
    /// `file:line:column: reason`, the line, and a caret under the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let caret: String = self
            .source
            .chars()
            .take(self.column - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        write!(
            f,
            "{}:{}:{}: {}\n{}\n{}^",
            self.file, self.line, self.column, self.message, self.source, caret
        )
    }
}

impl std::error::Error for ScriptError {}

/// In pgbench's words.
pub(crate) fn undefined(name: &str) -> String {
    format!("undefined variable \"{name}\"")
}

/// An evaluation that has no result, in pgbench's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvalError(pub Cow<'static, str>);

impl EvalError {
    pub(crate) const fn fixed(message: &'static str) -> Self {
        Self(Cow::Borrowed(message))
    }

    pub(crate) fn undefined(name: &str) -> Self {
        Self(undefined(name).into())
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for EvalError {}
