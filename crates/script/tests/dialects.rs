//! Tests that scripts are cut into statements as the servers of a dialect read them.

use steelyard_script::{parse_as, Command, Dialect, Symbols};

fn statements(text: &str) -> Vec<String> {
    let script = parse_as(Dialect::Mysql, "s.sql", text, &mut Symbols::new(), &["x"]);
    let script = script.expect("script");
    let sql = script.commands.iter().filter_map(|command| match command {
        Command::Sql(sql) => Some(sql.text(|_| "?".to_owned())),
        _ => None,
    });
    sql.collect()
}

#[test]
fn strings_and_comments_of_mysql_end_as_its_server_reads_them() {
    let text =
        "SELECT 'it\\'s; :x', \"a\\\";\", `b;\\`, 'it''s;' -- ;\n, # ; :x\n :x--1 /* /* ; */;\n\
                # nothing\nSELECT $$, :x;";
    let found = statements(text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].ends_with("?--1 /* /* ; */;"), "{found:?}");
    assert_eq!(found[1], "SELECT $$, ?;");
}

#[test]
fn the_body_of_a_routine_is_one_statement() {
    let text = "CREATE PROCEDURE p(IN n int) BEGIN\n\
                DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;\n\
                each: WHILE n > 0 DO\n\
                BEGIN SET n = n - 1; END; IF n = 5 THEN LEAVE each; END IF; -- END of nothing\n\
                CASE n WHEN 1 THEN SELECT CASE n WHEN 1 THEN 2 END; ELSE SELECT 3; END CASE;\n\
                END WHILE each;\n\
                REPEAT SET n = n + 1; UNTIL n > 3 END REPEAT;\nEND;\nSELECT 1;\nEND; IF x;";
    let found = statements(text);
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].ends_with("END REPEAT;\nEND;"));
    assert_eq!(found[1..], ["SELECT 1;", "END;", "IF x;"]);
}

#[test]
fn an_unfinished_string_of_mysql_is_found_where_it_begins() {
    for (text, why) in [
        ("SELECT 'a\\'", "unterminated quoted string"),
        ("SELECT `a", "unterminated quoted identifier"),
        ("SELECT /* /* */ /*", "unterminated /* comment"),
    ] {
        let error = parse_as(Dialect::Mysql, "s.sql", text, &mut Symbols::new(), &[]).unwrap_err();
        assert_eq!(error.message, why);
    }
}

#[test]
fn a_variable_in_a_hint_is_replaced_by_the_simple_protocol_alone() {
    let refused = |dialect, text: &str| {
        let script = parse_as(dialect, "s.sql", text, &mut Symbols::new(), &["x"]).expect(text);
        let Command::Sql(sql) = &script.commands[0] else {
            panic!("no statement")
        };
        let refused = sql.only_simple.as_ref();
        refused.map(|error| (error.column, error.message.clone()))
    };
    let why = "variable \"x\" stands inside a hint: only the simple protocol can replace it there";
    for (text, postgres, mysql) in [
        ("/*+ :x(t) */ SELECT 1;", true, true),
        ("/*+ IndexScan(t :x) */;", true, true),
        ("SELECT /*!:x */ 1;", false, true),
        ("SELECT /*M!:x */ 1;", false, true),
        ("SELECT /*+ a:y :: */ 1, :x;", false, false),
        ("SELECT 1 /* + :x, ! :x */;", false, false),
        ("SELECT 1 -- + :x\n;", false, false),
    ] {
        let at = text.find(":x").map(|offset| (offset + 1, why.to_owned()));
        for (dialect, hinted) in [(Dialect::Postgres, postgres), (Dialect::Mysql, mysql)] {
            let wanted = at.clone().filter(|_| hinted);
            assert_eq!(refused(dialect, text), wanted, "{dialect:?} {text}");
        }
    }
}
