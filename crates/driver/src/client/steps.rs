//! Executes the commands of a script up to the next one that waits.

use steelyard_script::evaluate;

use crate::client::program::{Operation, Program, Programs, SqlCommand};
use crate::client::{Client, Phase, Step};
use crate::clock::now_ns;
use crate::connection::link::ClientError;
use crate::protocol::{Protocol, Wire};
use crate::report::tally::Tally;

impl<P: Protocol> Client<P> {
    /// Executes commands up to the next one that waits for something.
    #[inline]
    pub(crate) fn proceed(
        &mut self,
        programs: &Programs<P>,
        tally: &mut Tally,
    ) -> Result<Step, ClientError> {
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
                        Err(error) => return Err(self.script_error(program, &error.to_string())),
                    }
                    if !self.scope.debug_output.get_mut().is_empty() {
                        self.collect_debug_lines(tally);
                    }
                    self.end_command(programs, tally);
                }
                Operation::Sql(command) if !self.pipelining => {
                    if let Some(name) = command.undefined(&self.scope) {
                        return Err(self.script_error(program, &undefined(name)));
                    }
                    self.phase = Phase::Statement;
                    self.link.execute(&command.statement, &self.scope)?;
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
            return Err(self.script_error(program, why));
        }
        Ok(Step::Finished)
    }

    /// A command that few scripts hold; `None`: the next one follows at once.
    #[cold]
    fn rare_step(
        &mut self,
        operation: &Operation<P>,
        programs: &Programs<P>,
        program: &Program<P>,
        tally: &mut Tally,
    ) -> Result<Option<Step>, ClientError> {
        match operation {
            Operation::Unless { condition, target } => {
                let random = self.streams.keys(self.repeating);
                let holds = evaluate(condition, &self.scope, random)
                    .map_err(|error| self.script_error(program, &error.to_string()))?
                    .truth();
                self.collect_debug_lines(tally);
                self.end_command(programs, tally);
                if !holds {
                    self.at = *target;
                }
            }
            Operation::Jump(target) => self.at = *target,
            Operation::Draw { draw, rows } => {
                let random = self.streams.keys(self.repeating);
                draw.draw(rows, &mut self.scope, random);
                self.end_command(programs, tally);
            }
            Operation::Sleep(sleep) => {
                let nanoseconds = sleep.nanoseconds(&self.scope);
                let nanoseconds =
                    nanoseconds.map_err(|error| self.script_error(program, &error.to_string()))?;
                return Ok(Some(Step::Asleep(nanoseconds)));
            }
            Operation::Sql(command) => {
                self.add_to_pipeline(command, program)?;
                self.end_command(programs, tally);
            }
            Operation::StartPipeline(inside) => {
                if self.pipelining {
                    return Err(self.script_error(program, "already in pipeline mode"));
                }
                if self.prepare_pipeline(&program.operations[inside.clone()])? {
                    return Ok(Some(Step::Sent));
                }
                self.open_pipeline();
                self.end_command(programs, tally);
            }
            Operation::SyncPipeline | Operation::EndPipeline if !self.pipelining => {
                return Err(self.script_error(program, "not in pipeline mode"));
            }
            Operation::SyncPipeline => {
                self.link.sync_pipeline();
                self.end_command(programs, tally);
            }
            Operation::EndPipeline => {
                self.pipelining = false;
                self.phase = Phase::Pipeline;
                self.link.end_pipeline()?;
                return Ok(Some(Step::Sent));
            }
            Operation::Set { .. } => unreachable!("assignments are executed at once"),
        }
        Ok(None)
    }

    fn open_pipeline(&mut self) {
        self.link.begin_pipeline();
        self.pipelining = true;
    }

    fn add_to_pipeline(
        &mut self,
        command: &SqlCommand<P>,
        program: &Program<P>,
    ) -> Result<(), ClientError> {
        if command.store.is_some() {
            let why = "an answer cannot be kept in pipeline mode";
            return Err(self.script_error(program, why));
        }
        if let Some(name) = command.undefined(&self.scope) {
            return Err(self.script_error(program, &undefined(name)));
        }
        self.link.add_to_pipeline(&command.statement, &self.scope);
        Ok(())
    }

    /// Before a pipeline its statements are prepared, as pgbench does: inside, a BEGIN ISOLATION
    /// LEVEL SERIALIZABLE would come after the snapshot that preparing takes. False: they are.
    fn prepare_pipeline(&mut self, inside: &[Operation<P>]) -> Result<bool, ClientError> {
        let sent = self.link.prepare(statements(inside))?;
        if sent {
            self.phase = Phase::Prepare;
        }
        Ok(sent)
    }

    /// The statements of a pipeline are prepared, and it begins.
    #[cold]
    pub(crate) fn begin_prepared_pipeline(&mut self, programs: &Programs<P>, tally: &mut Tally) {
        let operations = &programs.scripts[self.script].operations;
        if let Some(Operation::StartPipeline(inside)) = operations.get(self.at) {
            let inside = &operations[inside.clone()];
            self.link.wire.mark_prepared(statements(inside));
        }
        self.open_pipeline();
        self.end_command(programs, tally);
    }

    /// A script that cannot go on, whatever the server does.
    #[cold]
    pub(crate) fn script_error(&self, program: &Program<P>, why: &str) -> ClientError {
        let at = program
            .sources
            .get(self.at)
            .map_or(String::new(), |source| {
                format!(":{}:{}", source.line, source.column)
            });
        let words = program
            .sources
            .get(self.at)
            .map_or(String::new(), |source| format!("\n{}", source.words()));
        ClientError::Script(format!("{}{at}: {why}{words}", program.name))
    }

    /// Moves the output of `debug()` to the tally, in pgbench's words.
    #[cold]
    fn collect_debug_lines(&mut self, tally: &mut Tally) {
        for value in self.scope.debug_output.get_mut().drain(..) {
            let (script, command) = (self.script, self.at + 1);
            tally.add_debug_line(format!("debug(script={script},command={command}): {value}"));
        }
    }
}

fn undefined(name: &str) -> String {
    format!("undefined variable \"{name}\"")
}

/// The statements among some operations.
fn statements<P: Protocol>(operations: &[Operation<P>]) -> impl Iterator<Item = &P::Statement> {
    operations.iter().filter_map(|operation| match operation {
        Operation::Sql(command) => Some(&command.statement),
        _ => None,
    })
}
