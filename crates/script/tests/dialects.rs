//! Tests that scripts are cut into statements as the servers of a dialect read them.

use steelyard_script::{parse_as, Command, Dialect, Symbols};

fn statements(text: &str) -> Vec<String> {
    statements_of(Dialect::Mysql, text)
}

fn statements_of(dialect: Dialect, text: &str) -> Vec<String> {
    let script = parse_as(dialect, "s.sql", text, &mut Symbols::new(), &["x"]);
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
fn routines_are_one_statement_however_they_begin_and_end() {
    let (mysql, other) = (Dialect::Mysql, Dialect::Postgres);
    let t_sql_server = Dialect::SqlServer;
    for (dialect, head) in [
        (mysql, "CREATE DEFINER=`root`@`localhost` PROCEDURE p()"),
        (
            mysql,
            "create or replace definer = app@db1 function f() returns int",
        ),
        (
            mysql,
            "CREATE DEFINER=CURRENT_USER() TRIGGER t BEFORE INSERT ON u FOR EACH ROW",
        ),
        (mysql, "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO"),
        (other, "CREATE FUNCTION f() RETURNS int"),
        (other, "CREATE OR REPLACE PROCEDURE p()"),
        (t_sql_server, "CREATE FUNCTION f() RETURNS int AS"),
        (t_sql_server, "CREATE OR ALTER PROCEDURE p @n int AS"),
        (t_sql_server, "ALTER TRIGGER t ON u AFTER DELETE AS"),
        (other, "CREATE OR ALTER PROCEDURE p @n int AS"),
        (other, "CREATE PROC p AS"),
        (other, "alter procedure p as"),
    ] {
        for body in [
            "SELECT CASE 1 WHEN 1 THEN 2 END, CASE 1 WHEN 1 THEN 3 END, 4; SELECT 5;",
            "SELECT CASE 1 WHEN 1 THEN 2 END + CASE 1 WHEN 1 THEN 3 END; BEGIN SELECT 5; END;",
        ] {
            let routine = format!("{head} BEGIN {body} END;");
            let found = statements_of(dialect, &format!("{routine}\nSELECT 6;"));
            assert_eq!(found, [routine.as_str(), "SELECT 6;"]);
        }
    }
    let t_sql = "CREATE PROCEDURE p AS BEGIN BEGIN TRAN; IF 1 = 1 BEGIN SELECT 1; END\n\
                 IF 2 = 2 BEGIN SELECT 2 END WHILE 1 = 2 BEGIN SELECT 3; END COMMIT; END;";
    let found = statements_of(other, &format!("{t_sql}\nEXEC p;"));
    assert_eq!(found, [t_sql, "EXEC p;"]);
    for (dialect, view) in [
        (
            mysql,
            "CREATE DEFINER=a@b VIEW v AS SELECT event, begin FROM t;",
        ),
        (mysql, "CREATE TABLE event AS SELECT begin FROM t;"),
        (other, "CREATE VIEW v AS SELECT event, begin FROM t;"),
    ] {
        let found = statements_of(dialect, &format!("{view}\nSELECT 1;"));
        assert_eq!(found, [view, "SELECT 1;"]);
    }
}

#[test]
fn a_body_of_t_sql_whose_end_cannot_be_told_is_refused() {
    for head in [
        "CREATE PROCEDURE p AS",
        "create or alter proc p @n int = 1 with recompile as",
        "ALTER TRIGGER t ON u AFTER INSERT AS",
    ] {
        for body in [
            "SET NOCOUNT ON; SELECT 1;",
            "SET NOCOUNT ON; BEGIN SELECT 1; END;",
            "IF 1 = 1 BEGIN SELECT 1; END; SELECT 2;",
            "BEGIN TRY SELECT 1; END TRY BEGIN CATCH SELECT 2; END CATCH; SELECT 3;",
        ] {
            let text = format!("SELECT 0;\n{head} {body}");
            let parsed = parse_as(Dialect::SqlServer, "s.sql", &text, &mut Symbols::new(), &[]);
            let error = parsed.expect_err(&text);
            assert_eq!(error.line, 2);
            assert!(error.message.ends_with("put it between AS BEGIN and END"));
        }
        for body in [
            "SELECT 1;",
            "SELECT 1 SELECT 2; -- the end\n",
            "BEGIN TRAN; SELECT 1; COMMIT;",
            "SET NOCOUNT ON\\; SELECT 1;",
        ] {
            let text = format!("{head} {body}");
            assert_eq!(statements_of(Dialect::SqlServer, &text).len(), 1, "{text}");
        }
        for body in [
            "BEGIN BEGIN TRY SELECT 1; END TRY BEGIN CATCH SELECT 2; END CATCH END;",
            "BEGIN SELECT 1; END;",
        ] {
            let text = format!("{head} {body} SELECT 3;");
            assert_eq!(statements_of(Dialect::SqlServer, &text).len(), 2, "{text}");
        }
    }
    for text in [
        "CREATE FUNCTION f() RETURNS TABLE AS RETURN (SELECT 1 AS n); SELECT 2;",
        "CREATE TABLE t (n int); ALTER TABLE t ADD m int;",
        "DROP PROCEDURE p; DROP TRIGGER t;",
    ] {
        assert_eq!(statements_of(Dialect::SqlServer, text).len(), 2, "{text}");
        assert_eq!(statements_of(Dialect::Postgres, text).len(), 2, "{text}");
    }
}

#[test]
fn words_of_clients_are_refused_where_they_stand() {
    for (dialect, text, line, word) in [
        (
            Dialect::Mysql,
            "SELECT 1;\nDELIMITER //\nSELECT 2//",
            2,
            "DELIMITER",
        ),
        (Dialect::Mysql, "delimiter ;;\nSELECT 1;;", 1, "DELIMITER"),
        (Dialect::Postgres, "SELECT 1;\nGO\nSELECT 2;", 2, "GO"),
        (Dialect::Postgres, "SELECT 1;\ngo \r\n", 2, "GO"),
    ] {
        let error = parse_as(dialect, "s.sql", text, &mut Symbols::new(), &[]).unwrap_err();
        assert_eq!(error.line, line);
        assert!(error
            .message
            .starts_with(&format!("{word} is a word of the client")));
    }
    for before in [
        "",
        "SELECT 1\n",
        "SELECT 1;\n",
        "EXEC p -- a;\n\t",
        "/* GO */ SELECT 'a'\n",
    ] {
        for go in ["GO", "go", "Go 5", "GO -- again", "GO;", "GO 12 \r"] {
            let text = format!("{before}{go}\nSELECT 2;");
            let parsed = parse_as(Dialect::SqlServer, "s.sql", &text, &mut Symbols::new(), &[]);
            let error = parsed.expect_err(&text);
            assert_eq!(error.line, before.matches('\n').count() + 1);
            assert!(error.message.starts_with("GO is a word of the client"));
        }
    }
    for text in [
        "SELECT 'a\nGO\nb', /* /* \nGO\n*/ GO\n */ [c\nGO\n] -- GO\n;",
        "SELECT a GO, @go;",
        "SELECT 1 AS\nGO_1\n;",
        "SELECT 1,\ngo.a FROM go;",
        "GO away;",
    ] {
        assert_eq!(statements_of(Dialect::SqlServer, text), [text]);
    }
    for text in ["SELECT 1 AS\ngo\n;", "go away;"] {
        assert_eq!(statements_of(Dialect::Postgres, text), [text]);
    }
}

#[test]
fn a_statement_on_one_line_is_read_in_time_linear_in_its_length() {
    // Minutes, where each word looks back to the beginning of its line.
    let words = "a, go, ".repeat(200_000);
    let text = format!("SELECT {words}b;");
    assert_eq!(statements_of(Dialect::SqlServer, &text), [text.as_str()]);
}

#[test]
fn names_in_brackets_money_and_words_of_t_sql_are_no_strings_of_another_dialect() {
    let text = "SELECT [it's; :x], [a]]b:x], $1.5, $action, 'c:\\', \"d;e\", E'f\\' AS $g$, :x;\n\
                SELECT $g$, ';' /* /* ; */ ; */ + N'h''i;';";
    let found = statements_of(Dialect::SqlServer, text);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("SELECT [it's; "), "{found:?}");
    assert!(found[0].ends_with("$g$, ?;"), "{found:?}");
    let error = parse_as(
        Dialect::SqlServer,
        "s.sql",
        "SELECT [a]]",
        &mut Symbols::new(),
        &[],
    );
    assert_eq!(error.unwrap_err().message, "unterminated quoted identifier");
    let trigger = "CREATE OR ALTER TRIGGER t ON u AFTER INSERT AS BEGIN SELECT 1; SELECT 2; END;";
    let found = statements_of(Dialect::SqlServer, &format!("{trigger}\nSELECT 3;"));
    assert_eq!(found, [trigger, "SELECT 3;"]);
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
