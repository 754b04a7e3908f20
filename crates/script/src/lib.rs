//! Parses, checks, compiles and evaluates scripts in the language of pgbench.
//!
//! A script is parsed once into [`Command`]s whose variables are numbered slots, shared by all
//! scripts of a plan through [`Symbols`]; the driver then evaluates without looking up a name and
//! without allocating. Semantics are pgbench 18's, with one difference: what cannot work is refused
//! before the start, with its place, where pgbench finds out in the middle.

mod backslash;
mod branches;
mod builtin;
mod cursor;
mod dialect;
mod draw;
mod error;
mod evaluate;
mod expr;
mod hash;
mod known;
mod parse;
mod quote;
mod random;
mod routine;
mod scan;
mod scope;
mod script;
mod sleep;
mod sql;
mod symbols;
mod token;
mod value;
mod variable;

pub use builtin::{builtin, BUILTIN_NAMES};
pub use dialect::Dialect;
pub use draw::{Draw, Tables};
pub use error::{EvalError, ScriptError};
pub use evaluate::evaluate;
pub use expr::{Expr, Function};
pub use known::is_variable_name;
pub use quote::first_word;
pub use random::Random;
pub use scope::Scope;
pub use script::{parse, parse_as, Command, Script, Source};
pub use sleep::{Amount, Sleep};
pub use sql::{Piece, Sql, Store};
pub use symbols::{Symbols, AUTOMATIC};
pub use value::Value;
