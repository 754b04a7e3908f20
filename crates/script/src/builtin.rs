//! Offers the built-in scripts: pgbench's own statements, stored with their workload.

/// Names that [`builtin`] knows, in the order pgbench lists them.
pub const BUILTIN_NAMES: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];

macro_rules! script {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../python/steelyard/workloads/pgbench/scripts/",
            $name,
            ".sql"
        ))
    };
}

/// The text of a built-in script, `None` when there is no such script.
pub fn builtin(name: &str) -> Option<&'static str> {
    match name {
        "tpcb-like" => Some(script!("tpcb-like")),
        "simple-update" => Some(script!("simple-update")),
        "select-only" => Some(script!("select-only")),
        _ => None,
    }
}
