//! Stores the results of `\gset` and `\aset` in the client's variables.

use steelyard_script::{Store, Value};

use crate::client::program::{Operation, Programs};
use crate::client::Client;
use crate::connection::link::ClientError;
use crate::protocol::{CapturedResult, Fault, Protocol, Wire};
use crate::report::tally::Tally;

impl<P: Protocol> Client<P> {
    /// Stores the results of the present command; false: it has failed.
    #[cold]
    pub(crate) fn store_results(
        &mut self,
        programs: &Programs<P>,
        tally: &mut Tally,
    ) -> Result<bool, ClientError> {
        let program = &programs.scripts[self.script];
        let Some(Operation::Sql(command)) = program.operations.get(self.at) else {
            return Ok(true);
        };
        let Some(store) = &command.store else {
            return Ok(true);
        };
        let results = self.link.wire.take_captured();
        if store.all {
            for result in results.iter().filter(|result| result.rows > 0) {
                self.store_result(result, store, programs)?;
            }
            return Ok(true);
        }
        let last = results.last();
        let rows = last.map_or(0, |result| result.rows);
        if let Some(result) = last.filter(|_| rows == 1) {
            self.store_result(result, store, programs)?;
            return Ok(true);
        }
        let code = match rows {
            0 => P::CODES.no_row,
            _ => P::CODES.many_rows,
        };
        let why = format!("\\gset: expected one row, got {rows}");
        self.note_error(Fault::new(code, why), programs, tally);
        Ok(false)
    }

    fn store_result(
        &mut self,
        result: &CapturedResult,
        store: &Store,
        programs: &Programs<P>,
    ) -> Result<(), ClientError> {
        let program = &programs.scripts[self.script];
        let values = P::row_values(&result.last).map_err(ClientError::Connection)?;
        let columns = result.columns.iter().flatten();
        for (number, (column, value)) in columns.zip(values).enumerate() {
            let name = format!("{}{column}", store.prefix);
            if !steelyard_script::is_variable_name(&name) {
                let why = format!("invalid variable name: \"{name}\", from the server's answer");
                return Err(self.script_error(program, &why));
            }
            // A variable that no script reads has no slot, and needs no value.
            if let Some(slot) = programs.symbols.find(&name) {
                // NULL is the empty text, as in pgbench.
                let Ok(text) = std::str::from_utf8(value.unwrap_or_default()) else {
                    let why = format!(
                        "the value of column \"{column}\" is no text in UTF-8: select it in \
                         hexadecimal digits, by HEX() or encode(), and write UNHEX() or decode() \
                         around the variable"
                    );
                    return Err(self.script_error(program, &why));
                };
                // A text is a parameter of that type, though it looks like a number.
                self.scope.values[slot] = match result.texts.get(number) {
                    Some(true) => Value::Text(text.to_owned()),
                    _ => Value::from_given(text),
                };
            }
        }
        Ok(())
    }
}
