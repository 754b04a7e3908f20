//! Parses names of relation files: which relation, fork and segment a file holds.

/// A fork of a relation (common/relpath.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fork {
    Main,
    Fsm,
    Vm,
    Init,
}

impl Fork {
    pub const ALL: [Self; 4] = [Self::Main, Self::Fsm, Self::Vm, Self::Init];

    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Fsm => "fsm",
            Self::Vm => "vm",
            Self::Init => "init",
        }
    }
}

/// The parts of the name of a relation file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RelationFile {
    pub filenode: u32,
    pub fork: Fork,
    pub segment: u32,
    /// The backend a temporary relation belongs to.
    pub temporary_of: Option<u32>,
}

/// Reads a file's name: `16384`, `16384_fsm`, `16384.3`, `16384_vm.1`, `t3_16384`; None for any
/// other (parse_filename_for_nontemp_relation of storage/file/reinit.c).
pub fn parse_relation_file(name: &str) -> Option<RelationFile> {
    let (temporary_of, rest) = match name.strip_prefix('t') {
        Some(rest) => {
            let (backend, rest) = rest.split_once('_')?;
            (Some(number(backend)?), rest)
        }
        None => (None, name),
    };
    let (rest, segment) = match rest.split_once('.') {
        // The first segment has no number; 0 is never written.
        Some((rest, segment)) => (rest, Some(number(segment)?).filter(|n| *n > 0)?),
        None => (rest, 0),
    };
    let (filenode, fork) = match rest.split_once('_') {
        Some((filenode, fork)) => (filenode, fork_of(fork)?),
        None => (rest, Fork::Main),
    };
    Some(RelationFile {
        filenode: Some(number(filenode)?).filter(|n| *n > 0)?,
        fork,
        segment,
        temporary_of,
    })
}

fn fork_of(name: &str) -> Option<Fork> {
    let named = [Fork::Fsm, Fork::Vm, Fork::Init];
    named.into_iter().find(|fork| fork.name() == name)
}

/// Digits alone, without a leading zero, as the server writes them.
fn number(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || (text.len() > 1 && text.starts_with('0')) {
        return None;
    }
    text.parse().ok()
}
