//! Tests that scripts are split, checked and compiled as pgbench does, and errors name their place.

use steelyard_script::{
    builtin, parse, Command, Dialect, Piece, Scope, Script, Sql, Symbols, Value, BUILTIN_NAMES,
};

fn compile(text: &str) -> Result<Script, String> {
    parse(
        "s.sql",
        text,
        &mut Symbols::new(),
        &["scale", "x", "default_seed"],
    )
    .map_err(|error| error.to_string())
}

/// The text with PostgreSQL's placeholders.
fn numbered(sql: &Sql) -> String {
    sql.text(|number| format!("${number}"))
}

fn statements(text: &str) -> Vec<String> {
    let script = compile(text).expect("script");
    let sql = script.commands.iter().filter_map(|command| match command {
        Command::Sql(sql) => Some(numbered(sql)),
        _ => None,
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
    assert!(numbered(insert).ends_with("VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP);"));
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
fn casts_and_comments_hold_no_variables() {
    let text = "SELECT :x::int, 'a:y', \"b:y\", $$:y$$ /* :x */ -- :x\n, a[1:n], b[:x], :x;";
    assert_eq!(
        statements(text),
        ["SELECT $1::int, 'a:y', \"b:y\", $$:y$$ /* :x */ -- :x\n, a[1:n], b[$2], $3;"]
    );
}

#[test]
fn a_variable_in_quotes_is_replaced_by_the_simple_protocol_alone() {
    let script = compile("SELECT ':x', 'a:y';").expect("script");
    let Command::Sql(sql) = &script.commands[0] else {
        panic!("no statement")
    };
    let expected = [
        Piece::Literal("SELECT '".into()),
        Piece::Perhaps(0, ":x".into()),
        Piece::Literal("', 'a:y';".into()),
    ];
    assert_eq!(sql.pieces, expected);
    let why = sql.only_simple.as_ref().expect("refused").to_string();
    assert!(
        why.starts_with("s.sql:1:9: variable \"x\" stands inside quotes"),
        "{why}"
    );
}

#[test]
fn escaped_semicolons_join_statements_into_one_message() {
    let script = compile("SELECT 1 \\; SELECT 2\\;\nSELECT 3;").expect("script");
    let Command::Sql(sql) = &script.commands[0] else {
        panic!("no statement")
    };
    assert_eq!(script.commands.len(), 1);
    assert_eq!(numbered(sql), "SELECT 1 ; SELECT 2;\nSELECT 3;");
    let why = sql.only_simple.as_ref().expect("refused").to_string();
    assert!(why.starts_with("s.sql:1:10: several statements"), "{why}");
}

#[test]
fn the_body_of_a_sql_routine_is_one_statement() {
    let text = "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql BEGIN ATOMIC \
                SELECT CASE WHEN 1 > 2 THEN 3 END; SELECT 1; END;\nBEGIN;\nSELECT 1;\nEND;";
    let found = statements(text);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].ends_with("SELECT 1; END;"));
}

#[test]
fn branches_become_jumps() {
    let text =
        "\\if :x = 1\nSELECT 1;\n\\elif :x = 2\nSELECT 2;\n\\else\nSELECT 3;\n\\endif\nSELECT 4;";
    let script = compile(text).expect("script");
    let shown: Vec<String> = script
        .commands
        .iter()
        .map(|command| match command {
            Command::Unless { target, .. } => format!("unless {target}"),
            Command::Jump(target) => format!("jump {target}"),
            Command::Sql(sql) => numbered(sql),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "unless 3",
            "SELECT 1;",
            "jump 7",
            "unless 6",
            "SELECT 2;",
            "jump 7",
            "SELECT 3;",
            "SELECT 4;"
        ]
    );
    assert_eq!(
        (script.sources[3].line, script.sources[3].words()),
        (3, "\\elif :x = 2")
    );
}

#[test]
fn sleeps_have_units_and_variables() {
    for (text, expected_us) in [
        ("\\sleep 5 us", 5),
        ("\\sleep 5ms", 5_000),
        ("\\sleep +2 S", 2_000_000),
        ("\\sleep 1", 1_000_000),
        ("\\sleep -3 ms", 0),
        ("\\sleep :x ms", 7_000),
    ] {
        let script = compile(text).expect(text);
        let mut scope = Scope::new(1);
        scope.values[0] = Value::Text("7 or so".into());
        let Command::Sleep(sleep) = &script.commands[0] else {
            panic!("no sleep")
        };
        assert_eq!(sleep.nanoseconds(&scope), Ok(expected_us * 1_000), "{text}");
    }
}

#[test]
fn what_an_answer_may_set_may_be_read_after_it() {
    let script = compile("SELECT 1 AS one \\gset p_\nSELECT :p_one;").expect("script");
    let Command::Sql(sql) = &script.commands[0] else {
        panic!("no statement")
    };
    let store = sql.store.as_ref().expect("store");
    assert_eq!((store.prefix.as_str(), store.all), ("p_", false));
    let Command::Sql(sql) = &script.commands[1] else {
        panic!("no statement")
    };
    assert_eq!(sql.needs, [(0, "p_one".to_owned())]);
}

#[test]
fn what_a_branch_or_another_script_sets_may_be_missing() {
    let text = "\\if :x\n\\set y 1\n\\endif\nSELECT :y;";
    let script = compile(text).expect("script");
    let Some(Command::Sql(sql)) = script.commands.last() else {
        panic!("no statement")
    };
    assert_eq!(sql.needs.len(), 1);
    let mut symbols = Symbols::of_scripts(Dialect::Postgres, ["\\set z 1\n", "SELECT :z;"]);
    assert!(parse("b", "SELECT :z;", &mut symbols, &[]).is_ok());
}

#[test]
fn a_variable_used_twice_is_two_parameters_and_two_pieces() {
    let script = compile("SELECT :x, :x;").expect("script");
    let Command::Sql(sql) = &script.commands[0] else {
        panic!("no statement")
    };
    assert_eq!(sql.params, [0, 0]);
    assert!(sql.needs.is_empty() && sql.only_simple.is_none());
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
fn line_comments_are_not_sent_and_an_empty_statement_is_one() {
    assert_eq!(
        statements("-- a\n/* b */ ; ;\nSELECT 1;-- c\n"),
        ["/* b */ ;", ";", "SELECT 1;"]
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
    assert!(error.starts_with("s.sql:2:12: unexpected function name \"nope\"; there are abs"));
    assert!(error.ends_with("\n\\set y 1 + nope(2)\n           ^"));
}

#[test]
fn what_is_wrong_with_a_command_is_said() {
    for (text, expected) in [
        ("\\if true\nSELECT 1;", "1:1: \\if without matching \\endif"),
        ("SELECT 1;\n\\endif", "2:1: \\endif without matching \\if"),
        ("\\else\n", "1:1: \\else without matching \\if"),
        ("\\elif 1\n", "1:1: \\elif without matching \\if"),
        (
            "\\if 1\n\\else\n\\else\n\\endif",
            "3:1: \\else after \\else",
        ),
        (
            "\\if 1\n\\else\n\\elif 1\n\\endif",
            "3:1: \\elif after \\else",
        ),
        ("\\if\n\\endif", "1:4: syntax error at the end"),
        ("\\if 1\n\\endif 2", "2:8: unexpected argument of \\endif"),
        (
            "\\shell ls",
            "1:1: \\shell is refused: a script starts no programs",
        ),
        ("\\setshell x ls", "\\setshell is refused"),
        ("\\sleep", "1:7: missing argument of \\sleep"),
        (
            "\\sleep 1 h",
            "1:10: unrecognized time unit, must be us, ms or s: \"h\"",
        ),
        (
            "\\sleep 1.5",
            "1:8: unrecognized time unit, must be us, ms or s: \".5\"",
        ),
        ("\\sleep x", "invalid sleep time, must be an integer"),
        ("\\sleep 1 s 2", "1:12: too many arguments of \\sleep"),
        ("\\sleep :nope", "1:8: undefined variable \"nope\""),
        ("\\gset", "1:1: \\gset must follow an SQL command"),
        (
            "\\set y 1\n\\aset",
            "2:1: \\aset must follow an SQL command",
        ),
        ("SELECT 1 \\gset \\gset", "invalid prefix of variable names"),
        ("SELECT 1 \\gset a b", "1:18: too many arguments of \\gset"),
        (
            "SELECT 1 \\gset\n\\gset",
            "2:1: \\gset must follow an SQL command",
        ),
        (
            "\\if 1\nSELECT 1;\n\\endif\n\\gset",
            "\\gset must follow an SQL command",
        ),
        ("\\endpipeline", "1:1: \\endpipeline: not in pipeline mode"),
        (
            "\\startpipeline\n\\startpipeline",
            "2:1: \\startpipeline: already in pipeline",
        ),
        (
            "\\startpipeline\nSELECT 1 \\gset\n",
            "\\gset is not allowed in pipeline mode",
        ),
        (
            "SELECT 1;\n\\startpipeline",
            "2:1: \\startpipeline without matching",
        ),
    ] {
        let error = compile(text).expect_err(text);
        assert!(error.contains(expected), "{text:?} gave {error:?}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (text, expected) in [
        ("SELECT :nope;", "1:8: undefined variable \"nope\""),
        (
            "\\set y :y + 1\nSELECT :y;",
            "1:8: undefined variable \"y\"",
        ),
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
        ("-- nothing\n", "script has no command"),
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
}

#[test]
fn a_place_lies_in_its_line_however_the_line_ends() {
    for text in [
        "--\r\r\r\ra~s[\r\r\r\r",
        "\\set y 1 +\r\n",
        "\\set y 1 +\r\r\r",
    ] {
        for script in [text.to_owned(), format!("\\set a {text}\nSELECT :a;\n")] {
            if let Err(error) = parse("s.sql", &script, &mut Symbols::new(), &[]) {
                assert!(
                    error.column <= error.source.chars().count() + 2,
                    "{error:?}"
                );
            }
        }
    }
    assert!(compile("\\set y 1 +\r\n")
        .unwrap_err()
        .contains("\n\\set y 1 +\n"));
}
