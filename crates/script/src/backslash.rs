//! Compiles backslash commands: what each takes, and what it becomes.

use crate::branches::NOWHERE;
use crate::cursor::Lookup;
use crate::draw::Draw;
use crate::error::{undefined, ScriptError};
use crate::expr::Expr;
use crate::known::is_variable_name;
use crate::parse::expression;
use crate::script::{Command, Compiler};
use crate::sleep::{read_words, Amount, Sleep, Words};
use crate::sql::Store;

const NO_SHELL: &str =
    "a script starts no programs: what they cost would be counted as the server's time";

/// What to write in place of a command that there is none of.
fn instead(verb: &str) -> &'static str {
    match verb {
        "setrandom" => "write \\set NAME random(FROM, TO), as since pgbench 9.6",
        "elsif" | "elseif" => "write \\elif",
        "fi" | "end" => "write \\endif",
        "g" | "gexec" | "gx" => "end the statement with a semicolon",
        _ => {
            "there are \\set, \\draw, \\gset, \\aset, \\if, \\elif, \\else, \\endif, \\sleep, \
             \\startpipeline, \\syncpipeline and \\endpipeline"
        }
    }
}

/// A command line without its backslash: continuations read as spaces, every offset stays.
struct Line {
    text: String,
    /// Where it begins in the script.
    start: usize,
}

impl Line {
    /// The words from byte `from` on, each with its offset in the script.
    fn words(&self, from: usize) -> Vec<(usize, &str)> {
        let words = self.text[from..].split_ascii_whitespace();
        let at = |word: &str| self.start + (word.as_ptr() as usize - self.text.as_ptr() as usize);
        words.map(|word| (at(word), word)).collect()
    }
}

