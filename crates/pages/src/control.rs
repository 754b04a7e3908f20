//! Reads the control file, and switches page verification in it.
//!
//! Layout: PostgreSQL's catalog/pg_control.h. Between 12 and 18 nothing moved before the checksum
//! version; 19 made the copy of the checkpoint longer, and put two fields in. One of them,
//! `data_checksum_version_init`, is what initdb was given: whether pages have checksums now stands
//! in `data_checksum_version` alone. `pg_checksums --disable` does no more than what is done here,
//! but not every build brings that program, and each refuses clusters of another major version.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::crc32c::crc32c;
use crate::regular::open_regular;

const SYSTEM_IDENTIFIER: usize = 0;
const CONTROL_VERSION: usize = 8;
const CATALOG_VERSION: usize = 12;
const STATE: usize = 16;
const TIME: usize = 24;
const CHECKPOINT: usize = 32;
const REDO: usize = 40;
const TIMELINE: usize = 48;
const FULL_PAGE_WRITES: usize = 56;
/// A control file is padded to this size.
const FILE_BYTES: usize = 8192;

/// Where the fields are that moved, by pg_control_version.
#[derive(Debug, Clone, Copy)]
struct Offsets {
    min_recovery_point: usize,
    backup_start_point: usize,
    backup_end_point: usize,
    backup_end_required: usize,
    wal_log_hints: usize,
    block_size: usize,
    segment_blocks: usize,
    wal_segment_size: usize,
    checksum_version: usize,
    crc: usize,
}

impl Offsets {
    fn of(control_version: u32) -> Option<Self> {
        let until_18 = Self {
            min_recovery_point: 136,
            backup_start_point: 152,
            backup_end_point: 160,
            backup_end_required: 168,
            wal_log_hints: 176,
            block_size: 216,
            segment_blocks: 220,
            wal_segment_size: 228,
            checksum_version: 252,
            crc: 288,
        };
        match control_version {
            1201 | 1300 | 1700 => Some(until_18), // 12; 13 to 16; 17
            // 18 put a flag before the nonce.
            1800 => Some(Self {
                crc: 292,
                ..until_18
            }),
            1905 => Some(Self {
                min_recovery_point: 144,
                backup_start_point: 160,
                backup_end_point: 168,
                backup_end_required: 176,
                wal_log_hints: 184,
                block_size: 224,
                segment_blocks: 228,
                wal_segment_size: 240,
                checksum_version: 268, // 264: data_checksum_version_init
                crc: 308,
            }),
            _ => None,
        }
    }
}

/// Why a control file could not be read, or cannot be edited.
#[derive(Debug)]
pub enum ControlError {
    Io(std::io::Error),
    Short(usize),
    UnknownVersion(u32),
    BadCrc { stored: u32, computed: u32 },
    NotStopped(State),
    UnknownChecksumVersion(u32),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "{error}"),
            Self::Short(bytes) => write!(f, "file is too short: {bytes} bytes"),
            Self::UnknownVersion(version) => write!(
                f,
                "unknown pg_control_version {version}: 1201, 1300, 1700, 1800 and 1905 are known \
                 (PostgreSQL 12 to 19, without betas)"
            ),
            Self::BadCrc { stored, computed } => {
                write!(
                    f,
                    "wrong CRC: {stored:#010x} is stored, {computed:#010x} is computed"
                )
            }
            Self::NotStopped(state) => {
                write!(
                    f,
                    "cluster was not shut down cleanly: its state is \"{state}\""
                )
            }
            Self::UnknownChecksumVersion(version) => {
                write!(
                    f,
                    "unknown checksum version {version}: 0 (off) and 1 (on) are known, and a \
                     beta of 19 or a later version has others while it switches"
                )
            }
        }
    }
}

impl std::error::Error for ControlError {}

impl From<std::io::Error> for ControlError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// What the cluster was doing when it last wrote the file (`DBState`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State(pub u32);

impl State {
    const NAMES: [&'static str; 7] = [
        "starting up",
        "shut down",
        "shut down in recovery",
        "shutting down",
        "in crash recovery",
        "in archive recovery",
        "in production",
    ];

