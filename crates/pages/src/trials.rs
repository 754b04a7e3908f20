//! Plants a fault many times in memory, and counts how often each check lets it pass.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::algorithm::{Algorithm, Identity, Scheme};
use crate::checksum::page_checksum;
use crate::fault::{PageFault, Random, Versions};
use crate::header::{is_all_zero, Header};
use crate::judge::Judge;
use crate::lanes::Kernel;

/// A check that sees one page at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The server as it reads a page, with checksums.
    ServerOn,
    /// The server without checksums: header sanity alone.
    ServerOff,
    /// pg_checksums --check: pages whose pd_upper is 0 are let pass.
    PgChecksums,
    /// BASE_BACKUP: these, and pages whose LSN lies behind the backup's start.
    BaseBackup,
    Scrub,
    /// The scrub, and a catalogue of the LSNs that were written.
    Catalogue,
}

impl Check {
    pub const ALL: [Self; 6] = [
        Self::ServerOn,
        Self::ServerOff,
        Self::PgChecksums,
        Self::BaseBackup,
        Self::Scrub,
        Self::Catalogue,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::ServerOn => "page checksum",
            Self::ServerOff => "header sanity",
            Self::PgChecksums => "pg_checksums",
            Self::BaseBackup => "pg_basebackup",
            Self::Scrub => "scrub",
            Self::Catalogue => "catalogue",
        }
    }
}

/// How often each of `Check::ALL` let the fault pass, and how often it was planted.
///
/// `start` is where a base backup begins: pages that changed since are not verified by it.
pub fn check_trials(
    fault: PageFault,
    pages: &[Versions],
    start: u64,
    trials: u64,
    (seed, threads): (u64, usize),
    stop: &AtomicBool,
) -> (Vec<u64>, u64) {
    let scheme = Scheme {
        algorithm: Algorithm::Postgres,
        identity: Identity::Block,
    };
    side_by_side(
        trials,
        (seed, threads),
        Check::ALL.len(),
        stop,
        |random, missed| {
            let (page, disk, written, planted) = planted(fault, &scheme, pages, random);
            let _ = page;
            if !planted {
                return false;
            }
            let lets_pass = verdicts(&disk, &written, page.place.block, start);
            for (count, passed) in missed.iter_mut().zip(lets_pass) {
                *count += u64::from(passed);
            }
            true
        },
    )
}

/// How often each scheme lets the fault pass, and how often it was planted.
pub fn algorithm_trials(
    fault: PageFault,
    scheme: Scheme,
    pages: &[Versions],
    trials: u64,
    (seed, threads): (u64, usize),
    stop: &AtomicBool,
) -> (u64, u64) {
    let (missed, planted_times) =
        side_by_side(trials, (seed, threads), 1, stop, |random, missed| {
            let (page, disk, _, planted) = planted(fault, &scheme, pages, random);
            // A page of zeroes is a page that was never written: all have to accept it.
            let passed = is_all_zero(&disk) || scheme.accepts(&disk, page.place);
            missed[0] += u64::from(planted && passed);
            planted
        });
    (missed[0], planted_times)
}

fn planted<'a>(
    fault: PageFault,
    scheme: &Scheme,
    pages: &'a [Versions],
    random: &mut Random,
) -> (&'a Versions, Vec<u8>, Vec<u8>, bool) {
    let page = &pages[random.below(pages.len())];
    let other = &pages[random.below(pages.len())];
    let mut disk = vec![0; page.now.len()];
    let mut written = vec![0; page.now.len()];
    let done = fault.plant(scheme, page, other, random, &mut disk, &mut written);
    (page, disk, written, done)
}

/// Which of the checks let a page pass, in the order of `Check::ALL`.
fn verdicts(disk: &[u8], written: &[u8], block: u32, start: u64) -> [bool; 6] {
    let judge = Judge {
        kernel: Kernel::best(),
        page_bytes: disk.len(),
        checksums: false,
    };
    let header = Header::of(disk);
    let off = judge.page(disk, block).is_none();
    let right = header.is_new() || page_checksum(disk, block) == header.checksum;
    let on = right && off;
    let backup = right || header.lsn >= start;
    let backwards = header.lsn > 0 && header.lsn < Header::of(written).lsn;
    [on, off, right, backup, on, on && !backwards]
}

fn side_by_side(
    trials: u64,
    (seed, threads): (u64, usize),
    checks: usize,
    stop: &AtomicBool,
    trial: impl Fn(&mut Random, &mut [u64]) -> bool + Sync,
) -> (Vec<u64>, u64) {
    let threads = threads.max(1) as u64;
    let part = |number: u64| {
        let mut random = Random::new(seed.wrapping_add(number.wrapping_mul(0xD1B5_4A32_D192_ED03)));
        let (mut missed, mut done) = (vec![0; checks], 0);
        for _ in 0..trials / threads + u64::from(number < trials % threads) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            done += u64::from(trial(&mut random, &mut missed));
        }
        (missed, done)
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        let part = &part;
        let started: Vec<_> = (0..threads).map(|n| scope.spawn(move || part(n))).collect();
        started
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let mut missed = vec![0; checks];
    let mut done = 0;
    for (part, times) in parts {
        missed
            .iter_mut()
            .zip(part)
            .for_each(|(sum, count)| *sum += count);
        done += times;
    }
    (missed, done)
}