impl Compiler<'_> {
    pub(crate) fn backslash(&mut self, start: usize, end: usize) -> Result<(), ScriptError> {
        let text = self.text[start + 1..end]
            .replace("\\\r\n", "   ")
            .replace("\\\n", "  ");
        let line = Line {
            text,
            start: start + 1,
        };
        let words = line.words(0);
        let Some(&(at, verb)) = words.first() else {
            return Ok(()); // A lone backslash does nothing, as in pgbench.
        };
        let after = at + verb.len() - line.start;
        let verb = verb.to_ascii_lowercase();
        match verb.as_str() {
            "set" => self.set(&line, after)?,
            "if" | "elif" => self.condition(&verb, start, &line, after)?,
            "sleep" => self.sleep(&line, after)?,
            "draw" => self.draw(start, &words[1..])?,
            "gset" | "aset" => self.store(start, &verb, &words[1..])?,
            "shell" | "setshell" => {
                return Err(self.error(start, format!("\\{verb} is refused: {NO_SHELL}")))
            }
            "else" | "endif" | "startpipeline" | "syncpipeline" | "endpipeline" => {
                if let Some(&(at, word)) = words.get(1) {
                    let why = format!("unexpected argument of \\{verb}: \"{word}\"");
                    return Err(self.error(at, why));
                }
                match verb.as_str() {
                    "else" | "endif" => self.branch(&verb, start)?,
                    _ => self.pipeline(&verb, start)?,
                }
            }
            _ => {
                let why = format!("invalid command \"\\{verb}\": {}", instead(&verb));
                return Err(self.error(start, why));
            }
        }
        self.locate(start);
        self.storable = false;
        Ok(())
    }

    /// `\set name expression`, from after the word `set`.
    fn set(&mut self, line: &Line, after: usize) -> Result<(), ScriptError> {
        let words = line.words(after);
        let Some(&(at, name)) = words.first() else {
            let end = line.start + after;
            return Err(self.error(end, "missing argument of \\set: a variable name"));
        };
        if !is_variable_name(name) {
            return Err(self.error(at, format!("invalid variable name: \"{name}\"")));
        }
        let expr = self.expression(line, at + name.len() - line.start)?;
        let slot = self.known.assign(name);
        self.commands.push(Command::Set { slot, expr });
        Ok(())
    }

    fn expression(&mut self, line: &Line, from: usize) -> Result<Expr, ScriptError> {
        expression(&line.text[from..], &mut self.known)
            .map_err(|fault| self.error(line.start + from + fault.offset, fault.message))
    }

    /// `\if` and `\elif`.
    fn condition(
        &mut self,
        verb: &str,
        start: usize,
        line: &Line,
        after: usize,
    ) -> Result<(), ScriptError> {
        if verb == "elif" {
            self.next_branch(verb, start)?;
        }
        let condition = self.expression(line, after)?;
        let unless = self.commands.len();
        self.commands.push(Command::Unless {
            condition,
            target: NOWHERE,
        });
        if verb == "elif" {
            self.branches.unless(unless);
        } else {
            self.branches.begin(start, unless, &self.known.certain);
        }
        self.known.depth = self.branches.depth();
        Ok(())
    }

    fn branch(&mut self, verb: &str, start: usize) -> Result<(), ScriptError> {
        if verb == "else" {
            return self.next_branch(verb, start);
        }
        self.known.certain = self
            .branches
            .end(&mut self.commands)
            .map_err(|why| self.error(start, why))?;
        self.known.depth = self.branches.depth();
        Ok(())
    }

    fn next_branch(&mut self, verb: &str, start: usize) -> Result<(), ScriptError> {
        self.known.certain = self
            .branches
            .next(verb, &mut self.commands)
            .map_err(|why| self.error(start, why))?;
        Ok(())
    }

    fn sleep(&mut self, line: &Line, after: usize) -> Result<(), ScriptError> {
        let words = line.words(after);
        let bare: Vec<&str> = words.iter().map(|(_, word)| *word).collect();
        let at = |word: usize| words.get(word).map_or(line.start + after, |(at, _)| *at);
        let read = read_words(&bare).map_err(|(word, why)| self.error(at(word), why))?;
        let (amount, unit_us) = match read {
            Words::Number(number, unit_us) => (Amount::Number(number), unit_us),
            Words::Variable(name, unit_us) => {
                let found = Lookup::find(&mut self.known, name)
                    .ok_or_else(|| self.error(at(0), undefined(name)))?;
                (Amount::Variable(found.slot, name.to_owned()), unit_us)
            }
        };
        self.commands
            .push(Command::Sleep(Sleep { amount, unit_us }));
        Ok(())
    }

    /// `\draw table variable ...`.
    fn draw(&mut self, start: usize, words: &[(usize, &str)]) -> Result<(), ScriptError> {
        let Some(((_, table), variables)) =
            words.split_first().filter(|(_, rest)| !rest.is_empty())
        else {
            let why = "\\draw needs the name of its rows, and a variable for each field";
            return Err(self.error(start, why));
        };
        let mut slots = Vec::new();
        for (at, name) in variables {
            if !is_variable_name(name) {
                return Err(self.error(*at, format!("invalid variable name: \"{name}\"")));
            }
            slots.push(self.known.draw(name));
        }
        let table = (*table).to_owned();
        self.commands.push(Command::Draw(Draw { table, slots }));
        Ok(())
    }

    /// `\gset [prefix]` and `\aset [prefix]` belong to the statement before them.
    fn store(
        &mut self,
        start: usize,
        verb: &str,
        words: &[(usize, &str)],
    ) -> Result<(), ScriptError> {
        if let Some((at, _)) = words.get(1) {
            return Err(self.error(*at, format!("too many arguments of \\{verb}")));
        }
        if matches!(self.pipeline, Some(Some(_))) {
            let why = format!("\\{verb} is not allowed in pipeline mode");
            return Err(self.error(start, why));
        }
        let prefix = words.first().map_or("", |(_, word)| *word);
        if let Some((at, word)) = words.first() {
            if !is_variable_name(word) {
                let why = format!("invalid prefix of variable names: \"{word}\"");
                return Err(self.error(*at, why));
            }
        }
        match self.commands.last_mut() {
            Some(Command::Sql(sql)) if self.storable => {
                sql.store = Some(Store {
                    prefix: prefix.to_owned(),
                    all: verb == "aset",
                });
            }
            _ => {
                let why = format!("\\{verb} must follow an SQL command");
                return Err(self.error(start, why));
            }
        }
        self.known.assign_prefixed(prefix);
        Ok(())
    }

    fn pipeline(&mut self, verb: &str, start: usize) -> Result<(), ScriptError> {
        let opens = verb == "startpipeline";
        match self.pipeline {
            Some(Some(_)) if opens => {
                return Err(self.error(start, "\\startpipeline: already in pipeline mode"))
            }
            Some(None) if !opens => {
                return Err(self.error(start, format!("\\{verb}: not in pipeline mode")))
            }
            _ => {}
        }
        if self.branches.depth() > 0 {
            self.pipeline = None; // Whether this place is reached is not known yet.
        } else if self.pipeline.is_some() {
            self.pipeline = Some(match verb {
                "endpipeline" => None,
                "startpipeline" => Some(start),
                _ => self.pipeline.flatten(),
            });
        }
        self.commands.push(match verb {
            "startpipeline" => Command::StartPipeline,
            "syncpipeline" => Command::SyncPipeline,
            _ => Command::EndPipeline,
        });
        Ok(())
    }
}
