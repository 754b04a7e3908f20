//! Parses, checks and compiles a whole script in one pass.

use crate::branches::Branches;
use crate::cursor::Lookup;
use crate::dialect::Dialect;
use crate::draw::Draw;
use crate::error::{undefined, ScriptError};
use crate::expr::Expr;
use crate::known::{Assigned, Known};
use crate::scan::{next_part, Part, RegionKind, Statement};
use crate::sleep::Sleep;
use crate::sql::{Sql, MAX_PARAMETERS};
use crate::symbols::Symbols;
use crate::variable::mentions;

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Set {
        slot: usize,
        expr: Expr,
    },
    Sql(Sql),
    Sleep(Sleep),
    Draw(Draw),
    /// Goes on at `target` unless the condition holds.
    Unless {
        condition: Expr,
        target: usize,
    },
    /// Goes on at a command.
    Jump(usize),
    StartPipeline,
    SyncPipeline,
    EndPipeline,
}

/// A compiled script: what one transaction of it does, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub name: String,
    pub commands: Vec<Command>,
    /// For each command, where it begins.
    pub sources: Vec<Source>,
}

/// A place of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// The whole line.
    pub text: String,
}

impl Source {
    /// The line from the command on.
    pub fn words(&self) -> &str {
        let skipped = self.text.chars().take(self.column - 1).map(char::len_utf8);
        self.text[skipped.sum()..].trim_end()
    }
}

impl Script {
    /// An error of a command, found by its execution.
    pub fn error(&self, command: usize, message: impl Into<String>) -> ScriptError {
        let source = &self.sources[command];
        ScriptError {
            file: self.name.clone(),
            line: source.line,
            column: source.column,
            message: message.into(),
            source: source.text.clone(),
        }
    }
}

/// Parses the script `name` (a file name in errors). `defined` are the variables that exist
/// before its first command: automatic ones and those of the command line.
pub fn parse(
    name: &str,
    text: &str,
    symbols: &mut Symbols,
    defined: &[&str],
) -> Result<Script, ScriptError> {
    parse_as(Dialect::Postgres, name, text, symbols, defined)
}

/// As [`parse`], with the strings, comments and routines of a dialect.
pub fn parse_as(
    dialect: Dialect,
    name: &str,
    text: &str,
    symbols: &mut Symbols,
    defined: &[&str],
) -> Result<Script, ScriptError> {
    let certain = defined.iter().map(|name| (*name).to_owned()).collect();
    let mut compiler = Compiler {
        name,
        text,
        line_starts: std::iter::once(0)
            .chain(text.match_indices('\n').map(|(at, _)| at + 1))
            .collect(),
        dialect,
        known: Known {
            symbols,
            certain,
            before: Assigned::default(),
            anywhere: Assigned::of(text, dialect),
            drawn: vec![],
            depth: 0,
        },
        commands: vec![],
        sources: vec![],
        branches: Branches::default(),
        storable: false,
        pipeline: Some(None),
    };
    let mut at = 0;
    loop {
        let part =
            next_part(text, at, dialect).map_err(|(offset, why)| compiler.error(offset, why))?;
        match part {
            None => break,
            Some(Part::Statement(statement)) => {
                compiler.statement(&statement)?;
                at = statement.end;
            }
            Some(Part::Backslash { start, end }) => {
                compiler.backslash(start, end)?;
                at = end;
            }
        }
    }
    compiler.finish()
}

pub(crate) struct Compiler<'a> {
    name: &'a str,
    pub(crate) text: &'a str,
    line_starts: Vec<usize>,
    dialect: Dialect,
    pub(crate) known: Known<'a>,
    pub(crate) commands: Vec<Command>,
    sources: Vec<Source>,
    pub(crate) branches: Branches,
    /// The last command is a statement that `\gset` may follow.
    pub(crate) storable: bool,
    /// Whether a pipeline is open here, and where it began; `None` where that depends on a branch.
    pub(crate) pipeline: Option<Option<usize>>,
}

