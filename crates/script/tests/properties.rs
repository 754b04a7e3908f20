//! Tests that no text makes the parser panic, and that what it accepts evaluates without a panic.

use proptest::prelude::*;
use steelyard_script::{
    evaluate, parse, parse_as, Command, Dialect, Random, Scope, Symbols, Value,
};

fn evaluate_all(text: &str) {
    let mut symbols = Symbols::new();
    let Ok(script) = parse("s", text, &mut symbols, &["scale", "default_seed"]) else {
        return;
    };
    let mut scope = Scope::new(symbols.len());
    let mut random = Random::new(7);
    for command in &script.commands {
        if let Command::Set { slot, expr } = command {
            scope.values[*slot] = evaluate(expr, &scope, &mut random).unwrap_or(Value::Null);
        }
    }
}

fn fragment() -> impl Strategy<Value = String> {
    let words = [
        "\\set a ",
        "\\",
        "\n",
        ";",
        "'",
        "\"",
        "$$",
        "$t$",
        "--",
        "/*",
        "*/",
        "::",
        ":scale",
        ":a",
        "(",
        ")",
        ",",
        "1",
        "0",
        "-",
        "9223372036854775807",
        "9223372036854775808",
        "1.5",
        "1e308",
        ".",
        "e",
        "random(",
        "permute(",
        "hash(",
        "random_zipfian(",
        "least(",
        "case when ",
        " then ",
        " else ",
        " end",
        " is not null",
        " and ",
        " not ",
        "<<",
        "%",
        "/",
        "~",
        "é",
        "\\\n",
        "E'",
        "SELECT ",
        "\\if ",
        "\\elif ",
        "\\else\n",
        "\\endif\n",
        "\\sleep ",
        "\\gset ",
        "\\aset\n",
        "\\startpipeline\n",
        "\\endpipeline\n",
        "\\;",
        "[",
        "]",
        "create function ",
        " begin ",
        "\\set b ",
        ":b",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..40).prop_map(|v| v.concat())
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        evaluate_all(&text);
    }

    #[test]
    fn fragments_of_the_language_are_parsed_or_refused(text in fragment()) {
        evaluate_all(&text);
    }

    #[test]
    fn fragments_of_expressions_are_parsed_or_refused(text in fragment()) {
        evaluate_all(&format!("\\set a {text}\nSELECT 1;"));
    }

    #[test]
    fn errors_point_into_the_text(text in fragment()) {
        for dialect in [Dialect::Postgres, Dialect::Mysql, Dialect::SqlServer] {
            if let Err(error) = parse_as(dialect, "s", &text, &mut Symbols::new(), &[]) {
                prop_assert!(error.line <= text.matches('\n').count() + 1);
                prop_assert!(error.column <= error.source.chars().count() + 2);
            }
        }
    }

    #[test]
    fn integers_print_as_rust_prints_them(value in any::<i64>()) {
        let mut out = Vec::new();
        Value::Int(value).write_text(&mut out);
        prop_assert_eq!(out, value.to_string().into_bytes());
    }

    #[test]
    fn printed_doubles_read_back_to_fifteen_digits(value in any::<f64>()) {
        let mut out = Vec::new();
        Value::Double(value).write_text(&mut out);
        let back: f64 = String::from_utf8(out).expect("ascii").parse().expect("number");
        prop_assert!((back - value).abs() <= value.abs() * 1e-14 || back.is_infinite());
    }

    #[test]
    fn uniform_integers_stay_in_range(
        (lo, hi, seed) in any::<(i64, i64, u64)>()
    ) {
        let found = Random::new(seed).uniform_int(lo, hi);
        prop_assert!(found >= lo && found <= hi.max(lo));
    }

    #[test]
    fn uniform_doubles_are_below_one(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        prop_assert!((0..100).all(|_| (0.0..1.0).contains(&random.uniform_f64())));
    }
}
