//! Finds the tablespaces of an InnoDB data directory: system, undo, general, one file a table.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::layout::Layout;
use super::space::{read_space, Space};
use crate::walk::Skipped;

/// A file of a tablespace.
#[derive(Debug, Clone)]
pub struct DataFile {
    pub path: PathBuf,
    /// Its name relative to the data directory.
    pub label: String,
    pub bytes: u64,
    pub layout: Layout,
    /// The number of its tablespace, if any page says it.
    pub space: Option<u32>,
    /// The number of its first page.
    pub first_page: u32,
    /// Pages that it must have at least.
    pub least_pages: u32,
    pub doublewrite: Vec<Range<u32>>,
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Found {
    pub files: Vec<DataFile>,
    /// Files of InnoDB that hold no pages that stay.
    pub skipped: Vec<Skipped>,
    /// What belongs to the instance and could not be read.
    pub denied: Vec<Skipped>,
    system: Vec<(u32, PathBuf, String)>,
    /// Directories by device and number: links may lead back.
    visited: HashSet<(u64, u64)>,
}

/// The system tablespace's first file: where it is, there is a data directory.
const FIRST_SYSTEM_FILE: &str = "ibdata1";

/// Walks a data directory and every directory below it: those of databases, and those that
/// innodb_undo_directory and the like name. An error: it cannot be entered.
pub fn walk(directory: &Path) -> io::Result<Found> {
    let mut found = Found::default();
    let entries = sorted(directory)?;
    found.is_new(directory);
    for (path, name) in entries {
        found.entry(directory, path, &name, name.clone(), true);
    }
    let mut system = std::mem::take(&mut found.system);
    system.sort();
    found.system_tablespace(system);
    Ok(found)
}

enum Kind {
    System(u32),
    Tablespace,
    /// Holds the path of one.
    Link,
    Passing(&'static str),
    Other,
}

/// What a file at the top of a data directory is, by its name.
fn kind_of(name: &str) -> Kind {
    let undo = name.strip_prefix("undo_").or(name.strip_prefix("undo"));
    if let Some(number) = name.strip_prefix("ibdata").and_then(|n| n.parse().ok()) {
        Kind::System(number)
    } else if undo.is_some_and(is_number) || name.ends_with(".ibu") || name.ends_with(".ibd") {
        Kind::Tablespace
    } else if name.ends_with(".isl") {
        Kind::Link
    } else if name.starts_with("ibtmp") || name == "#innodb_temp" {
        Kind::Passing("temporary: made anew at every start, without checksums")
    } else if name.ends_with(".dblwr") {
        Kind::Passing("doublewrite: copies of pages, read only by recovery")
    } else {
        Kind::Other
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Found {
    fn skip(&mut self, label: &str, reason: &str) {
        self.skipped.push(Skipped {
            label: label.to_owned(),
            reason: reason.to_owned(),
        });
    }

    fn deny(&mut self, label: &str, reason: impl ToString) {
        self.denied.push(Skipped {
            label: label.to_owned(),
            reason: reason.to_string(),
        });
    }

    /// Files of the system tablespace follow each other: page numbers go on.
    fn system_tablespace(&mut self, files: Vec<(u32, PathBuf, String)>) {
        let begun = self.files.len();
        let mut layout = None;
        let mut total = None;
        for (_, path, label) in files {
            match examined(&path, layout) {
                Ok((space, bytes)) => {
                    let known = space.unwrap_or_else(|| unknown(layout));
                    layout.get_or_insert(known.layout);
                    total = total.or(known.pages);
                    let mut file = data_file(path, label, bytes, known);
                    if let Some(before) = self.files[begun..].last_mut() {
                        let page_bytes = before.layout.page_bytes as u64;
                        let follows = before.first_page + (before.bytes / page_bytes) as u32;
                        if file.first_page == 0 {
                            file.first_page = follows;
                        }
                        before.least_pages = file.first_page.saturating_sub(before.first_page);
                    }
                    file.space = Some(0);
                    self.files.push(file);
                }
                Err(error) => self.deny(&label, error),
            }
        }
        if let (Some(last), Some(pages)) = (self.files[begun..].last_mut(), total) {
            last.least_pages = pages.saturating_sub(last.first_page).max(1);
        }
    }

    fn tablespace(&mut self, path: PathBuf, label: String) {
        match examined(&path, None) {
            Ok((space, bytes)) => {
                let mut known = space.unwrap_or_else(|| unknown(None));
                known.first_page = 0;
                let pages = known.pages;
                let mut file = data_file(path, label, bytes, known);
                file.least_pages = pages.unwrap_or(1).max(1);
                self.files.push(file);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {} // dropped meanwhile
            Err(error) => self.deny(&label, error),
        }
    }

    /// What stands in a directory under a name; `label`: the same from the data directory on;
    /// `descend`: whether it is entered if it is a directory itself.
    fn entry(&mut self, directory: &Path, path: PathBuf, name: &str, label: String, descend: bool) {
        match kind_of(name) {
            Kind::System(number) => self.system.push((number, path, label)),
            Kind::Tablespace => self.tablespace(path, label),
            Kind::Link => self.elsewhere(directory, &path, label),
            Kind::Passing(reason) => self.skip(&label, reason),
            Kind::Other if name.starts_with('#') || name == "lost+found" || !path.is_dir() => {}
            Kind::Other if descend => self.below(directory, &path, &label),
            Kind::Other => self.skip(&label, "a directory below a linked one: not entered"),
        }
    }

    fn below(&mut self, directory: &Path, path: &Path, label: &str) {
        let entries = match sorted(path) {
            Ok(entries) => entries,
            Err(error) => return self.deny(label, error),
        };
        if !self.is_new(path) {
            return;
        }
        if entries.iter().any(|(_, name)| name == FIRST_SYSTEM_FILE) {
            let reason = "another data directory, with a system tablespace: scrub it by itself";
            return self.skip(label, reason);
        }
        // A link may lead anywhere, with all that is there below it.
        let is_link = fs::symlink_metadata(path).is_ok_and(|status| status.is_symlink());
        for (path, name) in entries {
            let label = format!("{label}/{name}");
            self.entry(directory, path, &name, label, !is_link);
        }
    }

    /// Whether a directory was not walked yet.
    fn is_new(&mut self, path: &Path) -> bool {
        fs::metadata(path).is_ok_and(|status| self.visited.insert((status.dev(), status.ino())))
    }

    /// CREATE TABLE … DATA DIRECTORY, and CREATE TABLESPACE with a path, leave a file with the path
    /// of the tablespace.
    fn elsewhere(&mut self, directory: &Path, link: &Path, label: String) {
        match fs::read_to_string(link) {
            Ok(text) => {
                let path = directory.join(text.trim_end());
                if path.is_file() {
                    self.tablespace(path, label);
                } else {
                    self.deny(&label, "the file that it names is not there");
                }
            }
            Err(error) => self.deny(&label, error),
        }
    }
}

/// What is known of a file, and its size, which is taken last: a file that grows is longer by then
/// than its first page said.
fn examined(path: &Path, layout: Option<Layout>) -> io::Result<(Option<Space>, u64)> {
    if !fs::metadata(path)?.is_file() {
        let reason = "not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    let space = read_space(path, layout)?;
    Ok((space, fs::metadata(path)?.len()))
}

/// Of a file of which no page says anything: every page of it will be wrong, or empty.
fn unknown(layout: Option<Layout>) -> Space {
    Space {
        layout: layout.unwrap_or_else(|| Layout::plain(16384)),
        id: None,
        first_page: 0,
        pages: None,
        doublewrite: Vec::new(),
    }
}

fn data_file(path: PathBuf, label: String, bytes: u64, space: Space) -> DataFile {
    DataFile {
        path,
        label,
        bytes,
        layout: space.layout,
        space: space.id,
        first_page: space.first_page,
        least_pages: 1,
        doublewrite: space.doublewrite,
    }
}

fn sorted(directory: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        // Names of tables are written in ASCII (@0024 for others); no other file is of InnoDB's.
        if let Ok(name) = entry.file_name().into_string() {
            entries.push((entry.path(), name));
        }
    }
    entries.sort();
    Ok(entries)
}
