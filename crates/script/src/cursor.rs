//! Walks over the tokens of an expression, and reports where it is malformed.

use crate::token::{token, Token};

/// An error at a byte offset of the expression's text.
pub(crate) struct Fault {
    pub offset: usize,
    pub message: String,
}

/// A variable that may be read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub slot: usize,
    /// It has a value whatever the script did before.
    pub certain: bool,
}

/// Finds a variable; `None` when nothing defines it.
pub(crate) trait Lookup {
    fn find(&mut self, name: &str) -> Option<Found>;
}

pub(crate) struct Parser<'a, 'b> {
    text: &'a str,
    pub(crate) next: Token<'a>,
    /// Where `next` begins and ends.
    pub(crate) start: usize,
    end: usize,
    pub(crate) depth: usize,
    pub(crate) operators: usize,
    pub(crate) lookup: &'b mut dyn Lookup,
}

impl<'a, 'b> Parser<'a, 'b> {
    /// A parser that stands on the first token of `text`.
    pub(crate) fn new(text: &'a str, lookup: &'b mut dyn Lookup) -> Result<Self, Fault> {
        let next = Token::End;
        let mut parser = Self {
            text,
            next,
            start: 0,
            end: 0,
            depth: 0,
            operators: 0,
            lookup,
        };
        parser.advance()?;
        Ok(parser)
    }

    pub(crate) fn advance(&mut self) -> Result<(), Fault> {
        let rest = &self.text[self.end..];
        let space = rest.len()
            - rest
                .trim_start_matches([' ', '\t', '\r', '\n', '\x0b', '\x0c'])
                .len();
        self.start = self.end + space;
        match token(&self.text[self.start..]) {
            Ok((next, length)) => {
                self.next = next;
                self.end = self.start + length;
                Ok(())
            }
            Err(message) => Err(Fault {
                offset: self.start,
                message,
            }),
        }
    }

    pub(crate) fn fault<T>(&self, message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault {
            offset: self.start,
            message: message.into(),
        })
    }

    pub(crate) fn syntax_error(&self) -> Fault {
        let message = match self.next {
            Token::End => "syntax error at the end of the expression".to_owned(),
            _ => format!(
                "syntax error at or near \"{}\"",
                &self.text[self.start..self.end]
            ),
        };
        Fault {
            offset: self.start,
            message,
        }
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(self.next, Token::Word(found) if found.eq_ignore_ascii_case(word))
    }

    pub(crate) fn take_word(&mut self, word: &str) -> Result<bool, Fault> {
        let found = self.is_word(word);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> Result<(), Fault> {
        if self.take_word(word)? {
            Ok(())
        } else {
            Err(self.syntax_error())
        }
    }

    pub(crate) fn take_symbol(&mut self, symbol: &str) -> Result<bool, Fault> {
        let found = matches!(self.next, Token::Symbol(found) if found == symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }
}
