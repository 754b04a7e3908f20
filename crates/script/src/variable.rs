//! Finds the `:name` variables of a statement, and where they stand.

use crate::scan::{RegionKind, Statement};
use crate::token::{is_name, is_name_start, run};

/// One `:name`; offsets are bytes of the whole script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mention {
    /// Of the colon.
    pub start: usize,
    pub end: usize,
    /// `None`: plain SQL.
    pub inside: Option<RegionKind>,
}

/// Every `:name` of a statement, whatever it stands in: pgbench looks at no quotes.
pub(crate) fn mentions(text: &str, statement: &Statement) -> Vec<Mention> {
    let bytes = &text.as_bytes()[..statement.end];
    let mut found = Vec::new();
    let mut at = statement.start;
    while let Some(next) = bytes[at..].iter().position(|&byte| byte == b':') {
        let start = at + next;
        let colons = run(&bytes[start..], |byte| byte == b':');
        let name = start + colons;
        at = name;
        // Two colons and more are a cast.
        if colons == 1 && bytes.get(name).copied().is_some_and(is_name_start) {
            at = name + run(&bytes[name..], is_name);
            found.push(Mention {
                start,
                end: at,
                inside: inside(statement, start),
            });
        }
    }
    found
}

fn inside(statement: &Statement, at: usize) -> Option<RegionKind> {
    let around = statement
        .regions
        .iter()
        .filter(|region| (region.start..region.end).contains(&at));
    around.map(|region| region.kind).max()
}
