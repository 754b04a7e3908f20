//! Opens regular files only: opening a pipe in the place of one would block without end.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file for reading. InvalidInput: it is a directory, a device or a pipe.
pub fn open_regular(path: &Path) -> io::Result<File> {
    open_with(path, 0)
}

/// The same with further flags of open(2).
///
/// The kind is that of the file that was opened: a name may lead elsewhere by now. O_NONBLOCK keeps
/// a pipe without a writer from blocking, and does nothing to regular files.
pub fn open_with(path: &Path, flags: i32) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | flags)
        .open(path)?;
    if !file.metadata()?.is_file() {
        let reason = "not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(file)
}
