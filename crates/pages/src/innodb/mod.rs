//! Verifies InnoDB data files of MySQL and MariaDB: page layout, checksums, places, whole
//! data directories.

mod checksum;
mod files;
mod judge;
mod layout;
mod recheck;
mod scan;
mod space;

pub use checksum::{adler32, fold, innodb_checksums, page_crc32, page_crc32_big_endian, zip_crc32};
pub use files::{walk, DataFile, Found};
pub use judge::{judge, Carried, Fault, Place, Verdict, Wrong};
pub use layout::{Encryption, Layout, PAGE_SIZES};
pub use recheck::recheck;
pub use scan::{scan, FileCounts, Options, Progress, Scanned, Suspect};
pub use space::{read_space, Space};
