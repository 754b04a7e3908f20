//! Evaluates an expression over a scope: no name is looked up, and numbers allocate nothing.

use crate::error::EvalError;
use crate::expr::{Expr, Function};
use crate::hash::{fnv1a, murmur2, permute};
use crate::random::Random;
use crate::scope::Scope;
use crate::value::Value;

/// The value of `expr`; the error is what pgbench would say.
pub fn evaluate(expr: &Expr, scope: &Scope, random: &mut Random) -> Result<Value, EvalError> {
    match expr {
        Expr::Constant(value) => Ok(value.clone()),
        Expr::Variable(slot, name) => variable(*slot, name, scope),
        Expr::Call(Function::And, arguments) => junction(arguments, false, scope, random),
        Expr::Call(Function::Or, arguments) => junction(arguments, true, scope, random),
        Expr::Call(function, arguments) => match arguments.as_slice() {
            [one] => {
                let one = evaluate(one, scope, random)?;
                if *function == Function::Debug {
                    scope.add_debug_output(&one);
                    return Ok(one);
                }
                unary(*function, one)
            }
            [left, right] => {
                let left = operand(left, scope, random)?;
                let right = operand(right, scope, random)?;
                binary(*function, &left, &right, random)
            }
            [lo, hi, parameter] => {
                let lo = evaluate(lo, scope, random)?;
                let hi = evaluate(hi, scope, random)?;
                let parameter = evaluate(parameter, scope, random)?;
                ternary(*function, &lo, &hi, &parameter, random)
            }
            many => extreme(*function, many, scope, random),
        },
        Expr::Case(branches, otherwise) => {
            for (condition, result) in branches {
                if evaluate(condition, scope, random)?.truth() {
                    return evaluate(result, scope, random);
                }
            }
            evaluate(otherwise, scope, random)
        }
    }
}

/// An operand; an integer that stands there already costs no call.
#[inline(always)]
fn operand(expr: &Expr, scope: &Scope, random: &mut Random) -> Result<Value, EvalError> {
    match expr {
        Expr::Constant(Value::Int(int)) => return Ok(Value::Int(*int)),
        Expr::Variable(slot, _) => {
            if let Some(Value::Int(int)) = scope.values.get(*slot) {
                return Ok(Value::Int(*int));
            }
        }
        _ => {}
    }
    evaluate(expr, scope, random)
}

fn variable(slot: usize, name: &str, scope: &Scope) -> Result<Value, EvalError> {
    match scope.values.get(slot) {
        Some(Value::Text(text)) => match Value::from_text(text) {
            Value::Text(_) => Err(EvalError(
                format!("malformed variable \"{name}\" value: \"{text}\"").into(),
            )),
            value => Ok(value),
        },
        Some(Value::Undefined) | None => Err(EvalError::undefined(name)),
        Some(value) => Ok(value.clone()),
    }
}

/// AND and OR: the second operand is evaluated only where the first does not decide.
fn junction(
    arguments: &[Expr],
    decisive: bool,
    scope: &Scope,
    random: &mut Random,
) -> Result<Value, EvalError> {
    for argument in arguments {
        match evaluate(argument, scope, random)? {
            Value::Null => return Ok(Value::Null),
            value if value.to_bool()? == decisive => return Ok(Value::Bool(decisive)),
            _ => {}
        }
    }
    Ok(Value::Bool(!decisive))
}

fn unary(function: Function, value: Value) -> Result<Value, EvalError> {
    if matches!(function, Function::Least | Function::Greatest) {
        return match value {
            Value::Null | Value::Int(_) | Value::Double(_) => Ok(value),
            _ => value.to_int().map(Value::Int),
        };
    }
    if value == Value::Null {
        return Ok(Value::Null);
    }
    let double = |apply: fn(f64) -> f64| value.to_double().map(apply).map(Value::Double);
    match function {
        Function::Not => value.to_bool().map(|bool| Value::Bool(!bool)),
        Function::Abs => match value {
            Value::Double(double) => Ok(Value::Double(double.abs())),
            _ => value.to_int().map(|int| Value::Int(int.wrapping_abs())),
        },
        Function::Int => value.to_int().map(Value::Int),
        Function::Double => double(|x| x),
        Function::Sqrt => double(f64::sqrt),
        Function::Ln => double(f64::ln),
        Function::Exp => double(f64::exp),
        _ => Err(WRONG_COUNT),
    }
}

/// The parser checks counts; this is for trees built by hand.
const WRONG_COUNT: EvalError = EvalError::fixed("unexpected number of arguments");

fn binary(
    function: Function,
    left: &Value,
    right: &Value,
    random: &mut Random,
) -> Result<Value, EvalError> {
    // Nearly all that scripts compute is of two integers.
    if let (Value::Int(left), Value::Int(right)) = (left, right) {
        if !matches!(function, Function::Is | Function::Pow) {
            return on_ints(function, *left, *right, random);
        }
    }
    if function == Function::Is {
        return Ok(Value::Bool(left == right));
    }
    if *left == Value::Null || *right == Value::Null {
        return Ok(Value::Null);
    }
    if let Function::Pow = function {
        return Ok(Value::Double(left.to_double()?.powf(right.to_double()?)));
    }
    let some_double = matches!(left, Value::Double(_)) || matches!(right, Value::Double(_));
    if some_double {
        if let Some(value) = on_doubles(function, left.to_double()?, right.to_double()?) {
            return Ok(value);
        }
    }
    on_ints(function, left.to_int()?, right.to_int()?, random)
}

