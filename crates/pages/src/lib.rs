//! PostgreSQL page layout, checksums and the control file.

mod checksum;
mod control;
mod crc32c;

pub use checksum::{page_checksum, stored_checksum, PAGE_BYTES};
pub use control::{set_checksum_version, ControlError, ControlFile, State};
pub use crc32c::crc32c;
