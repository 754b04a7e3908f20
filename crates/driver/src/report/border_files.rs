//! Reads small files of the kernel at both ends of a slice, while no client works.

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;

use serde::Serialize;

/// Files of /proc and /sys hold less than this; of a longer one the beginning is read.
const MOST_BYTES: usize = 64 * 1024;

/// Files that are kept open and read again and again. One that cannot be read is empty.
pub struct BorderFiles {
    files: Vec<Option<File>>,
    buffer: Vec<u8>,
}

/// What the files held before a slice and after it, in the order of the plan.
#[derive(Serialize)]
pub struct AtBorders {
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl BorderFiles {
    pub fn open(paths: &[String]) -> BorderFiles {
        BorderFiles {
            files: paths.iter().map(|path| File::open(path).ok()).collect(),
            buffer: vec![0; if paths.is_empty() { 0 } else { MOST_BYTES }],
        }
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The files' content now.
    pub fn read(&mut self) -> Vec<String> {
        let buffer = &mut self.buffer;
        self.files
            .iter()
            .map(|file| {
                file.as_ref()
                    .map_or(String::new(), |file| whole(file, buffer))
            })
            .collect()
    }
}

/// A file from its beginning; the kernel writes it anew for each reading from there.
fn whole(file: &File, buffer: &mut [u8]) -> String {
    let mut end = 0;
    while end < buffer.len() {
        match file.read_at(&mut buffer[end..], end as u64) {
            Ok(0) => break,
            Ok(read) => end += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return String::new(),
        }
    }
    String::from_utf8_lossy(&buffer[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_from_its_beginning_each_time() {
        let path = std::env::temp_dir().join(format!("border-files-{}", std::process::id()));
        std::fs::write(&path, "one 1\n").unwrap();
        let named = path.to_str().unwrap().to_owned();
        let mut files = BorderFiles::open(&[named, "/nowhere/at/all".to_owned()]);
        assert_eq!(files.read(), ["one 1\n", ""]);
        std::fs::write(&path, "two 22\n").unwrap();
        assert_eq!(files.read(), ["two 22\n", ""]);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn files_of_proc_move_on() {
        let mut files = BorderFiles::open(&["/proc/self/stat".to_owned()]);
        let first = files.read();
        assert!(first[0].contains('('), "{first:?}");
        assert_eq!(files.read().len(), 1);
    }

    #[test]
    fn no_files_need_nothing() {
        let mut files = BorderFiles::open(&[]);
        assert!(files.is_empty());
        assert_eq!(files.read(), Vec::<String>::new());
    }
}
