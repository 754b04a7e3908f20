//! How a client goes through the commands of its script up to the next one that waits.

use steelyard_script::evaluate;
use steelyard_wire::sync;

use crate::client::{Client, Phase, Step};
use crate::clock::now_ns;
use crate::link::Loss;
use crate::message::Message;
use crate::program::{Operation, Program, Programs};
use crate::tally::Tally;

impl Client {
    /// Executes commands up to the next one that waits for something.
    #[inline]
    pub(crate) fn proceed(&mut self, programs: &Programs, tally: &mut Tally) -> Result<Step, Loss> {
        let program = &programs.scripts[self.script];
        if programs.timed {
            self.command_ns = now_ns();
        }
        while let Some(operation) = program.operations.get(self.at) {
            match operation {
                Operation::Set { slot, expr } => {
                    let random = self.streams.keys(self.repeating);
                    match evaluate(expr, &self.scope, random) {
                        Ok(value) => self.scope.values[*slot] = value,
                        Err(error) => return Err(self.broken(program, &error.to_string())),
                    }
                    if !self.scope.said.get_mut().is_empty() {
                        self.hand_on_words(tally);
                    }
                    self.end_command(programs, tally);
                }
                Operation::Sql(message) if !self.pipelining => {
                    if let Some(name) = message.missing(&self.scope) {
                        return Err(self.broken(program, &undefined(name)));
                    }
                    let out = self.link.request();
                    self.prepares = message.encode(&self.scope, &self.prepared, out);
                    self.phase = Phase::Statement;
                    if message.store.is_some() {
                        self.link.send_keeping()?;
                    } else {
                        self.link.send()?;
                    }
                    return Ok(Step::Sent);
                }
                other => {
                    if let Some(step) = self.rare_step(other, programs, program, tally)? {
                        return Ok(step);
                    }
                }
            }
        }
        if self.pipelining {
            let why = "the end of the script was reached with a pipeline open";
            return Err(self.broken(program, why));
        }
        Ok(Step::Finished)
    }

    /// A command that few scripts hold; `None`: the next one follows at once.
    #[cold]
    fn rare_step(
        &mut self,
        operation: &Operation,
        programs: &Programs,
        program: &Program,
        tally: &mut Tally,
    ) -> Result<Option<Step>, Loss> {
        match operation {
            Operation::Unless { condition, target } => {
                let random = self.streams.keys(self.repeating);
                let holds = evaluate(condition, &self.scope, random)
                    .map_err(|error| self.broken(program, &error.to_string()))?
                    .truth();
                self.hand_on_words(tally);
                self.end_command(programs, tally);
                if !holds {
                    self.at = *target;
                }
            }
            Operation::Jump(target) => self.at = *target,
            Operation::Sleep(sleep) => {
                let nanoseconds = sleep.nanoseconds(&self.scope);
                let nanoseconds =
                    nanoseconds.map_err(|error| self.broken(program, &error.to_string()))?;
                return Ok(Some(Step::Asleep(nanoseconds)));
            }
            Operation::Sql(message) => {
                self.add_to_pipeline(message, program)?;
                self.end_command(programs, tally);
            }
            Operation::StartPipeline(inside) => {
                if self.pipelining {
                    return Err(self.broken(program, "already in pipeline mode"));
                }
                if self.prepare_pipeline(&program.operations[inside.clone()])? {
                    return Ok(Some(Step::Sent));
                }
                self.open_pipeline();
                self.end_command(programs, tally);
            }
            Operation::SyncPipeline | Operation::EndPipeline if !self.pipelining => {
                return Err(self.broken(program, "not in pipeline mode"));
            }
            Operation::SyncPipeline => {
                self.link.pending().extend_from_slice(sync());
                self.syncs += 1;
                self.end_command(programs, tally);
            }
            Operation::EndPipeline => {
                self.link.pending().extend_from_slice(sync());
                self.pipelining = false;
                self.phase = Phase::Pipeline;
                self.link.send_pipeline(self.syncs + 1)?;
                return Ok(Some(Step::Sent));
            }
            Operation::Set { .. } => unreachable!("assignments are executed at once"),
        }
        Ok(None)
    }

    fn open_pipeline(&mut self) {
        self.link.request();
        self.pipelining = true;
        self.syncs = 0;
    }

    fn add_to_pipeline(&mut self, message: &Message, program: &Program) -> Result<(), Loss> {
        if message.store.is_some() {
            return Err(self.broken(program, "an answer cannot be kept in pipeline mode"));
        }
        if let Some(name) = message.missing(&self.scope) {
            return Err(self.broken(program, &undefined(name)));
        }
        let out = self.link.pending();
        message.encode(&self.scope, &self.prepared, out);
        // The server waits with its answers until the pipeline is synchronized.
        out.truncate(out.len() - sync().len());
        Ok(())
    }

    /// Before a pipeline its statements are prepared, as pgbench does: inside, a BEGIN ISOLATION
    /// LEVEL SERIALIZABLE would come after the snapshot that preparing takes. False: they are.
    fn prepare_pipeline(&mut self, inside: &[Operation]) -> Result<bool, Loss> {
        let out = self.link.request();
        for operation in inside {
            if let Operation::Sql(message) = operation {
                if message
                    .number()
                    .is_some_and(|number| !self.prepared[number])
                {
                    message.encode_parse(out);
                }
            }
        }
        if out.is_empty() {
            return Ok(false);
        }
        out.extend_from_slice(sync());
        self.phase = Phase::Prepare;
        self.link.send()?;
        Ok(true)
    }

    /// The statements of a pipeline are prepared, and it begins.
    #[cold]
    pub(crate) fn mark_pipeline(&mut self, programs: &Programs, tally: &mut Tally) {
        let operations = &programs.scripts[self.script].operations;
        if let Some(Operation::StartPipeline(inside)) = operations.get(self.at) {
            for operation in &operations[inside.clone()] {
                if let Operation::Sql(message) = operation {
                    if let Some(number) = message.number() {
                        self.prepared[number] = true;
                    }
                }
            }
        }
        self.open_pipeline();
        self.end_command(programs, tally);
    }

    /// A script that cannot go on, whatever the server does.
    #[cold]
    pub(crate) fn broken(&self, program: &Program, why: &str) -> Loss {
        let place = program
            .sources
            .get(self.at)
            .map_or(String::new(), |source| {
                format!(":{}:{}", source.line, source.column)
            });
        let words = program
            .sources
            .get(self.at)
            .map_or(String::new(), |source| format!("\n{}", source.words()));
        Loss::Script(format!("{}{place}: {why}{words}", program.name))
    }

    /// What `debug()` said, in pgbench's words.
    #[cold]
    fn hand_on_words(&mut self, tally: &mut Tally) {
        for words in self.scope.said.get_mut().drain(..) {
            let (script, command) = (self.script, self.at + 1);
            tally.say(format!("debug(script={script},command={command}): {words}"));
        }
    }
}

fn undefined(name: &str) -> String {
    format!("undefined variable \"{name}\"")
}