/// The functions that become floating point as soon as one operand is; `None` for the others.
fn on_doubles(function: Function, left: f64, right: f64) -> Option<Value> {
    Some(match function {
        Function::Add => Value::Double(left + right),
        Function::Sub => Value::Double(left - right),
        Function::Mul => Value::Double(left * right),
        Function::Div => Value::Double(left / right),
        Function::Eq => Value::Bool(left == right),
        Function::Ne => Value::Bool(left != right),
        Function::Lt => Value::Bool(left < right),
        Function::Le => Value::Bool(left <= right),
        Function::Least => Value::Double(if right < left { right } else { left }),
        Function::Greatest => Value::Double(if right > left { right } else { left }),
        _ => return None,
    })
}

fn on_ints(
    function: Function,
    left: i64,
    right: i64,
    random: &mut Random,
) -> Result<Value, EvalError> {
    let checked = |value: Option<i64>, message| value.ok_or(EvalError::fixed(message));
    Ok(Value::Int(match function {
        Function::Add => checked(left.checked_add(right), "bigint add out of range")?,
        Function::Sub => checked(left.checked_sub(right), "bigint sub out of range")?,
        Function::Mul => checked(left.checked_mul(right), "bigint mul out of range")?,
        Function::Div | Function::Mod if right == 0 => {
            return Err(EvalError::fixed("division by zero"))
        }
        Function::Div => checked(left.checked_div(right), "bigint div out of range")?,
        Function::Mod => left.wrapping_rem(right),
        Function::Eq => return Ok(Value::Bool(left == right)),
        Function::Ne => return Ok(Value::Bool(left != right)),
        Function::Lt => return Ok(Value::Bool(left < right)),
        Function::Le => return Ok(Value::Bool(left <= right)),
        Function::BitAnd => left & right,
        Function::BitOr => left | right,
        Function::BitXor => left ^ right,
        Function::ShiftLeft => left.wrapping_shl(right as u32),
        Function::ShiftRight => left.wrapping_shr(right as u32),
        Function::Least => left.min(right),
        Function::Greatest => left.max(right),
        Function::Random => {
            check_range(left, right)?;
            random.uniform_int(left, right)
        }
        Function::HashMurmur2 => murmur2(left, right),
        Function::HashFnv1a => fnv1a(left, right),
        _ => return Err(WRONG_COUNT),
    }))
}

fn check_range(lo: i64, hi: i64) -> Result<(), EvalError> {
    if lo > hi {
        return Err(EvalError::fixed("empty range given to random"));
    }
    // The width hi - lo + 1 must itself be a bigint, for the functions that multiply by it.
    match hi.checked_sub(lo).and_then(|width| width.checked_add(1)) {
        Some(_) => Ok(()),
        None => Err(EvalError::fixed("random range is too large")),
    }
}

fn ternary(
    function: Function,
    first: &Value,
    second: &Value,
    third: &Value,
    random: &mut Random,
) -> Result<Value, EvalError> {
    if [first, second, third].contains(&&Value::Null) {
        return Ok(Value::Null);
    }
    if matches!(function, Function::Least | Function::Greatest) {
        let pair = binary(function, first, second, random)?;
        return binary(function, &pair, third, random);
    }
    let (lo, hi) = (first.to_int()?, second.to_int()?);
    if function == Function::Permute {
        if hi <= 0 {
            return Err(EvalError::fixed(
                "permute size parameter must be greater than zero",
            ));
        }
        return Ok(Value::Int(permute(lo, hi, third.to_int()?)));
    }
    check_range(lo, hi)?;
    distribution(function, lo, hi, third.to_double()?, random).map(Value::Int)
}

/// The skewed distributions, with the bounds of their parameters as pgbench sets them.
fn distribution(
    function: Function,
    lo: i64,
    hi: i64,
    parameter: f64,
    random: &mut Random,
) -> Result<i64, EvalError> {
    let refused = |why: String| Err(EvalError(format!("{why} (not {parameter:.6})").into()));
    match function {
        Function::RandomGaussian if parameter >= 2.0 => Ok(random.gaussian(lo, hi, parameter)),
        Function::RandomGaussian => refused("gaussian parameter must be at least 2.000000".into()),
        Function::RandomExponential if parameter > 0.0 => Ok(random.exponential(lo, hi, parameter)),
        Function::RandomExponential => {
            refused("exponential parameter must be greater than zero".into())
        }
        Function::RandomZipfian if (1.001..=1000.0).contains(&parameter) => {
            Ok(random.zipfian(lo, hi, parameter))
        }
        Function::RandomZipfian => {
            refused("zipfian parameter must be in range [1.001, 1000]".into())
        }
        _ => Err(WRONG_COUNT),
    }
}

/// No argument, or `least`/`greatest` of many. One double among them makes the result a double.
fn extreme(
    function: Function,
    arguments: &[Expr],
    scope: &Scope,
    random: &mut Random,
) -> Result<Value, EvalError> {
    let Some((first, rest)) = arguments.split_first() else {
        return match function {
            Function::Pi => Ok(Value::Double(std::f64::consts::PI)),
            _ => Err(WRONG_COUNT),
        };
    };
    let mut best = evaluate(first, scope, random)?;
    for argument in rest {
        let next = evaluate(argument, scope, random)?;
        best = binary(function, &best, &next, random)?;
    }
    Ok(best)
}