impl Compiler<'_> {
    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> ScriptError {
        ScriptError::at(self.name, self.text, offset, message)
    }

    /// From 1.
    fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Notes where the commands that were added last came from.
    pub(crate) fn locate(&mut self, offset: usize) {
        let line = self.line_of(offset);
        // Only the line itself is searched: a script may have very many.
        let start = self.line_starts[line - 1];
        let place = ScriptError::at(self.name, &self.text[start..], offset - start, "");
        let source = Source {
            line,
            column: place.column,
            text: place.source,
        };
        self.sources.resize(self.commands.len(), source);
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), ScriptError> {
        let end = statement.start + self.text[statement.start..statement.end].trim_end().len();
        let found = mentions(self.text, statement);
        let mut sql = Sql {
            line: self.line_of(statement.start),
            ..Sql::default()
        };
        let mut from = statement.start;
        for mention in found {
            self.push_text(&mut sql, statement, from, mention.start);
            from = mention.end;
            let raw = &self.text[mention.start..mention.end];
            let name = &raw[1..];
            match (mention.inside, Lookup::find(&mut self.known, name)) {
                (None, None) => return Err(self.error(mention.start, undefined(name))),
                (None | Some(RegionKind::Subscript), Some(found)) => {
                    // MySQL's placeholders have no numbers.
                    let shared = self.dialect != Dialect::Mysql && self.known.is_drawn(name);
                    sql.push_parameter(found.slot, shared);
                    if sql.params.len() > MAX_PARAMETERS {
                        let why = format!(
                            "statement has too many variables: at most {MAX_PARAMETERS} can be \
                             parameters, and only the simple protocol sends more"
                        );
                        self.only_simple(&mut sql, mention.start, why);
                    }
                    if !found.certain {
                        sql.needs.push((found.slot, name.to_owned()));
                    }
                }
                (Some(kind), Some(found)) => {
                    sql.push_perhaps(found.slot, raw);
                    let place = match kind {
                        RegionKind::Quoted => Some("quotes"),
                        RegionKind::Hint => Some("a hint"),
                        _ => None,
                    };
                    if let Some(place) = place {
                        let why = format!(
                            "variable \"{name}\" stands inside {place}: only the simple protocol \
                             can replace it there"
                        );
                        self.only_simple(&mut sql, mention.start, why);
                    }
                }
                (Some(_), None) => sql.push_text(raw),
            }
        }
        self.push_text(&mut sql, statement, from, end);
        if let Some(at) = statement.joined_at {
            let why = "several statements in one message: only the simple protocol sends them";
            self.only_simple(&mut sql, at, why.to_owned());
        }
        self.commands.push(Command::Sql(sql));
        self.locate(statement.start);
        self.storable = true;
        Ok(())
    }

    fn push_text(&self, sql: &mut Sql, statement: &Statement, from: usize, to: usize) {
        let mut from = from;
        for &dropped in &statement.dropped {
            if (from..to).contains(&dropped) {
                sql.push_text(&self.text[from..dropped]);
                from = dropped + 1;
            }
        }
        sql.push_text(&self.text[from.min(to)..to]);
    }

    fn only_simple(&self, sql: &mut Sql, offset: usize, why: String) {
        if sql.only_simple.is_none() {
            sql.only_simple = Some(Box::new(self.error(offset, why)));
        }
    }

    fn finish(self) -> Result<Script, ScriptError> {
        if let Some(at) = self.branches.unended() {
            return Err(self.error(at, "\\if without matching \\endif"));
        }
        if let Some(Some(at)) = self.pipeline {
            return Err(self.error(at, "\\startpipeline without matching \\endpipeline"));
        }
        if self.commands.is_empty() {
            return Err(self.error(self.text.len(), "script has no command"));
        }
        Ok(Script {
            name: self.name.to_owned(),
            commands: self.commands,
            sources: self.sources,
        })
    }
}