    /// As pg_controldata prints it.
    pub fn name(self) -> &'static str {
        Self::NAMES
            .get(self.0 as usize)
            .copied()
            .unwrap_or("unrecognized status code")
    }

    pub fn is_stopped(self) -> bool {
        matches!(self.0, 1 | 2)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The bytes of a control file of a known version; its CRC may still be wrong.
#[derive(Debug, Clone)]
pub struct ControlFile {
    bytes: Vec<u8>,
    at: Offsets,
}

impl ControlFile {
    /// Reads `global/pg_control` from its path.
    pub fn read(path: &Path) -> Result<Self, ControlError> {
        let mut bytes = Vec::with_capacity(FILE_BYTES);
        open_regular(path)?
            .take(FILE_BYTES as u64)
            .read_to_end(&mut bytes)?;
        Self::from_bytes(bytes)
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ControlError> {
        if bytes.len() < CATALOG_VERSION {
            return Err(ControlError::Short(bytes.len()));
        }
        let version = u32_at(&bytes, CONTROL_VERSION);
        let at = Offsets::of(version).ok_or(ControlError::UnknownVersion(version))?;
        if bytes.len() < at.crc + 4 {
            return Err(ControlError::Short(bytes.len()));
        }
        Ok(Self { bytes, at })
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn system_identifier(&self) -> u64 {
        u64_at(&self.bytes, SYSTEM_IDENTIFIER)
    }

    pub fn control_version(&self) -> u32 {
        u32_at(&self.bytes, CONTROL_VERSION)
    }

    pub fn catalog_version(&self) -> u32 {
        u32_at(&self.bytes, CATALOG_VERSION)
    }

    pub fn state(&self) -> State {
        State(u32_at(&self.bytes, STATE))
    }

    /// Seconds since 1970 when the file was last written by the server.
    pub fn time(&self) -> i64 {
        u64_at(&self.bytes, TIME) as i64
    }

    pub fn checkpoint(&self) -> u64 {
        u64_at(&self.bytes, CHECKPOINT)
    }

    pub fn redo(&self) -> u64 {
        u64_at(&self.bytes, REDO)
    }

    pub fn timeline(&self) -> u32 {
        u32_at(&self.bytes, TIMELINE)
    }

    /// Whether at the latest checkpoint the first change of a page logged all of it.
    pub fn full_page_writes(&self) -> bool {
        self.bytes[FULL_PAGE_WRITES] != 0
    }

    /// Where archive recovery must come to at least; 0: it is not under way.
    pub fn min_recovery_point(&self) -> u64 {
        u64_at(&self.bytes, self.at.min_recovery_point)
    }

    /// Where the base backup began whose end is still to be replayed; 0: none.
    pub fn backup_start_point(&self) -> u64 {
        u64_at(&self.bytes, self.at.backup_start_point)
    }

    /// Where that backup ended, when it was taken from a standby; 0: not known.
    pub fn backup_end_point(&self) -> u64 {
        u64_at(&self.bytes, self.at.backup_end_point)
    }

    /// Whether replay must come upon the record that ends the backup.
    pub fn backup_end_required(&self) -> bool {
        self.bytes[self.at.backup_end_required] != 0
    }

    /// Whether the first change of hint bits after a checkpoint is logged, checksums or not.
    pub fn wal_log_hints(&self) -> bool {
        self.bytes[self.at.wal_log_hints] != 0
    }

    pub fn block_size(&self) -> u32 {
        u32_at(&self.bytes, self.at.block_size)
    }

    /// Blocks in a segment file of a relation.
    pub fn segment_blocks(&self) -> u32 {
        u32_at(&self.bytes, self.at.segment_blocks)
    }

    pub fn wal_segment_size(&self) -> u32 {
        u32_at(&self.bytes, self.at.wal_segment_size)
    }

    /// Whether pages are verified; an error where the file says neither yes nor no.
    pub fn checksums(&self) -> Result<bool, ControlError> {
        match self.checksum_version() {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(ControlError::UnknownChecksumVersion(other)),
        }
    }

    /// 0: pages are not verified; 1: they are.
    pub fn checksum_version(&self) -> u32 {
        u32_at(&self.bytes, self.at.checksum_version)
    }

    pub fn stored_crc(&self) -> u32 {
        u32_at(&self.bytes, self.at.crc)
    }

    pub fn computed_crc(&self) -> u32 {
        crc32c(&self.bytes[..self.at.crc])
    }

    /// Puts `version` in, and with `time` that time too, and makes the CRC right again.
    pub fn set_checksum_version(
        &mut self,
        version: u32,
        time: Option<i64>,
    ) -> Result<(), ControlError> {
        let (stored, computed) = (self.stored_crc(), self.computed_crc());
        if stored != computed {
            return Err(ControlError::BadCrc { stored, computed });
        }
        if !self.state().is_stopped() {
            return Err(ControlError::NotStopped(self.state()));
        }
        if version > 1 {
            return Err(ControlError::UnknownChecksumVersion(version));
        }
        self.put(self.at.checksum_version, &version.to_ne_bytes());
        if let Some(time) = time {
            self.put(TIME, &time.to_ne_bytes());
        }
        let crc = self.computed_crc();
        self.put(self.at.crc, &crc.to_ne_bytes());
        Ok(())
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Switches verification in the control file at `path`, in place and synced to disk.
///
/// `pg_checksums` also stamps the present time; here it stays unless `time` is given, so that two
/// arms differ in the version and the CRC alone.
pub fn set_checksum_version(
    path: &Path,
    version: u32,
    time: Option<i64>,
) -> Result<(), ControlError> {
    let mut control = ControlFile::read(path)?;
    control.set_checksum_version(version, time)?;
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(control.as_bytes())?;
    file.sync_all()?;
    Ok(())
}

/// Every offset read lies before the CRC, and `from_bytes` has checked that the CRC is there.
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_ne_bytes(word)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_ne_bytes(word)
}
