//! Compiles `\if` … `\elif` … `\else` … `\endif` to jumps, so that a client keeps no stack.

use crate::script::Command;

/// Branches that are open at the compiler's place.
#[derive(Default)]
pub(crate) struct Branches {
    open: Vec<Branch>,
}

struct Branch {
    /// Where its `\if` stands.
    at: usize,
    /// The jump that leaves the present block when its condition does not hold.
    unless: Option<usize>,
    /// Jumps from the end of each block to the `\endif`.
    leave: Vec<usize>,
    /// What was certainly assigned before the `\if`.
    certain: Vec<String>,
    has_else: bool,
}

/// A target that is patched at the next branch command.
pub(crate) const NOWHERE: usize = usize::MAX;

impl Branches {
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// `\if` at offset `at`, whose jump is the command `unless`.
    pub(crate) fn begin(&mut self, at: usize, unless: usize, certain: &[String]) {
        self.open.push(Branch {
            at,
            unless: Some(unless),
            leave: Vec::new(),
            certain: certain.to_vec(),
            has_else: false,
        });
    }

    /// `\elif` or `\else`: ends the block before it; what is certain in the next one.
    pub(crate) fn next(
        &mut self,
        word: &str,
        commands: &mut Vec<Command>,
    ) -> Result<Vec<String>, String> {
        let Some(branch) = self.open.last_mut() else {
            return Err(format!("\\{word} without matching \\if"));
        };
        if branch.has_else {
            return Err(format!("\\{word} after \\else"));
        }
        branch.has_else = word == "else";
        branch.leave.push(commands.len());
        commands.push(Command::Jump(NOWHERE));
        if let Some(unless) = branch.unless.take() {
            aim(commands, unless);
        }
        Ok(branch.certain.clone())
    }

    /// The jump of an `\elif`'s own condition.
    pub(crate) fn unless(&mut self, command: usize) {
        if let Some(branch) = self.open.last_mut() {
            branch.unless = Some(command);
        }
    }

    /// `\endif`: every jump of the branch leads here; what is certain after it.
    pub(crate) fn end(&mut self, commands: &mut [Command]) -> Result<Vec<String>, String> {
        let Some(branch) = self.open.pop() else {
            return Err("\\endif without matching \\if".into());
        };
        for jump in branch.leave.into_iter().chain(branch.unless) {
            aim(commands, jump);
        }
        Ok(branch.certain)
    }

    /// Where an `\if` without `\endif` stands.
    pub(crate) fn unended(&self) -> Option<usize> {
        self.open.last().map(|branch| branch.at)
    }
}

/// Lets a jump lead to the command that comes next.
fn aim(commands: &mut [Command], jump: usize) {
    let here = commands.len();
    match &mut commands[jump] {
        Command::Jump(target) | Command::Unless { target, .. } => *target = here,
        _ => {}
    }
}
