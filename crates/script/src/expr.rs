//! Defines a compiled `\set` expression and the functions it may call.

use crate::value::Value;

/// An expression tree; variables are slots.
#[derive(Debug, Clone, PartialEq)]
pub enum Expr {
    Constant(Value),
    /// A slot, and the name for the case that nothing has set it.
    Variable(usize, Box<str>),
    Call(Function, Vec<Expr>),
    /// Conditions with their results, and what holds when none does.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
}

/// What a call does: operators are calls too, as in pgbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Eq,
    Ne,
    Le,
    Lt,
    And,
    Or,
    Not,
    Is,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    Abs,
    Least,
    Greatest,
    Debug,
    Pi,
    Sqrt,
    Ln,
    Exp,
    Int,
    Double,
    Pow,
    Random,
    RandomGaussian,
    RandomExponential,
    RandomZipfian,
    HashMurmur2,
    HashFnv1a,
    Permute,
}

/// How many arguments a function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    Exactly(usize),
    AtLeastOne,
    /// This many and, as the last one, a seed that is `:default_seed` when left out.
    Seeded(usize),
}

/// The function a script calls by `name` (any case).
pub(crate) fn find_function(name: &str) -> Option<(Function, Arity)> {
    use Arity::{AtLeastOne, Exactly, Seeded};
    Some(match name.to_ascii_lowercase().as_str() {
        "abs" => (Function::Abs, Exactly(1)),
        "least" => (Function::Least, AtLeastOne),
        "greatest" => (Function::Greatest, AtLeastOne),
        "debug" => (Function::Debug, Exactly(1)),
        "mod" => (Function::Mod, Exactly(2)),
        "pi" => (Function::Pi, Exactly(0)),
        "sqrt" => (Function::Sqrt, Exactly(1)),
        "ln" => (Function::Ln, Exactly(1)),
        "exp" => (Function::Exp, Exactly(1)),
        "int" => (Function::Int, Exactly(1)),
        "double" => (Function::Double, Exactly(1)),
        "pow" | "power" => (Function::Pow, Exactly(2)),
        "random" => (Function::Random, Exactly(2)),
        "random_gaussian" => (Function::RandomGaussian, Exactly(3)),
        "random_exponential" => (Function::RandomExponential, Exactly(3)),
        "random_zipfian" => (Function::RandomZipfian, Exactly(3)),
        "hash" | "hash_murmur2" => (Function::HashMurmur2, Seeded(1)),
        "hash_fnv1a" => (Function::HashFnv1a, Seeded(1)),
        "permute" => (Function::Permute, Seeded(2)),
        _ => return None,
    })
}
