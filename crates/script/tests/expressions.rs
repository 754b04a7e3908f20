//! Tests that expressions mean what they mean in pgbench.

use steelyard_script::{evaluate, parse, Command, Random, Scope, Symbols, Value};

fn value(expression: &str) -> Result<Value, String> {
    let mut symbols = Symbols::new();
    let text = format!("\\set y {expression}\nSELECT 1;");
    let script = parse("s", &text, &mut symbols, &["scale", "default_seed", "word"])
        .map_err(|error| error.to_string())?;
    let mut scope = Scope::new(symbols.len());
    for (name, value) in [
        ("scale", Value::Int(50)),
        ("default_seed", Value::Int(0)),
        ("word", Value::Text("x y".into())),
    ] {
        if let Some(slot) = symbols.find(name) {
            scope.values[slot] = value;
        }
    }
    let Some(Command::Set { expr, .. }) = script.commands.first() else {
        return Err("no expression".into());
    };
    evaluate(expr, &scope, &mut Random::new(1)).map_err(|error| error.to_string())
}

fn printed(expression: &str) -> String {
    let mut out = Vec::new();
    match value(expression) {
        Ok(value) => value.write_text(&mut out),
        Err(error) => out.extend_from_slice(error.as_bytes()),
    }
    String::from_utf8(out).expect("text")
}

#[test]
fn arithmetic_precedence_and_types_are_pgbenchs() {
    for (expression, expected) in [
        ("100000 * :scale", "5000000"),
        ("7 / 2", "3"),
        ("-7 / 2", "-3"),
        ("-7 % 3", "-1"),
        ("7 / 2.0", "3.5"),
        ("2 + 3 * 4", "14"),
        ("10 - 4 - 3", "3"),
        ("- 2 * 3", "-6"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("~ 5 + 1", "-7"),
        ("~5 | 8", "-6"),
        ("1 | 6 & 3", "3"),
        ("1 << 4 - 2", "4"),
        ("not 1 = 2", "true"),
        ("1 = 2 is null", "false"),
        ("null isnull", "true"),
        ("null notnull", "false"),
        ("true is not false", "true"),
        ("null is null is true", "true"),
        ("null and true", "NULL"),
        ("false and null", "false"),
        ("true or 1/0 = 1", "true"),
        ("1 + null", "NULL"),
        ("3 >= 2 and 2 != 1 and 1 <> 0", "true"),
        ("case when 1 > 2 then 1 when 2 > 1 then 2 else 3 end", "2"),
        ("case when null then 1 end", "NULL"),
        ("CASE WHEN 5 THEN 1.5 END", "1.5"),
    ] {
        assert_eq!(printed(expression), expected, "{expression}");
    }
}

#[test]
fn functions_are_pgbenchs() {
    for (expression, expected) in [
        ("abs(-5)", "5"),
        ("abs(-5.5)", "5.5"),
        ("least(3, 1, 2, 4)", "1"),
        ("least(1.5, 2.5)", "1.5"),
        ("least(2.5, 1)", "1"),
        ("greatest(3, 1.5)", "3"),
        ("greatest(7)", "7"),
        ("mod(7, 3)", "1"),
        ("int(2.5)", "2"),
        ("int(3.5)", "4"),
        ("double(3) / 2", "1.5"),
        ("sqrt(2)", "1.4142135623731"),
        ("pi()", "3.14159265358979"),
        ("ln(exp(1))", "1"),
        ("power(2, 10)", "1024"),
        ("pow(10, 20)", "1e+20"),
        ("1e-7", "1e-07"),
        ("1 / 0.0", "Infinity"),
        ("-1 / 0.0", "-Infinity"),
        ("sqrt(-1)", "NaN"),
        ("-sqrt(-1)", "NaN"),
        ("0.0 / -1", "-0"),
        ("debug(1 + 1)", "2"),
        ("hash(10, 5432)", "-5817877081768721676"),
        ("hash_fnv1a(10, 5432)", "-7793829335365542153"),
    ] {
        assert_eq!(printed(expression), expected, "{expression}");
    }
}

#[test]
fn what_has_no_result_says_why() {
    for (expression, expected) in [
        ("1 / 0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("9223372036854775807 + 1", "bigint add out of range"),
        ("-9223372036854775807 - 2", "bigint sub out of range"),
        ("9223372036854775807 * 2", "bigint mul out of range"),
        ("-9223372036854775808 / -1", "bigint div out of range"),
        ("int(1e30)", "double to int overflow"),
        ("1 + true", "cannot coerce boolean to int"),
        ("not 1", "cannot coerce int to boolean"),
        ("random(2, 1)", "empty range given to random"),
        (
            "random(-9223372036854775807, 9223372036854775807)",
            "random range is too large",
        ),
        (
            "random_gaussian(1, 10, 1.5)",
            "gaussian parameter must be at least 2.000000",
        ),
        (
            "random_exponential(1, 10, 0.0)",
            "exponential parameter must be greater than zero",
        ),
        (
            "random_zipfian(1, 10, 1.0)",
            "zipfian parameter must be in range [1.001, 1000]",
        ),
        (
            "permute(1, 0, 1)",
            "permute size parameter must be greater than zero",
        ),
        (":word + 1", "malformed variable \"word\" value: \"x y\""),
    ] {
        let error = value(expression).expect_err(expression);
        assert!(error.contains(expected), "{expression}: {error}");
    }
}

#[test]
fn the_smallest_integer_modulo_minus_one_is_zero() {
    assert_eq!(value("-9223372036854775808 % -1"), Ok(Value::Int(0)));
}

#[test]
fn a_permutation_reaches_every_value_once() {
    for size in [2_i64, 3, 7, 64, 1000] {
        let mut seen: Vec<i64> = (0..size)
            .map(|at| match value(&format!("permute({at}, {size}, 42)")) {
                Ok(Value::Int(found)) => found,
                other => panic!("{other:?}"),
            })
            .collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..size).collect::<Vec<_>>());
    }
}

