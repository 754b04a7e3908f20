//! Reads the value of a variable from text and prints it, as pgbench does.

use std::io::Write;

use crate::error::EvalError;

/// Hexadecimal digits that a double's 53 bits, and one to round by, are taken from.
const HEX_DIGITS: u32 = 15;

/// 2^63: itself no i64, while its negative is one.
const I64_BOUND: f64 = 9_223_372_036_854_775_808.0;

/// What a variable holds. Text is what the command line or a query gave and was not a number.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing has set the variable yet.
    Undefined,
    Null,
    Int(i64),
    Double(f64),
    Bool(bool),
    Text(String),
}

impl Value {
    /// A variable that was given as text: it goes into statements as it was given, `007` or `t`,
    /// and only an expression makes a value of it.
    pub fn from_given(text: &str) -> Self {
        let value = Self::from_text(text);
        let mut printed = Vec::new();
        value.write_text(&mut printed);
        if printed == text.as_bytes() && value != Self::Null {
            value
        } else {
            Self::Text(text.to_owned())
        }
    }

    /// The value a text stands for, by the rules of pgbench's `makeVariableValue`: `null`, a
    /// boolean word or its prefix, an integer, a double; anything else stays text.
    pub fn from_text(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let prefix_of = |word: &str| word.starts_with(&lower);
        if lower.is_empty() {
            Self::Text(String::new())
        } else if lower == "null" {
            Self::Null
        } else if prefix_of("true") || prefix_of("yes") || lower == "on" {
            Self::Bool(true)
        } else if prefix_of("false") || prefix_of("no") || lower == "off" || lower == "of" {
            Self::Bool(false)
        } else if is_integer(text) {
            // What looks like an integer must be one: too large is no number at all.
            let int = text.trim_start().parse();
            int.map_or_else(|_| Self::Text(text.to_owned()), Self::Int)
        } else if let Some(double) = read_double(text.trim_start()) {
            Self::Double(double)
        } else {
            Self::Text(text.to_owned())
        }
    }

    /// Appends the value as pgbench puts it into a statement: doubles with 15 digits (`%.15g`).
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Self::Undefined => {}
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Int(int) => write_int(*int, out),
            Self::Double(double) => write_double(*double, out),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
    }

    /// As pgbench's `debug()` prints it: the type and the value.
    pub(crate) fn debugged(&self) -> String {
        let mut shown = self.type_name().as_bytes().to_vec();
        if *self != Self::Null {
            shown.push(b' ');
            self.write_text(&mut shown);
        }
        String::from_utf8_lossy(&shown).into_owned()
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Undefined => "none",
            Self::Null => "null",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
            Self::Bool(_) => "boolean",
            Self::Text(_) => "text",
        }
    }

    pub(crate) fn to_int(&self) -> Result<i64, EvalError> {
        match self {
            Self::Int(int) => Ok(*int),
            Self::Double(double) => {
                let whole = double.round_ties_even();
                if (-I64_BOUND..I64_BOUND).contains(&whole) {
                    Ok(whole as i64)
                } else {
                    Err(EvalError(
                        format!("double to int overflow for {double:.6}").into(),
                    ))
                }
            }
            other => Err(other.cannot_become("int")),
        }
    }

    pub(crate) fn to_double(&self) -> Result<f64, EvalError> {
        match self {
            Self::Int(int) => Ok(*int as f64),
            Self::Double(double) => Ok(*double),
            other => Err(other.cannot_become("double")),
        }
    }

    pub(crate) fn to_bool(&self) -> Result<bool, EvalError> {
        match self {
            Self::Bool(bool) => Ok(*bool),
            other => Err(other.cannot_become("boolean")),
        }
    }

    /// What a CASE condition makes of a value: NULL is false, a number is true unless 0.
    pub fn truth(&self) -> bool {
        match self {
            Self::Undefined | Self::Null | Self::Text(_) => false,
            Self::Bool(bool) => *bool,
            Self::Int(int) => *int != 0,
            Self::Double(double) => *double != 0.0,
        }
    }

    fn cannot_become(&self, wanted: &str) -> EvalError {
        EvalError(format!("cannot coerce {} to {wanted}", self.type_name()).into())
    }
}

/// A double as C's strtod reads it: decimal, hexadecimal (`0x1.8p3`), infinite, or no number.
fn read_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some(digits) = unsigned
        .strip_prefix("0x")
        .or_else(|| unsigned.strip_prefix("0X"))
    else {
        let double: f64 = text.parse().ok()?;
        // Out of range is no number; "inf" is one.
        let named = unsigned.starts_with(['i', 'I']);
        return Some(double).filter(|double| named || !double.is_infinite());
    };
    let (digits, power) = match digits.find(['p', 'P']) {
        Some(at) => (&digits[..at], digits[at + 1..].parse::<i32>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (mut mantissa, mut taken, mut scale) = (0_u64, 0, 0_i32);
    for (place, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        scale -= 4 * i32::from(place >= whole.len());
        if taken < HEX_DIGITS {
            mantissa = mantissa << 4 | digit;
            taken += u32::from(mantissa > 0);
        } else {
            // What is cut off decides only whether it is more than half of the last bit.
            mantissa |= u64::from(digit > 0);
            scale = scale.checked_add(4)?;
        }
    }
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    let power = power.saturating_add(scale).clamp(-2200, 2200);
    // In two steps, so that neither leaves the doubles when their product does not.
    let half = power / 2;
    let double = match mantissa {
        0 => 0.0,
        _ => mantissa as f64 * 2_f64.powi(half) * 2_f64.powi(power - half),
    };
    Some(sign * double).filter(|double| double.is_finite())
}

/// As pgbench's `is_an_int`: spaces before, a sign, digits.
fn is_integer(text: &str) -> bool {
    let digits = text.trim_start().trim_start_matches(['+', '-']);
    let signs = text.trim_start().len() - digits.len();
    signs <= 1 && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn write_int(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// `%.15g` as PostgreSQL's own snprintf writes it: `NaN`, of either sign, and `Infinity`.
fn write_double(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        return out.extend_from_slice(b"NaN");
    }
    if value.is_infinite() {
        let sign: &[u8] = if value < 0.0 { b"-" } else { b"" };
        out.extend_from_slice(sign);
        return out.extend_from_slice(b"Infinity");
    }
    let start = out.len();
    // Writing into a Vec cannot fail.
    let _ = write!(out, "{value:.14e}");
    let split = start + out[start..].iter().rposition(|b| *b == b'e').unwrap_or(0);
    let exponent: i32 = std::str::from_utf8(&out[split + 1..])
        .ok()
        .and_then(|e| e.parse().ok())
        .unwrap_or(0);
    if (-4..15).contains(&exponent) {
        out.truncate(start);
        let _ = write!(out, "{value:.*}", (14 - exponent) as usize);
        strip_zeros(start, out);
    } else {
        out.truncate(split);
        strip_zeros(start, out);
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.abs());
    }
}

fn strip_zeros(start: usize, out: &mut Vec<u8>) {
    if out[start..].contains(&b'.') {
        while out.last() == Some(&b'0') {
            out.pop();
        }
        if out.last() == Some(&b'.') {
            out.pop();
        }
    }
}
