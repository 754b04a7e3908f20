//! Holds the values of one client's variables while it executes a script.

use std::cell::RefCell;

use crate::value::Value;

/// Variables by slot; at least [`crate::Symbols::len`] of them.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    pub values: Vec<Value>,
    /// The output of `debug()` that was not taken yet, as type and value.
    pub debug_output: RefCell<Vec<String>>,
}

/// Most lines of `debug()` that are held until they are taken.
const MOST_DEBUG_LINES: usize = 100;

impl Scope {
    /// A scope of `slots` variables, none of which has a value.
    pub fn new(slots: usize) -> Self {
        Self::of(vec![Value::Undefined; slots])
    }

    pub fn of(values: Vec<Value>) -> Self {
        Self {
            values,
            debug_output: RefCell::default(),
        }
    }

    #[cold]
    pub(crate) fn add_debug_output(&self, value: &Value) {
        let mut output = self.debug_output.borrow_mut();
        if output.len() < MOST_DEBUG_LINES {
            output.push(value.debugged());
        }
    }
}