#[test]
fn texts_become_the_values_pgbench_makes_of_them() {
    for (text, expected) in [
        ("null", Value::Null),
        ("t", Value::Bool(true)),
        ("YES", Value::Bool(true)),
        ("of", Value::Bool(false)),
        ("-12", Value::Int(-12)),
        ("1.5", Value::Double(1.5)),
        (" 5", Value::Int(5)),
        (" 5 ", Value::Text(" 5 ".into())),
        ("+5", Value::Int(5)),
        ("+-5", Value::Text("+-5".into())),
        (
            "99999999999999999999",
            Value::Text("99999999999999999999".into()),
        ),
        ("infinity", Value::Double(f64::INFINITY)),
        ("1.5 ", Value::Text("1.5 ".into())),
        ("0x10", Value::Double(16.0)),
        ("-0x1.8p3", Value::Double(-12.0)),
        ("0X.8P+1", Value::Double(1.0)),
        // Halfway between two doubles: to the even one.
        ("0x1.fffffffffffff8", Value::Double(2.0)),
        ("0x1.fffffffffffff7", Value::Double(2.0 - f64::EPSILON)),
        (
            "0x1.00000000000008000000001",
            Value::Double(1.0 + f64::EPSILON),
        ),
        ("0x1p-1074", Value::Double(5e-324)),
        ("0x0p5000", Value::Double(0.0)),
        ("0x1p5000", Value::Text("0x1p5000".into())),
        ("0x", Value::Text("0x".into())),
        ("0x1p", Value::Text("0x1p".into())),
        ("1e999", Value::Text("1e999".into())),
        ("o", Value::Text("o".into())),
        ("", Value::Text(String::new())),
    ] {
        assert_eq!(Value::from_text(text), expected, "{text}");
    }
}
