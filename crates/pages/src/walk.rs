//! Finds every relation file of a cluster: all tablespaces, databases, forks and segments.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::relation_file::{parse_relation_file, Fork, RelationFile};

const DEFAULT_TABLESPACE: u32 = 1663;
const GLOBAL_TABLESPACE: u32 = 1664;

/// A stretch of a file that holds a segment of a relation fork.
#[derive(Debug, Clone)]
pub struct Segment {
    /// The file to open.
    pub path: PathBuf,
    /// Its name relative to the data directory, as the server's errors give it.
    pub label: String,
    /// Where in the file it begins: not 0 inside an archive.
    pub offset: u64,
    pub bytes: u64,
    pub tablespace: u32,
    /// 0 for relations that all databases share.
    pub database: u32,
    pub file: RelationFile,
}

/// A file or directory that was not scanned, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub label: String,
    pub reason: String,
}

/// What a walk found; segments in the order of their directories.
#[derive(Debug, Default)]
pub struct Found {
    pub segments: Vec<Segment>,
    pub skipped: Vec<Skipped>,
    visited: HashSet<(u64, u64)>,
}

/// Walks a data directory. `tablespace_version` is the name of this cluster's directory in a
/// tablespace (`PG_18_202506291`): a tablespace may hold those of other versions too.
pub fn walk(directory: &Path, tablespace_version: &str) -> io::Result<Found> {
    let mut found = Found::default();
    found.relations(
        &directory.join("global"),
        "global",
        (GLOBAL_TABLESPACE, 0),
        true,
    )?;
    found.databases(&directory.join("base"), "base", DEFAULT_TABLESPACE, true)?;
    for (entry, name) in sorted_entries(&directory.join("pg_tblspc")).unwrap_or_default() {
        let label = format!("pg_tblspc/{name}");
        let Ok(oid) = name.parse() else {
            found.skip(&label, "not a tablespace");
            continue;
        };
        let inside = entry.join(tablespace_version);
        let label = format!("{label}/{tablespace_version}");
        if inside.is_dir() {
            found.databases(&inside, &label, oid, false)?;
        } else {
            found.skip(&label, "the tablespace has no such directory");
        }
    }
    Ok(found)
}

impl Found {
    fn skip(&mut self, label: &str, reason: impl ToString) {
        self.skipped.push(Skipped {
            label: label.to_owned(),
            reason: reason.to_string(),
        });
    }

    fn databases(
        &mut self,
        path: &Path,
        label: &str,
        tablespace: u32,
        required: bool,
    ) -> io::Result<()> {
        let Some(entries) = self.enter(path, label, required)? else {
            return Ok(());
        };
        for (entry, name) in entries {
            let label = format!("{label}/{name}");
            match name.parse() {
                Ok(oid) if entry.is_dir() => {
                    self.relations(&entry, &label, (tablespace, oid), false)?;
                }
                _ if name.starts_with("pgsql_tmp") => {} // what queries spill: no pages
                _ => self.skip(&label, "not a database's directory"),
            }
        }
        Ok(())
    }

    fn relations(
        &mut self,
        path: &Path,
        label: &str,
        (tablespace, database): (u32, u32),
        required: bool,
    ) -> io::Result<()> {
        let Some(entries) = self.enter(path, label, required)? else {
            return Ok(());
        };
        for (path, name) in entries {
            let label = format!("{label}/{name}");
            let Some(file) = parse_relation_file(&name) else {
                if !is_known_other(&name) {
                    self.skip(&label, "not the name of a relation file");
                }
                continue;
            };
            match fs::metadata(&path) {
                Ok(status) if status.is_file() => self.segments.push(Segment {
                    path,
                    label,
                    offset: 0,
                    bytes: status.len(),
                    tablespace,
                    database,
                    file,
                }),
                Ok(_) => self.skip(&label, "not a regular file"),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {} // dropped meanwhile
                Err(error) => self.skip(&label, error),
            }
        }
        Ok(())
    }

    /// The entries of a directory; None: it was there before, vanished, or cannot be read.
    fn enter(
        &mut self,
        path: &Path,
        label: &str,
        required: bool,
    ) -> io::Result<Option<Vec<(PathBuf, String)>>> {
        let entered = fs::metadata(path).and_then(|status| Ok((status, sorted_entries(path)?)));
        match entered {
            Ok((status, _)) if !self.visited.insert((status.dev(), status.ino())) => {
                self.skip(
                    label,
                    "symbolic link to a directory that is scanned already",
                );
                Ok(None)
            }
            Ok((_, entries)) => Ok(Some(entries)),
            Err(error) if required => Err(error),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                self.skip(label, error);
                Ok(None)
            }
        }
    }
}

fn sorted_entries(path: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        entries.push((
            entry.path(),
            entry.file_name().to_string_lossy().into_owned(),
        ));
    }
    entries.sort_by(|a, b| a.1.cmp(&b.1));
    Ok(entries)
}

/// Files that a server keeps beside relations: they hold no pages.
fn is_known_other(name: &str) -> bool {
    let fixed = ["pg_control", "pg_filenode.map", "PG_VERSION"];
    fixed.contains(&name) || name.starts_with("pg_internal.init") || name.starts_with("pgsql_tmp")
}

/// A fork whose segments do not follow each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenFork {
    /// The segment behind which, or in place of which, blocks are missing.
    pub label: String,
    /// The first block that is missing.
    pub block: u32,
    pub reason: String,
}

/// Finds segments that are missing, or too short for what follows them.
///
/// The server stops at the first segment that is not full: what lies behind is lost to it. Empty
/// segments behind the end are sound: truncation leaves them (mdtruncate of storage/smgr/md.c).
pub fn broken_forks(segments: &[Segment], page_bytes: u32, segment_blocks: u32) -> Vec<BrokenFork> {
    let full = u64::from(page_bytes) * u64::from(segment_blocks);
    let fork = |s: &Segment| {
        let file = &s.file;
        (
            s.tablespace,
            s.database,
            file.temporary_of,
            file.filenode,
            file.fork,
        )
    };
    let mut ordered: Vec<&Segment> = segments.iter().collect();
    ordered.sort_by_key(|s| (fork(s), s.file.segment));
    let mut broken = Vec::new();
    for forks in ordered.chunk_by(|a, b| fork(a) == fork(b)) {
        let mut expected = 0;
        let mut end: Option<&Segment> = None;
        for segment in forks.iter().copied() {
            let number = segment.file.segment;
            if number != expected && segment.bytes > 0 {
                let block = expected.saturating_mul(segment_blocks);
                let reason = format!("segment {expected} is missing, segment {number} is there");
                broken.push(BrokenFork {
                    label: segment.label.clone(),
                    block,
                    reason,
                });
            } else if let Some(end) = end.filter(|_| segment.bytes > 0) {
                let blocks = (end.bytes / u64::from(page_bytes)) as u32;
                broken.push(BrokenFork {
                    label: end.label.clone(),
                    block: end.file.segment.saturating_mul(segment_blocks) + blocks,
                    reason: format!("the segment is not full, and segment {number} has content"),
                });
            }
            end = (segment.bytes < full).then_some(segment);
            expected = number + 1;
        }
    }
    broken
}

/// Forks of relations that lose their content in a crash: those that have an init fork.
pub fn is_unlogged(segments: &[Segment]) -> HashSet<(u32, u32, u32)> {
    let init = segments.iter().filter(|s| s.file.fork == Fork::Init);
    init.map(|s| (s.tablespace, s.database, s.file.filenode))
        .collect()
}
