//! The pgbench script language: parse, check, compile, evaluate.
//!
//! A script is parsed once into [`Command`]s whose variables are numbered slots, shared by all
//! scripts of a plan through [`Symbols`]; the driver then evaluates without looking up a name and
//! without allocating. Semantics are pgbench 18's, with two differences: `:name` inside quotes
//! and comments stays text, and a variable that nothing defines is an error before the start.

mod builtin;
mod cursor;
mod error;
mod evaluate;
mod expr;
mod hash;
mod parse;
mod random;
mod scan;
mod script;
mod sql;
mod symbols;
mod token;
mod value;

pub use builtin::{builtin, BUILTIN_NAMES};
pub use error::{EvalError, ScriptError};
pub use evaluate::{evaluate, Scope};
pub use expr::{Expr, Function};
pub use random::Random;
pub use script::{parse, Command, QueryMode, Script};
pub use sql::{Piece, Sql};
pub use symbols::{Symbols, AUTOMATIC};
pub use value::Value;
