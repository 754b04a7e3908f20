//! Holds the values of one client's variables while it executes a script.

use std::cell::RefCell;

use crate::value::Value;

/// Variables by slot; at least [`crate::Symbols::len`] of them.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    pub values: Vec<Value>,
    /// The output of `debug()` that was not taken yet, as type and value.
    pub said: RefCell<Vec<String>>,
}

/// Most lines of `debug()` that are held until they are taken.
const MOST_SAID: usize = 100;

impl Scope {
    /// A scope of `slots` variables, none of which has a value.
    pub fn new(slots: usize) -> Self {
        Self::of(vec![Value::Undefined; slots])
    }

    pub fn of(values: Vec<Value>) -> Self {
        Self {
            values,
            said: RefCell::default(),
        }
    }

    #[cold]
    pub(crate) fn say(&self, value: &Value) {
        let mut said = self.said.borrow_mut();
        if said.len() < MOST_SAID {
            said.push(value.debugged());
        }
    }
}
