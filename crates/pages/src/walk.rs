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

/// A file or directory that was not scanned, or could not be, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    pub label: String,
    pub reason: String,
}

/// What a walk found; segments in the order of their directories.
#[derive(Debug, Default)]
pub struct Found {
    pub segments: Vec<Segment>,
    /// Stray names, which hold nothing of the cluster.
    pub skipped: Vec<Skipped>,
    /// What belongs to the cluster and could not be entered: nothing is known of it.
    pub denied: Vec<Skipped>,
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
    let links = match sorted_entries(&directory.join("pg_tblspc")) {
        Ok(entries) => entries,
        Err(error) => {
            found.deny("pg_tblspc", error);
            Vec::new()
        }
    };
    for (entry, name) in links {
        let label = format!("pg_tblspc/{name}");
        let Ok(oid) = name.parse() else {
            found.skip(&label, "not a tablespace");
            continue;
        };
        let inside = entry.join(tablespace_version);
        let label = format!("{label}/{tablespace_version}");
        match fs::metadata(&inside) {
            Ok(status) if status.is_dir() => found.databases(&inside, &label, oid, false)?,
            Ok(_) => found.deny(&label, "not a directory"),
            // Gone with its link, it was dropped; CREATE TABLESPACE always makes the directory.
            Err(_) if fs::symlink_metadata(&entry).is_err() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => found.deny(
                &label,
                "the tablespace has no such directory: it is not mounted, or was not restored",
            ),
            Err(error) => found.deny(&label, error),
        }
    }
    Ok(found)
}

impl Found {
    fn skip(&mut self, label: &str, reason: impl ToString) {
        self.skipped.push(left_out(label, reason));
    }

    fn deny(&mut self, label: &str, reason: impl ToString) {
        self.denied.push(left_out(label, reason));
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
            let Ok(oid) = name.parse() else {
                // pgsql_tmp is what queries spill: no pages.
                if !name.starts_with("pgsql_tmp") {
                    self.skip(&label, "not a database's directory");
                }
                continue;
            };
            match fs::metadata(&entry) {
                Ok(status) if !status.is_dir() => self.skip(&label, "not a database's directory"),
                Err(error) if is_there(&entry) => self.deny(&label, error),
                _ => self.relations(&entry, &label, (tablespace, oid), false)?,
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
                let whole = name.strip_prefix("INCREMENTAL.");
                if whole.and_then(parse_relation_file).is_some() {
                    self.deny(
                        &label,
                        "only what changed: pg_combinebackup makes the file whole",
                    );
                } else if !is_known_other(&name) {
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
                Err(error) if is_there(&path) => self.deny(&label, error),
                Err(_) => {} // dropped meanwhile
            }
        }
        Ok(())
    }

    /// The entries of a directory; None: it was scanned already, vanished, or cannot be read.
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
            Err(error) => {
                if is_there(path) {
                    self.deny(label, error);
                }
                Ok(None)
            }
        }
    }
}

fn left_out(label: &str, reason: impl ToString) -> Skipped {
    Skipped {
        label: label.to_owned(),
        reason: reason.to_string(),
    }
}

/// Whether a name exists although what it leads to cannot be read: it was not dropped meanwhile.
fn is_there(path: &Path) -> bool {
    match fs::symlink_metadata(path) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
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
