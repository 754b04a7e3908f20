//! A whole script: parsed, checked and compiled in one pass.

use crate::cursor::Lookup;
use crate::error::ScriptError;
use crate::expr::Expr;
use crate::parse::{expression, undefined};
use crate::scan::{next_part, Part};
use crate::sql::{Sql, MAX_PARAMETERS};
use crate::symbols::Symbols;
use crate::token::{is_name, is_name_start, run};

/// How a driver sends statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryMode {
    Simple,
    Extended,
    Prepared,
}

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    Set { slot: usize, expr: Expr },
    Sql(Sql),
}

/// A compiled script: what one transaction of it does, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub name: String,
    pub commands: Vec<Command>,
}

/// Commands of pgbench and psql that are known, and refused by name rather than as unknown.
const NOT_YET: [&str; 14] = [
    "setrandom",
    "sleep",
    "setshell",
    "shell",
    "gset",
    "aset",
    "if",
    "elif",
    "else",
    "endif",
    "startpipeline",
    "syncpipeline",
    "endpipeline",
    "include",
];

/// Parses the script `name` (a file name in errors). `defined` are the variables that exist
/// before its first command: automatic ones and those of the command line.
pub fn parse(
    name: &str,
    text: &str,
    symbols: &mut Symbols,
    defined: &[&str],
) -> Result<Script, ScriptError> {
    let known = defined
        .iter()
        .map(|variable| (*variable).to_owned())
        .collect();
    let mut compiler = Compiler {
        name,
        text,
        scope: Known { symbols, known },
        commands: vec![],
    };
    let mut at = 0;
    loop {
        let part = next_part(text, at).map_err(|(offset, why)| compiler.error(offset, why))?;
        match part {
            None => break,
            Some(Part::Statement {
                start,
                end,
                variables,
            }) => {
                compiler.statement(start, end, &variables)?;
                at = end;
            }
            Some(Part::Backslash { start, end }) => {
                compiler.backslash(start, end)?;
                at = end;
            }
        }
    }
    if !compiler
        .commands
        .iter()
        .any(|command| matches!(command, Command::Sql(_)))
    {
        return Err(compiler.error(text.len(), "script has no SQL statement"));
    }
    Ok(Script {
        name: name.to_owned(),
        commands: compiler.commands,
    })
}

/// The variables that may be read at this point of the script.
struct Known<'a> {
    symbols: &'a mut Symbols,
    known: Vec<String>,
}

impl Lookup for Known<'_> {
    fn find(&mut self, name: &str) -> Option<usize> {
        let known = self.known.iter().any(|known| known == name);
        known.then(|| self.symbols.slot(name))
    }
}

struct Compiler<'a> {
    name: &'a str,
    text: &'a str,
    scope: Known<'a>,
    commands: Vec<Command>,
}

impl Compiler<'_> {
    fn error(&self, offset: usize, message: impl Into<String>) -> ScriptError {
        ScriptError::at(self.name, self.text, offset, message)
    }

    fn statement(
        &mut self,
        start: usize,
        end: usize,
        variables: &[(usize, usize)],
    ) -> Result<(), ScriptError> {
        let text = self.text[start..end].trim_end();
        if text == ";" {
            return Ok(());
        }
        if let Some(past) = variables.get(MAX_PARAMETERS) {
            let why = format!("statement has too many variables: at most {MAX_PARAMETERS}");
            return Err(self.error(past.0, why));
        }
        let mut slots = Vec::with_capacity(variables.len());
        for &(from, to) in variables {
            let name = &self.text[from + 1..to];
            let slot = Lookup::find(&mut self.scope, name)
                .ok_or_else(|| self.error(from, undefined(name)))?;
            slots.push((from - start, to - start, slot));
        }
        let line = self.text[..start].matches('\n').count() + 1;
        self.commands
            .push(Command::Sql(Sql::compile(text, &slots, line)));
        Ok(())
    }

    fn backslash(&mut self, start: usize, end: usize) -> Result<(), ScriptError> {
        let line = &self.text[start..end];
        let length = 1 + run(&line.as_bytes()[1..], is_name);
        let command = &line[1..length];
        if command.eq_ignore_ascii_case("set") {
            return self.set(start + length, end);
        }
        let why = if NOT_YET
            .iter()
            .any(|known| command.eq_ignore_ascii_case(known))
        {
            format!("\\{command} is not supported yet")
        } else {
            format!("invalid command \"\\{command}\"")
        };
        Err(self.error(start, why))
    }

    /// `\set name expression`, from after the word `set`.
    fn set(&mut self, from: usize, end: usize) -> Result<(), ScriptError> {
        // A continuation reads as a space; every offset stays what it was.
        let line = self.text[from..end]
            .replace("\\\r\n", "   ")
            .replace("\\\n", "  ");
        let bytes = line.as_bytes();
        let name_at = run(bytes, |byte| byte.is_ascii_whitespace());
        let name_end = name_at + run(&bytes[name_at..], |byte| !byte.is_ascii_whitespace());
        if name_at == bytes.len() {
            return Err(self.error(from + name_at, "missing argument of \\set: a variable name"));
        }
        let name = &line[name_at..name_end];
        let valid = bytes[name_at..name_end].iter().all(|byte| is_name(*byte));
        if name_at == 0 || !valid || !is_name_start(bytes[name_at]) {
            return Err(self.error(from + name_at, format!("invalid variable name: \"{name}\"")));
        }
        let expr = expression(&line[name_end..], &mut self.scope)
            .map_err(|fault| self.error(from + name_end + fault.offset, fault.message))?;
        let slot = self.scope.symbols.slot(name);
        if !self.scope.known.iter().any(|known| known == name) {
            self.scope.known.push(name.to_owned());
        }
        self.commands.push(Command::Set { slot, expr });
        Ok(())
    }
}
