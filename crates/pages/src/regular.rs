//! Opens regular files only: opening a pipe in the place of one would block without end.

use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Opens a file for reading. InvalidInput: it is a directory, a device or a pipe.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        let reason = "not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    File::open(path)
}
