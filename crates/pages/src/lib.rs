//! Verifies data files: of PostgreSQL page layout, checksums, the control file, scans of whole
//! clusters; of InnoDB pages and data directories (`innodb`).

mod algorithm;
mod catalogue;
mod checksum;
mod control;
mod crc32c;
mod fault;
mod guess;
mod header;
pub mod innodb;
mod judge;
mod lanes;
mod pace;
mod pieces;
mod reading;
mod recheck;
mod regular;
mod relation_file;
mod relation_map;
mod residency;
mod rows;
mod scan;
mod seal;
mod single_bit;
mod timing;
mod trials;
mod walk;

pub use algorithm::{Algorithm, Identity, Place, Scheme};
pub use catalogue::{is_catalogued, Catalogue, Entry, Origin, Writer, ENTRY_BYTES};
pub use checksum::{page_checksum, page_checksums, stored_checksum, PAGE_BYTES};
pub use control::{set_checksum_version, ControlError, ControlFile, State};
pub use crc32c::crc32c;
pub use fault::{PageFault, Planted, Random, Versions};
pub use guess::{guess, Guess};
pub use header::{is_all_zero, Header, HEADER_BYTES};
pub use judge::{Fault, Judge, Wrong};
pub use lanes::Kernel;
pub use recheck::{recheck, still_of_size, Look, Rechecked, Suspect};
pub use regular::open_regular;
pub use relation_file::{parse_relation_file, Fork, RelationFile};
pub use relation_map::{read_relation_map, MapFault, RelationMap};
pub use scan::{scan, Event, Options, Progress};
pub use seal::{seal_cluster, SealOptions, Sealed};
pub use timing::{timed, Cost, Work};
pub use trials::{algorithm_trials, check_trials, Check};
pub use walk::{broken_forks, is_unlogged, walk, BrokenFork, Found, Segment, Skipped};
