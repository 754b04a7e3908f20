//! Computes how long a `\sleep` lasts, from its amount and unit.

use crate::error::EvalError;
use crate::known::is_variable_name;
use crate::scope::Scope;
use crate::value::Value;

/// How long a client waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sleep {
    pub amount: Amount,
    pub unit_us: i64,
}

/// A number, or the variable that holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Amount {
    Number(i64),
    Variable(usize, String),
}

/// What stands after `\sleep`, with the slot of its variable still to be found.
pub(crate) enum Words<'a> {
    Number(i64, i64),
    Variable(&'a str, i64),
}

/// Reads the words; Err: the index of the wrong one and what is wrong with it.
pub(crate) fn read_words<'a>(words: &[&'a str]) -> Result<Words<'a>, (usize, String)> {
    let (amount, unit) = match words {
        [] => return Err((0, "missing argument of \\sleep: how long".into())),
        [amount] => (*amount, None),
        [amount, unit] => (*amount, Some(*unit)),
        _ => return Err((2, "too many arguments of \\sleep".into())),
    };
    if let Some(name) = amount.strip_prefix(':') {
        if !is_variable_name(name) {
            return Err((0, format!("invalid variable name: \"{name}\"")));
        }
        return Ok(Words::Variable(name, unit_us(unit.unwrap_or("s"), 1)?));
    }
    let sign = usize::from(amount.starts_with(['+', '-']));
    let digits = amount[sign..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    let (number, rest) = amount.split_at(sign + digits);
    let joined = !rest.is_empty();
    if digits == 0 || joined && unit.is_some() {
        let why =
            format!("invalid sleep time, must be an integer: \"{amount}\"; units are us, ms and s");
        return Err((0, why));
    }
    let unit_us = match (joined, unit) {
        (true, _) => unit_us(rest, 0)?,
        (false, unit) => unit_us(unit.unwrap_or("s"), 1)?,
    };
    let number = number.parse().map_err(|_| {
        let why = format!("sleep time is out of range: \"{amount}\"");
        (0, why)
    })?;
    Ok(Words::Number(number, unit_us))
}

fn unit_us(unit: &str, word: usize) -> Result<i64, (usize, String)> {
    match unit.to_ascii_lowercase().as_str() {
        "us" => Ok(1),
        "ms" => Ok(1_000),
        "s" => Ok(1_000_000),
        _ => {
            let why = format!("unrecognized time unit, must be us, ms or s: \"{unit}\"");
            Err((word, why))
        }
    }
}

impl Sleep {
    /// How long to wait now, in nanoseconds; a negative time is none.
    pub fn nanoseconds(&self, scope: &Scope) -> Result<u64, EvalError> {
        let amount = match &self.amount {
            Amount::Number(number) => *number,
            Amount::Variable(slot, name) => whole(&scope.values[*slot], name)?,
        };
        let nanoseconds = amount.saturating_mul(self.unit_us).saturating_mul(1_000);
        Ok(u64::try_from(nanoseconds).unwrap_or(0))
    }
}

/// The whole number a variable's text begins with, as C's `atoi` reads it.
fn whole(value: &Value, name: &str) -> Result<i64, EvalError> {
    let mut text = Vec::new();
    match value {
        Value::Int(int) => return Ok(*int),
        Value::Undefined => return Err(EvalError::undefined(name)),
        value => value.write_text(&mut text),
    }
    let text = String::from_utf8_lossy(&text);
    let word = text.trim_start();
    let sign = usize::from(word.starts_with(['+', '-']));
    let digits = word[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let number = word[..sign + digits].parse().unwrap_or(0);
    if number == 0 && !text.starts_with(|first: char| first.is_ascii_digit()) {
        let why = format!("invalid sleep time \"{text}\" for variable \"{name}\"");
        return Err(EvalError(why.into()));
    }
    Ok(number)
}
