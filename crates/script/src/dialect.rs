//! Names the SQL dialects by whose lexical rules scripts are split.

/// Where strings and comments end, and whether a semicolon is inside the body of a routine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// PostgreSQL, as psql reads it.
    #[default]
    Postgres,
    /// MySQL and MariaDB, as their servers read it. There is no DELIMITER, which is a word of the
    /// client `mysql`: a routine whose body is BEGIN … END is one statement.
    Mysql,
    /// T-SQL, as SQL Server reads it: names in brackets, no strings between dollars, no escapes.
    /// There is no GO, which is a word of the client `sqlcmd`.
    SqlServer,
}

impl Dialect {
    /// By the name of the protocol: "postgres", "mysql" or "sqlserver".
    pub fn named(name: &str) -> Option<Dialect> {
        match name {
            "postgres" => Some(Dialect::Postgres),
            "mysql" => Some(Dialect::Mysql),
            "sqlserver" => Some(Dialect::SqlServer),
            _ => None,
        }
    }
}
