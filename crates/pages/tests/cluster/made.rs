//! Makes a data directory of sound pages, and plants faults in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use steelyard_pages::{
    page_checksum, scan, walk, Event, Fault, Found, Judge, Kernel, Options, Progress, Segment,
};

pub const PAGE: usize = 8192;
pub const SEGMENT_BLOCKS: u32 = 16;
pub const VERSION: &str = "PG_18_202506291";

/// A directory that is removed with it.
pub struct Made(pub PathBuf);

impl Drop for Made {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Made {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("steelyard-pages-{}-{number}", std::process::id());
        let root = std::env::temp_dir().join(name);
        for directory in ["global", "base/5", "pg_tblspc"] {
            fs::create_dir_all(root.join(directory)).expect("made");
        }
        Self(root)
    }

    /// A relation file of sound pages, the first of them block `first`.
    pub fn relation(&self, label: &str, first: u32, blocks: u32, lsn: u64) -> PathBuf {
        let path = self.0.join(label);
        let pages = (0..blocks).flat_map(|n| sound_page(first + n, lsn));
        fs::write(&path, pages.collect::<Vec<u8>>()).expect("written");
        path
    }

    pub fn walk(&self) -> Found {
        walk(&self.0, VERSION).expect("walked")
    }
}

/// A page with a sane header and noise in it.
pub fn sound_page(block: u32, lsn: u64) -> Vec<u8> {
    let mut word = block.wrapping_add(lsn as u32);
    let mut page: Vec<u8> = (0..PAGE)
        .map(|_| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (word >> 24) as u8
        })
        .collect();
    page[0..4].copy_from_slice(&((lsn >> 32) as u32).to_ne_bytes());
    page[4..8].copy_from_slice(&(lsn as u32).to_ne_bytes());
    for (at, value) in [(10, 0), (12, 100), (14, 4000), (16, 8192), (18, 8196)] {
        page[at..at + 2].copy_from_slice(&u16::to_ne_bytes(value));
    }
    sealed(page, block)
}

/// The page with the checksum of its content.
pub fn sealed(mut page: Vec<u8>, block: u32) -> Vec<u8> {
    let checksum = page_checksum(&page, block);
    page[8..10].copy_from_slice(&checksum.to_ne_bytes());
    page
}

/// Changes bytes of a file in place.
pub fn plant(path: &Path, at: usize, bytes: &[u8]) {
    let mut all = fs::read(path).expect("read");
    all[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(path, all).expect("written");
}

pub fn options(threads: usize) -> Options {
    Options {
        judge: Judge {
            kernel: Kernel::best(),
            page_bytes: PAGE,
            checksums: true,
        },
        segment_blocks: SEGMENT_BLOCKS,
        threads,
        max_rate: None,
        drop_behind: false,
        idle: false,
        entries: false,
    }
}

/// (label, block, fault) of everything wrong, in order, and the blocks that were read.
pub fn scanned(segments: &[Segment], options: &Options) -> (Vec<(String, u32, Fault)>, u64) {
    let progress = Progress::default();
    let mut found = Vec::new();
    let event = |event| {
        if let Event::Wrong {
            segment,
            block,
            wrong,
        } = event
        {
            found.push((segments[segment].label.clone(), block, wrong.fault));
        }
    };
    scan(segments, &[], options, &progress, event, || {});
    found.sort();
    (found, progress.blocks.load(Ordering::Relaxed))
}
