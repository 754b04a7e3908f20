//! Scripts are cut, checked and compiled as pgbench does, and refused with their place.

use steelyard_script::{builtin, parse, Command, Piece, Script, Symbols, BUILTIN_NAMES};

fn compile(text: &str) -> Result<Script, String> {
    parse(
        "s.sql",
        text,
        &mut Symbols::new(),
        &["scale", "x", "default_seed"],
    )
    .map_err(|error| error.to_string())
}

fn statements(text: &str) -> Vec<String> {
    let script = compile(text).expect("script");
    let sql = script.commands.iter().filter_map(|command| match command {
        Command::Sql(sql) => Some(sql.text.clone()),
        Command::Set { .. } => None,
    });
    sql.collect()
}

#[test]
fn every_built_in_script_compiles() {
    for name in BUILTIN_NAMES {
        compile(builtin(name).expect(name)).expect(name);
    }
    assert!(builtin("nothing").is_none());
}

#[test]
fn tpcb_like_has_pgbenchs_statements_and_parameters() {
    let mut symbols = Symbols::new();
    let text = builtin("tpcb-like").expect("built in");
    let script = parse("tpcb-like", text, &mut symbols, &["scale"]).expect("script");
    assert_eq!(script.commands.len(), 11);
    let Some(Command::Sql(insert)) = script.commands.get(9) else {
        panic!("no insert")
    };
    assert!(insert
        .text
        .ends_with("VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP);"));
    let names: Vec<_> = insert
        .params
        .iter()
        .filter_map(|slot| symbols.name(*slot))
        .collect();
    assert_eq!(names, ["tid", "bid", "aid", "delta"]);
    assert_eq!(insert.line, 10);
}

#[test]
fn semicolons_inside_quotes_comments_and_parentheses_end_nothing() {
    let text = "SELECT ';' || E'\\';' || $$;$$ || $a$ $$; $a$ /* ; /* ; */ ; */ -- ;\n || \";\";\n\
                CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2); SELECT 3";
    let found = statements(text);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[2], "SELECT 3");
}

#[test]
fn casts_quotes_and_comments_hold_no_variables() {
    let text = "SELECT :x::int, ':x', \":x\", $$:x$$ /* :x */ -- :x\n, a[1:2], :x;";
    assert_eq!(
        statements(text),
        ["SELECT $1::int, ':x', \":x\", $$:x$$ /* :x */ -- :x\n, a[1:2], $2;"]
    );
}

#[test]
fn a_variable_used_twice_is_two_parameters_and_two_pieces() {
    let script = compile("SELECT :x, :x;").expect("script");
    let Command::Sql(sql) = &script.commands[0] else {
        panic!("no statement")
    };
    assert_eq!(sql.params, [0, 0]);
    let literal = |text: &str| Piece::Literal(text.to_owned());
    let expected = [
        literal("SELECT "),
        Piece::Variable(0),
        literal(", "),
        Piece::Variable(0),
        literal(";"),
    ];
    assert_eq!(sql.pieces, expected);
}

#[test]
fn leading_comments_and_empty_statements_are_not_sent() {
    assert_eq!(
        statements("-- a\n/* b */ ; ;\nSELECT 1;-- c\n"),
        ["SELECT 1;"]
    );
}

#[test]
fn a_backslash_ends_a_statement_and_a_trailing_backslash_continues_a_line() {
    let text = "SELECT 1\n\\set y 1 + \\\n  :x\nSELECT :y;";
    assert_eq!(statements(text), ["SELECT 1", "SELECT $1;"]);
}

#[test]
fn an_error_names_file_line_column_and_points_at_the_place() {
    let error = compile("SELECT 1;\n\\set y 1 + nope(2)\nSELECT :y;").expect_err("refused");
    assert_eq!(
        error,
        "s.sql:2:12: unexpected function name \"nope\"\n\\set y 1 + nope(2)\n           ^"
    );
}

#[test]
fn what_is_wrong_is_said() {
    for (text, expected) in [
        ("SELECT :nope;", "1:8: undefined variable \"nope\""),
        (
            "\\set y :y + 1\nSELECT :y;",
            "1:8: undefined variable \"y\"",
        ),
        ("\\if true\nSELECT 1;", "1:1: \\if is not supported yet"),
        ("SELECT 1 \\gset", "1:10: \\gset is not supported yet"),
        ("SELECT 1\\; SELECT 2;", "is not supported yet"),
        ("\\sett x 1\nSELECT 1;", "1:1: invalid command \"\\sett\""),
        ("\\set\nSELECT 1;", "1:5: missing argument of \\set"),
        (
            "\\set y\nSELECT 1;",
            "1:7: syntax error at the end of the expression",
        ),
        ("\\set 1y 2\nSELECT 1;", "invalid variable name: \"1y\""),
        (
            "\\set y 1 2\nSELECT 1;",
            "1:10: syntax error at or near \"2\"",
        ),
        (
            "\\set y 1 < 2 < 3\nSELECT 1;",
            "1:14: syntax error at or near \"<\"",
        ),
        (
            "\\set y true or 1 < 2 < 3\nSELECT 1;",
            "syntax error at or near \"<\"",
        ),
        ("\\set y (1\nSELECT 1;", "syntax error at the end"),
        (
            "\\set y random(1)\nSELECT 1;",
            "unexpected number of arguments of function \"random\"",
        ),
        (
            "\\set y least()\nSELECT 1;",
            "at least one argument expected",
        ),
        (
            "\\set y 9223372036854775808\nSELECT 1;",
            "bigint constant overflow",
        ),
        ("\\set y 1e999\nSELECT 1;", "double constant overflow"),
        (
            "\\set y 1 ? 2\nSELECT 1;",
            "1:10: unexpected character \"?\"",
        ),
        ("SELECT 'a;", "1:8: unterminated quoted string"),
        ("SELECT $a$ $b$;", "1:8: unterminated dollar-quoted string"),
        ("SELECT /* /* */;", "1:8: unterminated /* comment"),
        ("-- nothing\n", "script has no SQL statement"),
    ] {
        let error = compile(text).expect_err(text);
        assert!(error.contains(expected), "{text:?} gave {error:?}");
    }
}

#[test]
fn nesting_and_length_are_bounded() {
    let deep = format!(
        "\\set y {}1{}\nSELECT 1;",
        "(".repeat(5_000),
        ")".repeat(5_000)
    );
    assert!(compile(&deep)
        .expect_err("deep")
        .contains("nested too deeply"));
    let long = format!("\\set y 1{}\nSELECT 1;", " + 1".repeat(5_000));
    assert!(compile(&long)
        .expect_err("long")
        .contains("too many operators"));
    let many = format!("SELECT {};", vec![":x"; 256].join(","));
    assert!(compile(&many)
        .expect_err("many")
        .contains("too many variables"));
}
